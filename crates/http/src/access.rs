//! How a peer knows the node, and the node the peer.

use motet_service::{Fault, FaultCode};
use std::fmt;
use std::path::PathBuf;
#[cfg(not(feature = "tls"))]
use tokio::net::TcpStream;

/// What a [`Peer`](crate::Peer) has of a node that asks who calls: see `Keys`.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Access {
    /// The token with which it calls.
    pub token: Option<String>,
    /// The certificate that has signed the node's, `ca.pem`: what else `https` needs.
    pub ca: Option<PathBuf>,
    /// The own certificate, `NAME.pem`, with `NAME.key` beside it: who it is for calls in its role,
    /// without a token.
    pub certificate: Option<PathBuf>,
}

impl Access {
    /// With this token, and the certificate of the authority in this file.
    #[must_use]
    pub fn new(token: Option<String>, ca: Option<PathBuf>) -> Self {
        Access {
            token,
            ca,
            certificate: None,
        }
    }

    /// The same with this certificate, which an authority of the node has signed
    /// ([`Keys::add_leaf`](crate::Keys::add_leaf)).
    #[must_use]
    pub fn certificate(self, certificate: Option<PathBuf>) -> Self {
        Access {
            certificate,
            ..self
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("ca", &self.ca)
            .field("certificate", &self.certificate)
            .finish()
    }
}

/// Why an address cannot be called.
pub(crate) fn cannot(reason: impl Into<String>) -> Fault {
    Fault::new(FaultCode::Unauthenticated, reason)
}

#[cfg(feature = "tls")]
pub(crate) use encrypted::{Encryption, refusal};

#[cfg(feature = "tls")]
mod encrypted;

#[cfg(not(feature = "tls"))]
pub(crate) enum Encryption {}

/// Why the node has refused a connection, if it has.
#[cfg(not(feature = "tls"))]
pub(crate) fn refusal(_: &(dyn std::error::Error + 'static)) -> Option<String> {
    None
}

#[cfg(not(feature = "tls"))]
impl Encryption {
    pub(crate) fn new(_: &str, _: &Access) -> Result<Self, Fault> {
        Err(cannot(
            "this program was built without the feature tls; call http",
        ))
    }

    pub(crate) async fn connect(&self, _: TcpStream) -> std::io::Result<TcpStream> {
        match *self {}
    }
}
