//! Keys of a node: its certificate, and who may call it.
//!
//! | file | holds | is for |
//! |---|---|---|
//! | `ca.pem` | the certificate that signs the node's | clients: `--ca` |
//! | `ca.key` | its key | whoever makes certificates; no server needs it |
//! | `server.pem`, `server.key` | the certificate of the node, and its key | the server |
//! | `node.json` | the names of the node; of each token its role, its end and its SHA-256 | the server |
//! | `node.json.lock` | nothing; who adds a token has it locked meanwhile | `motet keys token` |
//! | `NAME.token` | a token of 256 random bits | one client |
//! | `NAME.pem`, `NAME.key` | a certificate that the authority has signed, and its key | another node, or one client |

mod files;
mod make;
pub(crate) mod trust;

use ring::digest::{SHA256, digest};
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use subtle::ConstantTimeEq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The certificate of a node, and the tokens of those who may call it: a folder that [`Keys::make`]
/// has made.
///
/// ```
/// use motet_http::Keys;
///
/// # let folder = std::env::temp_dir().join(format!("motet-keys-{}", std::process::id()));
/// # drop(std::fs::remove_dir_all(&folder));
/// Keys::make(&folder, &["robot.example".to_owned()], 365)?;
/// Keys::add_token(&folder, "arm", "operator", 30)?;
/// let keys = Keys::read(&folder)?;
/// assert_eq!(keys.roles(), ["admin", "viewer", "operator"]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), motet_http::KeysError>(())
/// ```
#[derive(Clone)]
pub struct Keys {
    /// Asks for a certificate, and takes those who have none.
    asking: TlsAcceptor,
    /// Takes those alone who have one; where the authority is known.
    mutual: Option<TlsAcceptor>,
    hosts: Vec<String>,
    tokens: Vec<Token>,
}

/// `node.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    hosts: Vec<String>,
    tokens: Vec<Token>,
}

/// Who may call, and as what. The token itself is nowhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    name: String,
    role: String,
    /// Seconds since 1970.
    expires: u64,
    /// In hexadecimal digits.
    sha256: String,
}

/// Why keys cannot be made or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeysError {
    /// There are keys already.
    Exists(PathBuf),
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// A file does not hold what it should.
    Content(PathBuf, String),
    /// The key of the authority is not there, which signs.
    NoAuthority(PathBuf),
    /// What was asked for makes no keys.
    Asked(String),
}

/// Why a token is refused.
pub(crate) enum NotKnown {
    Unknown,
    /// The name of the token.
    Expired(String),
}

impl Keys {
    /// Reads the keys of a server: `server.pem`.
    ///
    /// # Errors
    /// The file that is missing, or that does not hold what it should.
    pub fn read(folder: &Path) -> Result<Keys, KeysError> {
        Keys::read_as(folder, "server")
    }

    /// Reads the keys of a server that has the certificate `NAME.pem` of the folder
    /// ([`Keys::add_leaf`]). It needs `ca.pem` and `node.json` beside it, and not `ca.key`.
    ///
    /// # Errors
    /// As [`Keys::read`].
    pub fn read_as(folder: &Path, name: &str) -> Result<Keys, KeysError> {
        let (chain, ca) = (folder.join(format!("{name}.pem")), folder.join("ca.pem"));
        let pair = trust::pair(&chain)?;
        let Written { hosts, tokens } = files::read(folder)?;
        // The names of the folder are those of `server.pem`.
        let hosts = match name {
            "server" => hosts,
            _ => pair
                .0
                .first()
                .map_or_else(Vec::new, |own| trust::told(own, trust::HOST)),
        };
        let has_authority = ca.exists();
        let asking = has_authority
            .then(|| trust::verifier(&ca, false))
            .transpose()?;
        let mutual = has_authority
            .then(|| trust::verifier(&ca, true))
            .transpose()?;
        let wrong = |why: rustls::Error| KeysError::Content(chain.clone(), why.to_string());
        let acceptor = |verifier| acceptor(&pair, verifier).map_err(wrong);
        Ok(Keys {
            asking: acceptor(asking)?,
            mutual: mutual
                .map(|verifier| acceptor(Some(verifier)))
                .transpose()?,
            hosts,
            tokens,
        })
    }

    /// Whether it can ask for certificates: `ca.pem` is in the folder.
    pub(crate) fn know_authority(&self) -> bool {
        self.mutual.is_some()
    }

    /// The names of the node that its certificate has, beside `localhost` and the loopback
    /// addresses.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The roles of its tokens.
    #[must_use]
    pub fn roles(&self) -> Vec<&str> {
        self.tokens.iter().map(|token| &*token.role).collect()
    }

    /// The role of who has this token. How long it takes does not depend on what is right of it.
    pub(crate) fn role(&self, given: &str) -> Result<&str, NotKnown> {
        let given = hash(given);
        let mut found = None;
        for token in &self.tokens {
            if bool::from(token.sha256.as_bytes().ct_eq(given.as_bytes())) {
                found = Some(token);
            }
        }
        match found {
            None => Err(NotKnown::Unknown),
            Some(token) if token.expires <= now() => Err(NotKnown::Expired(token.name.clone())),
            Some(token) => Ok(&token.role),
        }
    }

    /// Agrees on a key with a client: the stream, and the role that its certificate tells. A client
    /// without a certificate of the authority is told so when it must have one.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        mutual: bool,
    ) -> io::Result<(TlsStream<TcpStream>, Option<Arc<str>>)> {
        let acceptor = match (&self.mutual, mutual) {
            (Some(acceptor), true) => acceptor,
            _ => &self.asking,
        };
        let accepted = acceptor.accept(stream).into_fallible().await;
        let stream = match accepted {
            Ok(stream) => stream,
            Err((why, mut stream)) => {
                // Whoever has sent more does not read why he is refused, unless it is taken.
                drop(stream.shutdown().await);
                let mut sent = [0; 1024];
                while matches!(stream.read(&mut sent).await, Ok(1..)) {}
                return Err(why);
            }
        };
        let certificates = stream.get_ref().1.peer_certificates();
        let own = certificates.and_then(|all| all.first());
        let role = own.map(|own| trust::told(own, trust::ROLE));
        let role = role.and_then(|role| role.into_iter().next());
        Ok((stream, role.map(Arc::from)))
    }
}

/// A server with this certificate; who connects is looked at by the verifier.
fn acceptor(
    (certificates, key): &trust::Pair,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<TlsAcceptor, rustls::Error> {
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let config = match verifier {
        None => config.with_no_client_auth(),
        Some(verifier) => config.with_client_cert_verifier(verifier),
    };
    let mut config = config.with_single_cert(certificates.clone(), key.clone_key())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The algorithms.
pub(crate) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn pem_error(path: PathBuf, why: rustls::pki_types::pem::Error) -> KeysError {
    match why {
        rustls::pki_types::pem::Error::Io(why) => KeysError::File(path, why),
        why => KeysError::Content(path, why.to_string()),
    }
}

fn hash(token: &str) -> String {
    let digits = digest(&SHA256, token.as_bytes());
    let digits = digits.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// Seconds since 1970: certificates and tokens end by the calendar.
fn now() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the end of a token is a day of the calendar"
    )]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs()
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeysError::Exists(folder) => write!(
                f,
                "{} is there already; choose another folder, or remove it",
                folder.display()
            ),
            KeysError::File(file, why) => write!(
                f,
                "{}: {why}; `motet keys new DIR` makes a folder of keys",
                file.display()
            ),
            KeysError::Content(file, why) => write!(
                f,
                "{} does not hold what it should: {why}; make the keys anew by `motet keys new DIR`",
                file.display()
            ),
            KeysError::NoAuthority(key) => write!(
                f,
                "{} is not there, and signs; put the key of the authority there, and keep it elsewhere again",
                key.display()
            ),
            KeysError::Asked(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for KeysError {}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("hosts", &self.hosts)
            .field("roles", &self.roles())
            .finish_non_exhaustive()
    }
}
