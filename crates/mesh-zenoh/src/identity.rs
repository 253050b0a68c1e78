//! By what a node shows who it is: its own key, and a grant that the authority has signed.

use crate::grant::{Grant, MAX_GRANT, PublicKey};
use crate::key::RunKey;
use motet_mesh::PeerName;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;

/// The bytes of a signature.
pub(crate) const SIGNATURE: usize = 64;

/// A signature of Ed25519.
pub(crate) type Signature = [u8; SIGNATURE];

/// The longest credential: a signature of the authority, and the grant behind it.
pub(crate) const MAX_CREDENTIAL: usize = SIGNATURE + MAX_GRANT;

/// Who a node is, and how others show who they are.
pub(crate) struct MemberIdentity {
    pair: Ed25519KeyPair,
    grant: Grant,
    credential: Vec<u8>,
    authority: PublicKey,
}

impl MemberIdentity {
    /// As a pass has it. `None`: the authority has not signed it for this key.
    pub(crate) fn new(
        seed: &[u8; 32],
        (text, signature): (&str, &Signature),
        authority: PublicKey,
    ) -> Option<Self> {
        let pair = pair_of(seed);
        let credential = [signature, text.as_bytes()].concat();
        let grant = grant_of(&credential, &authority)?;
        let is_mine = pair.public_key().as_ref() == grant.member;
        is_mine.then_some(MemberIdentity {
            pair,
            grant,
            credential,
            authority,
        })
    }

    /// What the authority signs, by whoever has the key of the mesh: the grant, its signature, and
    /// the public key of the authority.
    pub(crate) fn sign_grant(key: &RunKey, grant: &Grant) -> (String, Signature, PublicKey) {
        let authority = pair_of(&key.derive(&[b"grants"]));
        let text = grant.text();
        let signature = signature_by(&authority, text.as_bytes());
        (text, signature, public_of(&authority))
    }

    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// What others are shown.
    pub(crate) fn credential(&self) -> &[u8] {
        &self.credential
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> Signature {
        signature_by(&self.pair, bytes)
    }

    /// The grant of a peer that shows this credential, and has signed these bytes. `None`: it is
    /// another one, it has none, or its time is over.
    pub(crate) fn check(
        &self,
        peer: &PeerName,
        credential: &[u8],
        (bytes, signature): (&[u8], &Signature),
        now: u64,
    ) -> Option<Grant> {
        let grant = grant_of(credential, &self.authority)?;
        let is_peer = grant.name == peer.as_str() && !grant.has_ended(now);
        let is_signed = is_peer && is_signed_by(&grant.member, bytes, signature);
        is_signed.then_some(grant)
    }
}

/// The public key that belongs to a secret.
pub(crate) fn member_of(seed: &[u8; 32]) -> PublicKey {
    public_of(&pair_of(seed))
}

fn pair_of(seed: &[u8; 32]) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are a key of Ed25519")
}

fn public_of(pair: &Ed25519KeyPair) -> PublicKey {
    let mut public = [0; 32];
    public.copy_from_slice(pair.public_key().as_ref());
    public
}

fn signature_by(pair: &Ed25519KeyPair, bytes: &[u8]) -> Signature {
    let mut signature = [0; SIGNATURE];
    signature.copy_from_slice(pair.sign(bytes).as_ref());
    signature
}

fn is_signed_by(public: &PublicKey, bytes: &[u8], signature: &Signature) -> bool {
    let key = UnparsedPublicKey::new(&ED25519, public);
    key.verify(bytes, signature).is_ok()
}

/// The grant of a credential that the authority has signed.
fn grant_of(credential: &[u8], authority: &PublicKey) -> Option<Grant> {
    let (signature, text) = credential.split_first_chunk::<SIGNATURE>()?;
    // What is too long, or no grant, costs no look at a signature.
    let grant = Grant::read(std::str::from_utf8(text).ok()?)?;
    is_signed_by(authority, text, signature).then_some(grant)
}

impl fmt::Debug for MemberIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberIdentity")
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}
