//! How a peer knows the node, and the node the peer.

use motet_service::{Fault, FaultCode};
use std::fmt;
use std::path::PathBuf;
use tokio::net::TcpStream;

/// What a [`Peer`](crate::Peer) has of a node that asks who calls: see `Keys`.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Access {
    /// The token with which it calls.
    pub token: Option<String>,
    /// The certificate that has signed the node's, `ca.pem`: what else `https` needs.
    pub ca: Option<PathBuf>,
}

impl Access {
    /// With this token, and the certificate of the authority in this file.
    #[must_use]
    pub fn new(token: Option<String>, ca: Option<PathBuf>) -> Self {
        Access { token, ca }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("ca", &self.ca)
            .finish()
    }
}

/// Why an address cannot be called.
pub(crate) fn cannot(reason: impl Into<String>) -> Fault {
    Fault::new(FaultCode::Unauthenticated, reason)
}

#[cfg(feature = "tls")]
pub(crate) use encrypted::Encryption;

#[cfg(feature = "tls")]
mod encrypted {
    use super::{Access, Fault, TcpStream, cannot};
    use crate::keys::{pem_error, provider};
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, RootCertStore};
    use std::sync::Arc;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;

    /// TLS with a node whose authority is known.
    pub(crate) struct Encryption {
        connector: TlsConnector,
        name: ServerName<'static>,
    }

    impl Encryption {
        pub(crate) fn new(host: &str, access: &Access) -> Result<Self, Fault> {
            let Some(ca) = &access.ca else {
                return Err(cannot(
                    "https needs the certificate of the node's authority; give its ca.pem (--ca)",
                ));
            };
            let certificates = CertificateDer::pem_file_iter(ca)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|why| cannot(pem_error(ca.clone(), why).to_string()))?;
            let mut roots = RootCertStore::empty();
            for certificate in certificates {
                let added = roots.add(certificate);
                added.map_err(|why| cannot(format!("{}: {why}", ca.display())))?;
            }
            let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
            let name = name.map_err(|_| cannot(format!("{host:?} is no name of a node")))?;
            let config = ClientConfig::builder_with_provider(provider())
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(|why| cannot(why.to_string()))?;
            let config = config.with_root_certificates(roots).with_no_client_auth();
            let connector = TlsConnector::from(Arc::new(config));
            Ok(Encryption { connector, name })
        }

        pub(crate) async fn connect(
            &self,
            stream: TcpStream,
        ) -> Result<TlsStream<TcpStream>, String> {
            let connected = self.connector.connect(self.name.clone(), stream).await;
            connected.map_err(|why| why.to_string())
        }
    }
}

#[cfg(not(feature = "tls"))]
pub(crate) enum Encryption {}

#[cfg(not(feature = "tls"))]
impl Encryption {
    pub(crate) fn new(_: &str, _: &Access) -> Result<Self, Fault> {
        Err(cannot(
            "this program was built without the feature tls; call http",
        ))
    }

    pub(crate) async fn connect(&self, _: TcpStream) -> Result<TcpStream, String> {
        match *self {}
    }
}
