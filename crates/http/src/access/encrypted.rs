//! TLS with a node whose authority is known.

use super::{Access, cannot};
use crate::keys::{provider, trust};
use motet_service::Fault;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig};
use std::error::Error;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

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
        let roots = trust::roots(ca).map_err(|why| cannot(why.to_string()))?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| cannot(format!("{host:?} is no name of a node")))?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|why| cannot(why.to_string()))?;
        let config = config.with_root_certificates(roots);
        let config = match &access.certificate {
            None => config.with_no_client_auth(),
            Some(own) => {
                let (chain, key) = trust::pair(own).map_err(|why| cannot(why.to_string()))?;
                let config = config.with_client_auth_cert(chain, key);
                config.map_err(|why| cannot(format!("{}: {why}", own.display())))?
            }
        };
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Encryption { connector, name })
    }

    pub(crate) async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

/// Why the node has refused a connection, or its certificate is refused here, if that is so.
pub(crate) fn refusal(why: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(why);
    while let Some(why) = next {
        let inner = why.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let inner = inner.map(|inner| inner as &(dyn Error + 'static));
        let found = inner.unwrap_or(why).downcast_ref::<rustls::Error>();
        if let Some(found) = found {
            return words(found);
        }
        next = inner.or_else(|| why.source());
    }
    None
}

/// What is wrong with a certificate, and what to do.
fn words(why: &rustls::Error) -> Option<String> {
    use AlertDescription as Alert;
    let words = match why {
        rustls::Error::AlertReceived(Alert::CertificateRequired) => {
            "the node asks for a certificate; give one that its authority has signed (--cert, `motet keys leaf`)"
        }
        rustls::Error::AlertReceived(Alert::CertificateExpired) => {
            "the time of the certificate that was given is over; ask for another (`motet keys leaf`)"
        }
        rustls::Error::AlertReceived(
            Alert::UnknownCA
            | Alert::BadCertificate
            | Alert::DecryptError
            | Alert::CertificateUnknown
            | Alert::UnsupportedCertificate,
        ) => {
            "the node's authority has not signed the certificate that was given; ask for one there (`motet keys leaf`)"
        }
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => {
            "the time of the node's certificate is over; it needs another (`motet keys new`, or `motet keys leaf`)"
        }
        // All authorities have one name; their keys differ.
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => {
            "another authority has signed the node's certificate; give the ca.pem of its keys (--ca)"
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            "the node's certificate is for other names; call it by one of them, or make another with this (--host)"
        }
        _ => return None,
    };
    Some(words.to_owned())
}
