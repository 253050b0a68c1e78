//! Makes keys: an authority, the node's certificate, those of others, tokens.

use super::files::{self, Readers};
use super::trust::{HOST, ROLE};
use super::{Keys, KeysError, Token, Written, hash, now};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::ServerName;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// The authority lasts so many days.
const AUTHORITY: u64 = 3650;

/// What tells a token from other secrets.
const FRONT: &str = "motet_";

impl Keys {
    /// Makes a folder of keys:
    /// - an authority;
    /// - a certificate for `localhost`, the loopback addresses and `hosts` that lasts `days`;
    /// - the tokens `admin` and `viewer`, which last as long.
    ///
    /// # Errors
    /// The folder holds something already, or cannot be written; a host is no name. Nothing is left
    /// then.
    pub fn make(folder: &Path, hosts: &[String], days: u64) -> Result<(), KeysError> {
        check(days)?;
        check_hosts(hosts)?;
        let (admin, viewer) = (fresh()?, fresh()?);
        let hosts: Vec<String> = hosts.iter().map(|host| host.to_lowercase()).collect();
        let wrong = |why: rcgen::Error| {
            let names = hosts.join(", ");
            KeysError::Asked(format!(
                "no certificate for {names}: {why}; write names such as robot.example, or addresses"
            ))
        };
        let authority_key = KeyPair::generate().map_err(wrong)?;
        let authority = authority();
        let signed = authority.self_signed(&authority_key).map_err(wrong)?;
        let secret = authority_key.serialize_pem();
        let issuer = Issuer::new(authority, authority_key);
        let mut node = leaf(&hosts, "motet node", days).map_err(wrong)?;
        node.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(wrong)?;
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

    /// Adds a token that lasts `days` for a caller in this role: the file that holds it. Servers
    /// that start from now on know it.
    ///
    /// # Errors
    /// The name is no plain word, or is another token's; the folder is none of keys.
    pub fn add_token(
        folder: &Path,
        name: &str,
        role: &str,
        days: u64,
    ) -> Result<PathBuf, KeysError> {
        plain(&[name, role])?;
        check(days)?;
        // A folder that is none of keys is left as it is.
        files::read(folder)?;
        // Who adds a token at the same time would write a list without this one.
        let _locked = files::lock(folder)?;
        let mut all = files::read(folder)?;
        if all.tokens.iter().any(|token| token.name == name) {
            let reason = format!("there is a token {name} already; choose another name");
            return Err(KeysError::Asked(reason));
        }
        let token = fresh()?;
        all.tokens.push(written(name, role, &token, days));
        let file = folder.join(format!("{name}.token"));
        files::create(&file, Readers::Owner, &(token + "\n"))?;
        let known = files::replace(folder, &all);
        if known.is_err() {
            // No server would take it, and its name would be taken.
            drop(fs::remove_file(&file));
        }
        known.map(|()| file)
    }

    /// Makes the certificate `NAME.pem` and its key `NAME.key`, signed by the authority of the
    /// folder. They are for a server with the names `hosts` beside `localhost`, and for a client in
    /// this role. Nodes of the authority know it at once. It lasts `days`.
    ///
    /// # Errors
    /// - The name or the role is no plain word, or the name is taken.
    /// - A host is no name.
    /// - The folder lacks `ca.key`, which signs, or it is not the key of `ca.pem`.
    pub fn add_leaf(
        folder: &Path,
        name: &str,
        role: &str,
        hosts: &[String],
        days: u64,
    ) -> Result<PathBuf, KeysError> {
        plain(&[name, role])?;
        check(days)?;
        check_hosts(hosts)?;
        let file = folder.join(format!("{name}.pem"));
        if ["ca", "server"].contains(&name) || file.exists() {
            let reason = format!("{} is there already; choose another name", file.display());
            return Err(KeysError::Asked(reason));
        }
        let secret = folder.join("ca.key");
        let text = fs::read_to_string(&secret).map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => KeysError::NoAuthority(secret.clone()),
            _ => KeysError::File(secret.clone(), why),
        })?;
        let authority_key = KeyPair::from_pem(&text);
        let authority_key =
            authority_key.map_err(|why| KeysError::Content(secret.clone(), why.to_string()))?;
        let hosts: Vec<String> = hosts.iter().map(|host| host.to_lowercase()).collect();
        let wrong = |why: rcgen::Error| {
            KeysError::Asked(format!(
                "no certificate for {name} with the names {}: {why}; write names such as robot.example, or addresses",
                hosts.join(", ")
            ))
        };
        let mut own = leaf(&hosts, name, days).map_err(wrong)?;
        own.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let told = hosts.iter().map(|host| format!("{HOST}{host}"));
        for told in told.chain([format!("{ROLE}{role}")]) {
            let told = told.as_str().try_into().map_err(wrong)?;
            own.subject_alt_names.push(SanType::URI(told));
        }
        let key = KeyPair::generate().map_err(wrong)?;
        let issuer = Issuer::new(authority(), authority_key);
        let certificate = own.signed_by(&key, &issuer).map_err(wrong)?;
        super::trust::signed(folder, certificate.der(), days)?;
        files::create(&file, Readers::All, &certificate.pem())?;
        let secret = folder.join(format!("{name}.key"));
        let made = files::create(&secret, Readers::Owner, &key.serialize_pem());
        if made.is_err() {
            // A certificate without its key is of no use.
            drop(fs::remove_file(&file));
        }
        made.map(|()| file)
    }
}

/// The certificate of the authority. All are alike but for their keys and days.
fn authority() -> CertificateParams {
    let mut authority = CertificateParams::default();
    name(&mut authority, "motet authority", AUTHORITY);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority
}

/// A certificate for `localhost`, the loopback addresses and these.
fn leaf(hosts: &[String], own: &str, days: u64) -> Result<CertificateParams, rcgen::Error> {
    let here = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let plain = |host: &String| host.trim_matches(['[', ']']).to_owned();
    let names: Vec<String> = here.into_iter().chain(hosts.iter().map(plain)).collect();
    let mut leaf = CertificateParams::new(names)?;
    name(&mut leaf, own, days);
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.use_authority_key_identifier_extension = true;
    Ok(leaf)
}

fn plain(words: &[&str]) -> Result<(), KeysError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let strange = |word: &&&str| word.is_empty() || !word.chars().all(is_plain);
    match words.iter().find(strange) {
        None => Ok(()),
        Some(word) => Err(KeysError::Asked(format!(
            "{word:?} is no name; use letters, digits, - and _"
        ))),
    }
}

/// A certificate takes names by which no client could call.
fn check_hosts(hosts: &[String]) -> Result<(), KeysError> {
    let is_none = |host: &&String| {
        let name = host.trim_matches(['[', ']']);
        let name = name.strip_prefix("*.").unwrap_or(name);
        ServerName::try_from(name).is_err()
    };
    match hosts.iter().find(is_none) {
        None => Ok(()),
        Some(host) => Err(KeysError::Asked(format!(
            "no certificate for {host:?}; write names such as robot.example, or addresses"
        ))),
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
    // The last second counts, and of no day there is none.
    certificate.not_after = at((now() + days * DAY).saturating_sub(u64::from(days == 0)));
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
