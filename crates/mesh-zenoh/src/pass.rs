//! A file by which a node joins under one name, and may do some things only.

use crate::certificates::{Certificates, pem_of};
use crate::grant::{Grant, MAX_GRANT, PublicKey, is_name};
use crate::identity::{MemberIdentity, Signature, member_of};
use crate::key::{
    KeyFileError, RunKey, bytes_of, digits, end_after, make_file, random, read_closed,
};
use crate::membership::Membership;
use motet_mesh::MeshRights;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The largest file that is read as a pass: a grant, and two certificates.
const MAX_FILE: u64 = (MAX_GRANT as u64) + (16 << 10);

/// What every certificate in a file begins with.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// By a pass a node joins a mesh under one name, and may publish and subscribe as it says, until it
/// ends. Others refuse everything else. Whoever has the [`RunKey`] makes it; the key is not in it,
/// and cannot be derived from it.
///
/// Nobody but the owner may read its file: who has that joins as this node.
///
/// ```
/// use motet_mesh::{Key, MeshRights};
/// use motet_mesh_zenoh::{MeshPass, MeshPassConfig, RunKey};
///
/// let folder = tempfile::tempdir()?;
/// let (key, file) = (RunKey::random()?, folder.path().join("camera.pass"));
/// let config = MeshPassConfig {
///     name: "camera".to_owned(),
///     rights: MeshRights::only(vec![Key::new("camera/**")?], vec![Key::new("steer/*")?]),
///     lasts: None,
/// };
/// MeshPass::make(&key, &config, &file)?;
/// assert_eq!(MeshPass::read(&file)?.name(), "camera");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MeshPass {
    grant: Grant,
    signature: Signature,
    authority: PublicKey,
    seed: [u8; 32],
    /// The certificate of the node, and that of the authority.
    own: String,
    root: String,
}

/// What a pass is to say.
#[derive(Debug, Clone)]
pub struct MeshPassConfig {
    /// The name of the node: 1 to 64 letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What it may do.
    pub rights: MeshRights,
    /// How long it counts, at most a hundred years; none: as long as the key of the mesh.
    pub lasts: Option<Duration>,
}

impl MeshPass {
    /// Makes a pass and the file for it, with mode 0600.
    ///
    /// # Errors
    /// [`KeyFileError`]: the name is none, there are too many filters, or the file is there or
    /// cannot be written.
    pub fn make(key: &RunKey, config: &MeshPassConfig, path: &Path) -> Result<Self, KeyFileError> {
        if !is_name(&config.name) {
            let why = "its name needs 1 to 64 letters, digits, '-', '_' and '.'";
            return Err(KeyFileError::Grant(why.to_owned()));
        }
        let seed = random().ok_or(KeyFileError::NoRandom)?;
        let grant = Grant {
            name: config.name.clone(),
            until: end_after(config.lasts),
            rights: config.rights.clone(),
            member: member_of(&seed),
        };
        let (text, signature, authority) = MemberIdentity::sign_grant(key, &grant);
        if text.len() > MAX_GRANT {
            let why = format!(
                "its filters have too many characters: it would have {} bytes, at most {MAX_GRANT}",
                text.len()
            );
            return Err(KeyFileError::Grant(why));
        }
        let certificates = Certificates::new(key, &grant.name, &seed, grant.until)
            .map_err(|error| KeyFileError::Grant(error.to_string()))?;
        let pass = MeshPass {
            grant,
            signature,
            authority,
            seed,
            own: certificates.own,
            root: certificates.authority,
        };
        make_file(path, |file| file.write_all(pass.text().as_bytes()))?;
        Ok(pass)
    }

    /// Reads the pass of a file.
    ///
    /// # Errors
    /// [`KeyFileError`]: the file is missing, others may read it, or it holds no pass.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let none = || KeyFileError::NoPass(path.to_owned());
        let text = read_closed(path, MAX_FILE, none)?;
        MeshPass::of_text(&text).ok_or_else(none)
    }

    /// The name of its node.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.grant.name
    }

    /// What its node may do.
    #[must_use]
    pub fn rights(&self) -> &MeshRights {
        &self.grant.rights
    }

    /// When it ends, in seconds since 1970; none: with the key of the mesh.
    #[must_use]
    pub fn until(&self) -> Option<u64> {
        self.grant.until
    }

    fn text(&self) -> String {
        let (grant, own, root) = (self.grant.text(), self.own.trim(), self.root.trim());
        let (signature, authority) = (digits(&self.signature), digits(&self.authority));
        let secret = digits(&self.seed);
        format!(
            "{grant}signature {signature}\nauthority {authority}\nsecret {secret}\n{own}\n{root}\n"
        )
    }

    fn of_text(text: &str) -> Option<Self> {
        let text = text.replace("\r\n", "\n");
        let (grant, rest) = text.split_at(text.find("signature ")?);
        let grant = Grant::read(grant)?;
        let mut lines = rest.lines();
        let mut next = |word: &str| lines.next()?.strip_prefix(word);
        let signature = bytes_of(next("signature ")?)?;
        let (authority, seed) = (bytes_of(next("authority ")?)?, bytes_of(next("secret ")?)?);
        let certificates = &rest[rest.find(BEGIN)?..];
        let (own, root) = certificates.split_at(certificates.rfind(BEGIN).filter(|at| *at > 0)?);
        let pass = MeshPass {
            grant,
            signature,
            authority,
            seed,
            own: own.to_owned(),
            root: root.to_owned(),
        };
        pass.identity().is_some().then_some(pass)
    }

    fn identity(&self) -> Option<MemberIdentity> {
        let signed = (&*self.grant.text(), &self.signature);
        MemberIdentity::new(&self.seed, signed, self.authority)
    }

    /// What its node joins by.
    pub(crate) fn membership(&self) -> Option<Membership> {
        Some(Membership {
            identity: self.identity()?,
            certificates: Certificates {
                authority: self.root.clone(),
                own: self.own.clone(),
                key: pem_of(&self.seed)?,
            },
        })
    }
}

impl fmt::Debug for MeshPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeshPass")
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_mesh::Key;
    use proptest::prelude::*;

    #[test]
    fn sem_g561_a_pass_whose_text_was_changed_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = MeshPassConfig {
            name: "camera".to_owned(),
            rights: MeshRights::only(vec![Key::new("a/**").expect("a key")], Vec::new()),
            lasts: Some(Duration::from_secs(3_600)),
        };
        let key = RunKey::of_byte(3);
        let pass = MeshPass::make(&key, &config, &folder.path().join("pass")).expect("a pass");
        let text = pass.text();
        let read = MeshPass::of_text(&text).expect("its own text");
        assert_eq!(
            (read.text(), read.membership().is_some()),
            (text.clone(), true)
        );
        let key_digits = digits(&key.derive(&[b"grants"]));
        assert!(!text.contains(&key_digits) && !text.contains(&"03".repeat(32)));
        let changes = [
            ("name camera", "name other"),
            ("publish a/**", "publish **"),
            ("publish a/**", "all"),
            ("until ", "until 9"),
            ("member ", "member 0"),
            ("signature ", "signature 0"),
            ("authority ", "authority 0"),
            ("secret ", "secret 0"),
            ("-----BEGIN CERTIFICATE-----", ""),
        ];
        for (from, to) in changes {
            let changed = text.replacen(from, to, 1);
            assert!(
                changed != text && MeshPass::of_text(&changed).is_none(),
                "{to}"
            );
        }
        for at in 0..text.len() {
            // No part of it is one, and none panics.
            let is_whole = text[at..].trim().is_empty();
            let part = MeshPass::of_text(&text[..at]);
            let has_both = text[..at].matches(BEGIN).count() == 2;
            assert!(part.is_none() || is_whole || has_both, "{at}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn prop_sem_g561_a_text_that_somebody_puts_into_a_pass_makes_no_other_one(
            at in any::<prop::sample::Index>(),
            length in 0..100_usize,
            put in "(\\PC|\n|signature |secret |-----BEGIN CERTIFICATE-----){0,6}",
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let config = MeshPassConfig {
                name: "camera".to_owned(),
                rights: MeshRights::only(vec![Key::new("a/**").expect("a key")], Vec::new()),
                lasts: None,
            };
            let path = folder.path().join("pass");
            let pass = MeshPass::make(&RunKey::of_byte(3), &config, &path).expect("a pass");
            let mut text = pass.text();
            let at = at.index(text.len());
            let end = text.len().min(at + length);
            text.replace_range(at..end, &put);
            // The certificates are TLS's to look at.
            if let Some(read) = MeshPass::of_text(&text) {
                prop_assert_eq!(read.grant, pass.grant);
                prop_assert_eq!((read.seed, read.signature), (pass.seed, pass.signature));
            }
        }
    }
}
