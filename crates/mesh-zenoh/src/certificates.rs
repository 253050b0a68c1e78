//! The authority of a mesh, and the certificate of a node, made anew each time it starts.

use crate::key::RunKey;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::time::{Duration, SystemTime};

/// The DER of a private key of Ed25519 (PKCS #8), up to its 32 bytes.
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];

/// A hundred years: what is to last longer lasts as long as this. The form has no year of five
/// digits.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

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
    /// The certificate of the node `name`, accepted for as long as `lasts` says.
    ///
    /// The authority is the same for all who have the key: an Ed25519 key derived from it by HKDF.
    pub(crate) fn new(
        key: &RunKey,
        name: &str,
        lasts: Option<Duration>,
    ) -> Result<Self, rcgen::Error> {
        let secret = key.derive(&[b"authority"]);
        let pair = KeyPair::try_from([&PKCS8[..], &secret].concat())?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
            .distinguished_name
            .push(DnType::CommonName, "motet mesh");
        let authority = params.self_signed(&pair)?.pem();
        let issuer = Issuer::new(params, pair);

        let own = KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
        let mut leaf = CertificateParams::new(vec![format!("{name}.mesh.motet.invalid")])?;
        leaf.distinguished_name.push(DnType::CommonName, name);
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if let Some(lasts) = lasts {
            #[expect(
                clippy::disallowed_methods,
                reason = "certificates end by the clock of the wall"
            )]
            // To the last second, which counts.
            let end = SystemTime::now() + lasts.min(LONGEST) - Duration::from_secs(1);
            leaf.not_after = end.into();
        }
        Ok(Certificates {
            authority,
            own: leaf.signed_by(&own, &issuer)?.pem(),
            key: own.serialize_pem(),
        })
    }
}
