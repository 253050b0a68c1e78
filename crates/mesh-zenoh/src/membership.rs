//! What a node joins a mesh by: its identity for links, and its certificate for TLS.

use crate::certificates::Certificates;
use crate::error::MeshJoinError;
use crate::grant::Grant;
use crate::identity::{MemberIdentity, member_of};
use crate::key::{KeyFileError, RunKey, end_after, random};
use motet_mesh::MeshRights;
use std::time::Duration;

pub(crate) struct Membership {
    pub(crate) identity: MemberIdentity,
    pub(crate) certificates: Certificates,
}

impl Membership {
    /// Of a node that has the key of the mesh: it may do all, and says so itself.
    pub(crate) fn of_key(
        key: &RunKey,
        name: &str,
        lasts: Option<Duration>,
    ) -> Result<Self, MeshJoinError> {
        let seed = random().ok_or(KeyFileError::NoRandom)?;
        let grant = Grant {
            name: name.to_owned(),
            until: end_after(lasts),
            rights: MeshRights::all(),
            member: member_of(&seed),
        };
        let wrong = |why: String| MeshJoinError::Certificate(why);
        let certificates = Certificates::new(key, name, &seed, grant.until)
            .map_err(|error| wrong(error.to_string()))?;
        let (text, signature, authority) = MemberIdentity::sign_grant(key, &grant);
        let identity = MemberIdentity::new(&seed, (&text, &signature), authority);
        let no_grant = || wrong("its grant cannot be signed".to_owned());
        Ok(Membership {
            identity: identity.ok_or_else(no_grant)?,
            certificates,
        })
    }
}
