//! The authority of a mesh, and the certificate of a node: made anew each time it starts, or with
//! its pass.

use crate::key::RunKey;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::time::{Duration, UNIX_EPOCH};

/// The DER of a private key of Ed25519 (PKCS #8), up to its 32 bytes.
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];

/// What TLS needs, as PEM.
pub(crate) struct Certificates {
    /// The certificate of the authority, which both ends of a link verify.
    pub(crate) authority: String,
    /// The certificate of the node.
    pub(crate) own: String,
    /// Its private key.
    pub(crate) key: String,
}

impl Certificates {
    /// The certificate of the node `name` for its own key, accepted until so many seconds since
    /// 1970.
    ///
    /// The authority is the same for all who have the key: an Ed25519 key derived from it by HKDF.
    pub(crate) fn new(
        key: &RunKey,
        name: &str,
        seed: &[u8; 32],
        until: Option<u64>,
    ) -> Result<Self, rcgen::Error> {
        let secret = key.derive(&[b"authority"]);
        let pair = pair_of(&secret)?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
            .distinguished_name
            .push(DnType::CommonName, "motet mesh");
        let authority = params.self_signed(&pair)?.pem();
        let issuer = Issuer::new(params, pair);

        let own = pair_of(seed)?;
        let mut leaf = CertificateParams::new(vec![format!("{name}.mesh.motet.invalid")])?;
        leaf.distinguished_name.push(DnType::CommonName, name);
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if let Some(until) = until {
            // To the last second, which counts.
            let last = Duration::from_secs(until.saturating_sub(1));
            leaf.not_after = (UNIX_EPOCH + last).into();
        }
        Ok(Certificates {
            authority,
            own: leaf.signed_by(&own, &issuer)?.pem(),
            key: own.serialize_pem(),
        })
    }
}

/// The private key as PEM.
pub(crate) fn pem_of(seed: &[u8; 32]) -> Option<String> {
    Some(pair_of(seed).ok()?.serialize_pem())
}

fn pair_of(seed: &[u8; 32]) -> Result<KeyPair, rcgen::Error> {
    KeyPair::try_from([&PKCS8[..], seed].concat())
}
