//! Messages between two nodes, sealed with keys that only these two can derive.
//!
//! zenoh's TLS client also trusts the public authorities, and its routers see what they pass on. So
//! each link has two keys of its own, one for each direction. They are derived from what both ends
//! agree on (X25519) and from what each of them has drawn. Who gets the key of the mesh later
//! derives none of them.

use crate::key::derive;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::rand::SystemRandom;

/// What a seal adds.
pub(crate) const TAG: usize = 16;

/// What one end of a link has drawn for it: a public key of X25519.
pub(crate) type Session = [u8; 32];

/// The session of this end. It agrees with one session of the peer, and with no other.
pub(crate) struct OwnSession {
    session: Session,
    secret: Option<EphemeralPrivateKey>,
}

impl OwnSession {
    /// One that no link had before.
    pub(crate) fn draw() -> Self {
        let random = "the system has given random bytes before";
        let secret = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).expect(random);
        let public = secret.compute_public_key().expect("it is one of X25519");
        let mut session = [0; 32];
        session.copy_from_slice(public.as_ref());
        OwnSession {
            session,
            secret: Some(secret),
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Whether it has agreed with a session of the peer.
    pub(crate) fn is_used(&self) -> bool {
        self.secret.is_none()
    }

    /// The keys of the link with this session of the peer. `None`: it has agreed before, or the
    /// peer's session is no key.
    pub(crate) fn agree(&mut self, theirs: &Session) -> Option<Seals> {
        let peer = UnparsedPublicKey::new(&X25519, theirs);
        let mut shared = [0; 32];
        let take = |bytes: &[u8]| shared.copy_from_slice(bytes);
        agree_ephemeral(self.secret.take()?, &peer, take).ok()?;
        Some(Seals::new(&shared, &self.session, theirs))
    }
}

/// The keys of a link.
pub(crate) struct Seals {
    out: LessSafeKey,
    incoming: LessSafeKey,
}

impl Seals {
    fn new(secret: &[u8; 32], mine: &Session, theirs: &Session) -> Self {
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
