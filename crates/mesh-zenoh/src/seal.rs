//! Messages between two nodes, sealed with keys that only members of the mesh can derive.
//!
//! zenoh's TLS client also trusts the public authorities, and its routers see what they pass on. So
//! each link has two keys of its own, one for each direction. They are derived from the run key and
//! from a random number of each end.

use crate::key::derive;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;

/// What a seal adds.
pub(crate) const TAG: usize = 16;

/// A random number of one end of a link.
pub(crate) type Session = [u8; 16];

/// The keys of a link.
pub(crate) struct Seals {
    out: LessSafeKey,
    incoming: LessSafeKey,
}

impl Seals {
    pub(crate) fn new(secret: &[u8; 32], mine: &Session, theirs: &Session) -> Self {
        let key = |from: &Session, to: &Session| {
            let key = derive(secret, &[b"link", from, to]);
            let key = UnboundKey::new(&AES_256_GCM, &key).expect("32 bytes are a key of AES-256");
            LessSafeKey::new(key)
        };
        Seals {
            out: key(mine, theirs),
            incoming: key(theirs, mine),
        }
    }

    /// Seals `message` behind its first `head` bytes, which stay as they are, and appends the tag.
    pub(crate) fn seal(&self, priority: u8, number: u64, message: &mut Vec<u8>, head: usize) {
        let body = &mut message[head..];
        let tag = self
            .out
            .seal_in_place_separate_tag(nonce(priority, number), Aad::empty(), body)
            .expect("a frame is shorter than AES-GCM allows");
        message.extend_from_slice(tag.as_ref());
    }

    /// Opens what the peer has sealed. `None`: it is of another link, or no member wrote it.
    pub(crate) fn open(&self, priority: u8, number: u64, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let opened =
            self.incoming
                .open_in_place(nonce(priority, number), Aad::empty(), &mut sealed[..]);
        let length = opened.ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }
}

/// Each number of a priority is used once, and each link has keys of its own.
fn nonce(priority: u8, number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[0] = priority;
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// The tag that shows that a member wrote a handshake.
pub(crate) fn tag(secret: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut tag = [0; 32];
    tag.copy_from_slice(sign(secret, parts).as_ref());
    tag
}

/// Whether a member wrote a handshake. How long it takes does not depend on what is right of the
/// tag.
pub(crate) fn is_right(secret: &[u8; 32], parts: &[&[u8]], tag: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &derive(secret, &[b"greeting"]));
    hmac::verify(&key, &joined(parts), tag).is_ok()
}

fn sign(secret: &[u8; 32], parts: &[&[u8]]) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &derive(secret, &[b"greeting"]));
    hmac::sign(&key, &joined(parts))
}

/// The parts, each with its length, so that no two lists of parts give the same bytes.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}
