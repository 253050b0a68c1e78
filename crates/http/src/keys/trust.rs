//! Certificates of those who connect: signed by the authority, they tell a role.

use super::{KeysError, pem_error, provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use webpki::EndEntityCert;

/// What stands in a certificate before the role of who has it.
pub(super) const ROLE: &str = "urn:motet:role:";

/// What stands before a name of the server that has it.
pub(super) const HOST: &str = "urn:motet:host:";

/// A certificate, and its key.
pub(crate) type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Certificates of a file: one at least.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, KeysError> {
    let wrong = |why| pem_error(file.to_owned(), why);
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file)
        .map_err(wrong)?
        .collect();
    let read = read.map_err(wrong)?;
    match read.is_empty() {
        false => Ok(read),
        true => {
            let reason = "there is no certificate in it".to_owned();
            Err(KeysError::Content(file.to_owned(), reason))
        }
    }
}

/// A certificate and the key beside it.
pub(crate) fn pair(chain: &Path) -> Result<Pair, KeysError> {
    let (certificates, key) = (certificates(chain)?, chain.with_extension("key"));
    let own = PrivateKeyDer::from_pem_file(&key).map_err(|why| pem_error(key, why))?;
    Ok((certificates, own))
}

/// The authorities of a file.
pub(crate) fn roots(file: &Path) -> Result<RootCertStore, KeysError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        let added = roots.add(certificate);
        added.map_err(|why| KeysError::Content(file.to_owned(), why.to_string()))?;
    }
    Ok(roots)
}

/// What looks at the certificates of those who connect; they must have one, or may.
pub(super) fn verifier(ca: &Path, must: bool) -> Result<Arc<dyn ClientCertVerifier>, KeysError> {
    let roots = Arc::new(roots(ca)?);
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
    let builder = if must {
        builder
    } else {
        builder.allow_unauthenticated()
    };
    let built = builder.build();
    built.map_err(|why| KeysError::Content(ca.to_owned(), why.to_string()))
}

/// Whether the authority of a folder has signed this.
pub(super) fn signed(folder: &Path, leaf: &CertificateDer<'_>, days: u64) -> Result<(), KeysError> {
    let ca: PathBuf = folder.join("ca.pem");
    let verified = verifier(&ca, true)?.verify_client_cert(leaf, &[], UnixTime::now());
    match verified {
        Ok(_) => Ok(()),
        Err(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) if days == 0 => Ok(()),
        Err(why) => {
            let reason = format!("ca.key beside it is the key of another authority ({why})");
            Err(KeysError::Content(ca, reason))
        }
    }
}

/// What a certificate tells behind `front`.
pub(super) fn told(leaf: &CertificateDer<'_>, front: &str) -> Vec<String> {
    let Ok(leaf) = EndEntityCert::try_from(leaf) else {
        return Vec::new();
    };
    let all = leaf.valid_uri_names();
    all.filter_map(|name| name.strip_prefix(front))
        .map(str::to_owned)
        .collect()
}
