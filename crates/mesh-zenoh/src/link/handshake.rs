//! How a link begins: each end shows who it is, and that it knows what the other one has drawn for
//! it.
//!
//! | a handshake has | bytes |
//! |---|---|
//! | the session of its sender | 32 |
//! | the session that it answers, or [`NOBODY`] | 32 |
//! | a signature of the sender over all else here, and the names and starts of both | 64 |
//! | its credential: the grant that the authority has signed | 8,256 at most |
//!
//! A session is a public key, by which both ends agree on the keys of the link. The secret of it is
//! used once, and then it is gone.
//!
//! Nothing is done with a handshake that answers a session which its receiver does not have now.
//! Any other one may still be old: somebody repeats it, or the engine was slow. So an end that is
//! up answers with a session that it draws for the next link, and goes on. Only a peer that has
//! really begun another link takes that answer, and its next handshake shows that it knows the new
//! session. A peer that is up does not take it: it answers a session that the peer does not have.
//!
//! While much waits for the node to take it no link begins: links that break and begin anew bring
//! no more than one does.

use super::{Effect, Ends, HANDSHAKE, Link, Out};
use crate::grant::Grant;
use crate::identity::{MAX_CREDENTIAL, MemberIdentity, SIGNATURE, Signature};
use crate::seal::{OwnSession, Seals, Session};
use motet_mesh::{FramePriority, PeerName};
use std::time::Instant;

/// In place of a session: the sender answers nobody.
pub(super) const NOBODY: Session = [0; 32];

/// What a signature of a handshake begins with: no grant and nothing that TLS signs does.
const SIGNED: &[u8] = b"motet mesh handshake 4";

/// How many handshakes are checked between two heartbeats while a link is up: each costs two
/// signatures. A peer that has begun another link sends two in that time.
pub(super) const CHECKS: u8 = 64;

/// The link that follows the present one if the peer has begun another.
pub(super) struct NextLink {
    mine: OwnSession,
    /// Of the last handshake that came for it.
    theirs: PeerSession,
}

/// What the peer has drawn for a link, who it is, and the keys once both ends agree.
pub(super) struct PeerSession {
    session: Session,
    pub(super) grant: Grant,
    pub(super) seals: Option<Seals>,
}

/// A handshake as it came.
struct Handshake<'a> {
    from: Session,
    to: Session,
    signature: Signature,
    credential: &'a [u8],
}

impl PeerSession {
    /// Whether it is the same session, of the same member: nobody else speaks for it.
    fn is(&self, other: &PeerSession) -> bool {
        self.session == other.session && self.grant.member == other.grant.member
    }

    /// The keys of the link with a session of this end, which agrees with it if it has not yet.
    fn seals(&mut self, mine: &mut OwnSession) -> Option<&Seals> {
        if self.seals.is_none() {
            self.seals = mine.agree(&self.session);
        }
        self.seals.as_ref()
    }
}

impl Link {
    pub(super) fn on_handshake(&mut self, message: &[u8], now: Instant, out: Out<'_>) {
        if self.untaken.is_much() {
            return;
        }
        let Some(handshake) = Handshake::read(message) else {
            return;
        };
        let to = handshake.to;
        let answers_next = |link: &Link| {
            let next = link.next.as_ref();
            next.is_some_and(|next| *next.mine.session() == to)
        };
        if to != *self.mine.session() && to != NOBODY && !answers_next(self) {
            return;
        }
        if self.up && !self.is_worth_a_check(&handshake) {
            return;
        }
        let Some(theirs) = handshake.sender(&self.ends) else {
            return;
        };
        let is_known = self.theirs.as_ref().is_some_and(|known| known.is(&theirs));
        if self.up && !is_known {
            self.prepare_next(theirs);
            match answers_next(self) {
                true => self.go_over(now, out),
                false => self.ask(out),
            }
            return;
        }
        if !is_known {
            if self.mine.is_used() {
                self.mine = OwnSession::draw();
            }
            self.theirs = Some(theirs);
        }
        let knows_me = to == *self.mine.session();
        let comes_up = knows_me && !self.up;
        if comes_up {
            if !self.agrees() {
                // Its session is no key.
                self.theirs = None;
                return;
            }
            self.come_up(now, out);
        }
        if comes_up || !knows_me {
            self.shake_hands(self.mine.session(), &handshake.from, out);
        }
    }

    /// While it is up: nothing follows from what the peer has answered before, and handshakes that
    /// somebody repeats have a limit.
    fn is_worth_a_check(&mut self, handshake: &Handshake<'_>) -> bool {
        let theirs = self.theirs.as_ref();
        let is_of_this = theirs.is_some_and(|theirs| theirs.session == handshake.from);
        if is_of_this && handshake.to == *self.mine.session() {
            return false;
        }
        self.checked = self.checked.saturating_add(1);
        self.checked <= CHECKS
    }

    /// Says that this end is there, to a peer that it knows nothing of: when the node has taken
    /// most of what came before.
    pub(super) fn greet(&self, out: Out<'_>) {
        if !self.untaken.is_much() {
            self.shake_hands(self.mine.session(), &NOBODY, out);
        }
    }

    /// The peer may have begun a new link with this session.
    fn prepare_next(&mut self, theirs: PeerSession) {
        let mine = match self.next.take() {
            Some(next) if next.theirs.is(&theirs) => {
                self.next = Some(next);
                return;
            }
            Some(NextLink { mine, .. }) if !mine.is_used() => mine,
            _ => OwnSession::draw(),
        };
        self.next = Some(NextLink { mine, theirs });
    }

    /// Asks the peer whether it has begun the next link.
    fn ask(&self, out: Out<'_>) {
        if let Some(next) = &self.next {
            self.shake_hands(next.mine.session(), &next.theirs.session, out);
        }
    }

    /// Whether both ends of the present link have its keys.
    fn agrees(&mut self) -> bool {
        let (mine, theirs) = (&mut self.mine, self.theirs.as_mut());
        theirs.is_some_and(|theirs| theirs.seals(mine).is_some())
    }

    /// Opens what the peer has sealed for this link. There are keys once a handshake has answered
    /// the session of this end: bytes of anybody use up no session.
    pub(super) fn open(&self, (priority, number): (u8, u64), sealed: &[u8]) -> Option<Vec<u8>> {
        let seals = self.theirs.as_ref()?.seals.as_ref()?;
        seals.open(priority, number, sealed.to_vec())
    }

    /// The peer has begun the next link: the present one is broken, and that one is up.
    fn go_over(&mut self, now: Instant, out: Out<'_>) {
        let Some(mut next) = self.next.take() else {
            return;
        };
        if next.theirs.seals(&mut next.mine).is_none() {
            // Its session is no key.
            return;
        }
        self.reset("the peer began a new link", out);
        let to = next.theirs.session;
        (self.mine, self.theirs) = (next.mine, Some(next.theirs));
        self.come_up(now, out);
        self.shake_hands(self.mine.session(), &to, out);
    }

    fn shake_hands(&self, mine: &Session, to: &Session, out: Out<'_>) {
        let Ends {
            me, peer, starts, ..
        } = &self.ends;
        let (from, to) = ((me, starts.0, mine), (peer, starts.1, to));
        let message = handshake(&self.ends.identity, from, to);
        out(Effect::Send(FramePriority::Urgent, message));
    }
}

impl<'a> Handshake<'a> {
    /// Behind the byte that says that it is one.
    fn read(message: &'a [u8]) -> Option<Self> {
        let (from, rest) = message.split_first_chunk::<32>()?;
        let (to, rest) = rest.split_first_chunk::<32>()?;
        let (signature, credential) = rest.split_first_chunk::<SIGNATURE>()?;
        (credential.len() <= MAX_CREDENTIAL).then_some(Handshake {
            from: *from,
            to: *to,
            signature: *signature,
            credential,
        })
    }

    /// The session of the peer, if it is the peer's, and the peer may be there.
    fn sender(&self, ends: &Ends) -> Option<PeerSession> {
        let from = (&ends.peer, ends.starts.1, &self.from);
        let to = (&ends.me, ends.starts.0, &self.to);
        let signed = signed(from, to, self.credential);
        let by = (&signed[..], &self.signature);
        let now = (ends.wall)();
        let grant = ends.identity.check(&ends.peer, self.credential, by, now)?;
        Some(PeerSession {
            session: self.from,
            grant,
            seals: None,
        })
    }
}

/// One end of a handshake: its name, its start and its session.
pub(super) type HandshakeEnd<'a> = (&'a PeerName, u64, &'a Session);

/// The message by which a node shows a peer who it is.
pub(super) fn handshake(
    identity: &MemberIdentity,
    from: HandshakeEnd<'_>,
    to: HandshakeEnd<'_>,
) -> Vec<u8> {
    let credential = identity.credential();
    let signature = identity.sign(&signed(from, to, credential));
    [&[HANDSHAKE][..], from.2, to.2, &signature, credential].concat()
}

/// What is signed: each part with its length, so that no two handshakes give the same bytes.
fn signed(from: HandshakeEnd<'_>, to: HandshakeEnd<'_>, credential: &[u8]) -> Vec<u8> {
    let mut bytes = SIGNED.to_vec();
    let mut put = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    };
    for (name, start, session) in [from, to] {
        put(name.as_str().as_bytes());
        put(&start.to_le_bytes());
        put(session);
    }
    put(credential);
    bytes
}
