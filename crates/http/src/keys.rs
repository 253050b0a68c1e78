//! Keys of a node: its certificate, and who may call it.
//!
//! | file | holds | is for |
//! |---|---|---|
//! | `ca.pem` | the certificate that signs the node's | clients: `--ca` |
//! | `ca.key` | its key | whoever makes certificates; no server needs it |
//! | `server.pem`, `server.key` | the certificate of the node, and its key | the server |
//! | `node.json` | the names of the node; of each token its role, its end and its SHA-256 | the server |
//! | `NAME.token` | a token of 256 random bits | one client |

mod files;
mod make;

use ring::digest::{SHA256, digest};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use subtle::ConstantTimeEq;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The certificate of a node, and the tokens of those who may call it: a folder that [`Keys::make`] has made.
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
    acceptor: TlsAcceptor,
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
    /// Reads the keys of a server.
    ///
    /// # Errors
    /// The file that is missing, or that does not hold what it should.
    pub fn read(folder: &Path) -> Result<Keys, KeysError> {
        let (chain, key) = (folder.join("server.pem"), folder.join("server.key"));
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |why: rustls::pki_types::pem::Error| pem_error(path, why)
        };
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&chain)
            .map_err(wrong(&chain))?
            .collect();
        let certificates = certificates.map_err(wrong(&chain))?;
        let own = PrivateKeyDer::from_pem_file(&key).map_err(wrong(&key))?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map(|builder| builder.with_no_client_auth());
        let config = config.and_then(|config| config.with_single_cert(certificates, own));
        let mut config = config.map_err(|why| KeysError::Content(chain, why.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let Written { hosts, tokens } = files::read(folder)?;
        Ok(Keys {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            hosts,
            tokens,
        })
    }

    /// The names of the node that its certificate has, beside `localhost` and the loopback addresses.
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

    /// Agrees on a key with a client.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
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
