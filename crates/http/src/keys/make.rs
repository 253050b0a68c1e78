//! Makes keys: an authority, the node's certificate, tokens.

use super::files::{self, Readers};
use super::{Keys, KeysError, Token, Written, hash, now};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use ring::rand::{SecureRandom, SystemRandom};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// The authority lasts so many days.
const AUTHORITY: u64 = 3650;

/// What tells a token from other secrets.
const FRONT: &str = "motet_";

impl Keys {
    /// Makes a folder of keys: an authority, a certificate for `localhost`, the loopback addresses and `hosts` that lasts
    /// `days`, and the tokens `admin` and `viewer`, which last as long.
    ///
    /// # Errors
    /// The folder holds something already, or cannot be written; a host is no name. Nothing is left then.
    pub fn make(folder: &Path, hosts: &[String], days: u64) -> Result<(), KeysError> {
        check(days)?;
        let (admin, viewer) = (fresh()?, fresh()?);
        let hosts: Vec<String> = hosts.iter().map(|host| host.to_lowercase()).collect();
        let wrong = |why: rcgen::Error| {
            let names = hosts.join(", ");
            KeysError::Asked(format!(
                "no certificate for {names}: {why}; write names such as robot.example, or addresses"
            ))
        };
        let authority_key = KeyPair::generate().map_err(wrong)?;
        let mut authority = CertificateParams::default();
        name(&mut authority, "motet authority", AUTHORITY);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let signed = authority.self_signed(&authority_key).map_err(wrong)?;
        let key = KeyPair::generate().map_err(wrong)?;
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let plain = |host: &String| host.trim_matches(['[', ']']).to_owned();
        let names: Vec<String> = own.into_iter().chain(hosts.iter().map(plain)).collect();
        let mut node = CertificateParams::new(names).map_err(wrong)?;
        name(&mut node, "motet node", days);
        node.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        node.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        node.use_authority_key_identifier_extension = true;
        let secret = authority_key.serialize_pem();
        let issuer = Issuer::new(authority, authority_key);
        let certificate = node.signed_by(&key, &issuer).map_err(wrong)?;
        let tokens = [("admin", &admin), ("viewer", &viewer)];
        let tokens = tokens.map(|(name, token)| written(name, name, token, days));
        let all = [
            ("ca.pem", Readers::All, signed.pem()),
            ("ca.key", Readers::Owner, secret),
            ("server.pem", Readers::All, certificate.pem()),
            ("server.key", Readers::Owner, key.serialize_pem()),
            ("admin.token", Readers::Owner, admin + "\n"),
            ("viewer.token", Readers::Owner, viewer + "\n"),
        ];
        let tokens = tokens.into();
        files::folder(folder, &Written { hosts, tokens }, &all)
    }

    /// Adds a token that lasts `days` for a caller in this role: the file that holds it. Servers that start from now on
    /// know it.
    ///
    /// # Errors
    /// The name is no plain word, or is another token's; the folder is none of keys.
    pub fn add_token(
        folder: &Path,
        name: &str,
        role: &str,
        days: u64,
    ) -> Result<PathBuf, KeysError> {
        for word in [name, role] {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            if word.is_empty() || !word.chars().all(is_plain) {
                let reason = format!("{word:?} is no name; use letters, digits, - and _");
                return Err(KeysError::Asked(reason));
            }
        }
        check(days)?;
        let mut all = files::read(folder)?;
        if all.tokens.iter().any(|token| token.name == name) {
            let reason = format!("there is a token {name} already; choose another name");
            return Err(KeysError::Asked(reason));
        }
        let token = fresh()?;
        all.tokens.push(written(name, role, &token, days));
        let file = folder.join(format!("{name}.token"));
        files::create(&file, Readers::Owner, &(token + "\n"))?;
        files::replace(folder, &all)?;
        Ok(file)
    }
}

fn check(days: u64) -> Result<(), KeysError> {
    match days <= AUTHORITY {
        true => Ok(()),
        false => Err(KeysError::Asked(format!(
            "{days} days are more than the {AUTHORITY} of the authority; choose fewer"
        ))),
    }
}

fn name(certificate: &mut CertificateParams, name: &str, days: u64) {
    certificate
        .distinguished_name
        .push(DnType::CommonName, name);
    let at = |seconds| (UNIX_EPOCH + Duration::from_secs(seconds)).into();
    // Clocks differ a little.
    certificate.not_before = at(now().saturating_sub(3600));
    certificate.not_after = at(now() + days * DAY);
}

fn written(name: &str, role: &str, token: &str, days: u64) -> Token {
    Token {
        name: name.to_owned(),
        role: role.to_owned(),
        expires: now() + days * DAY,
        sha256: hash(token),
    }
}

/// 256 random bits.
fn fresh() -> Result<String, KeysError> {
    let mut bits = [0; 32];
    let filled = SystemRandom::new().fill(&mut bits);
    filled.map_err(|_| KeysError::Asked("the system gives no random bits".to_owned()))?;
    let digits = bits.iter().map(|byte| format!("{byte:02x}"));
    Ok(FRONT.to_owned() + &digits.collect::<String>())
}
