//! How a link begins: each end shows that it knows what the other one has drawn for it.
//!
//! A handshake names the session of its sender, and the one that it answers, or [`NOBODY`]. Nothing
//! is done with one that answers a session which its receiver does not have now. Any other one may
//! still be old: somebody repeats it, or the engine was slow. So an end that is up answers with a
//! session that it draws for the next link, and goes on. Only a peer that has really begun another
//! link takes that answer, and what it sends then shows that it knows the new session. A peer that
//! is up does not take it: it answers a session that the peer does not have.

use super::{Effect, HANDSHAKE, Link, Out};
use crate::seal::{Seals, Session, is_right, tag};
use motet_mesh::{FramePriority, PeerName};
use std::time::Instant;

/// In place of a session: the sender answers nobody.
const NOBODY: Session = [0; 16];

/// The link that follows the present one if the peer has begun another.
pub(super) struct NextLink {
    mine: Session,
    /// Of the last handshake that came for it.
    theirs: (Session, Seals),
}

impl Link {
    pub(super) fn on_handshake(&mut self, handshake: &[u8], now: Instant, out: Out<'_>) {
        let (Some(from), Some(to)) = (session_at(handshake, 0), session_at(handshake, 16)) else {
            return;
        };
        let parts = handshake_parts(&self.ends.peer, &self.ends.me, &from, &to);
        if !is_right(&self.ends.secret, &parts, &handshake[32..]) {
            return;
        }
        let knows_me = to == self.mine;
        let knows_next = self.next.as_ref().is_some_and(|next| next.mine == to);
        if !knows_me && !knows_next && to != NOBODY {
            return;
        }
        let theirs = self.theirs.as_ref();
        let is_known = theirs.is_some_and(|(known, _)| *known == from);
        if self.up && !is_known {
            self.prepare_next(from);
            match knows_next {
                true => self.go_over(now, out),
                false => self.ask(out),
            }
            return;
        }
        if !is_known {
            self.theirs = Some((from, self.seals(&self.mine, &from)));
        }
        let comes_up = knows_me && !self.up;
        if comes_up {
            self.come_up(now, out);
        }
        if comes_up || !knows_me {
            self.shake_hands(&self.mine, &from, out);
        }
    }

    /// Says that this end is there, to a peer that it knows nothing of.
    pub(super) fn greet(&self, out: Out<'_>) {
        self.shake_hands(&self.mine, &NOBODY, out);
    }

    /// The peer may have begun a new link with this session.
    fn prepare_next(&mut self, from: Session) {
        let mine = match self.next.take() {
            Some(NextLink { mine, theirs }) if theirs.0 == from => {
                self.next = Some(NextLink { mine, theirs });
                return;
            }
            Some(NextLink { mine, .. }) => mine,
            None => (self.ends.session)(),
        };
        let theirs = (from, self.seals(&mine, &from));
        self.next = Some(NextLink { mine, theirs });
    }

    /// Asks the peer whether it has begun the next link.
    fn ask(&self, out: Out<'_>) {
        if let Some(next) = &self.next {
            self.shake_hands(&next.mine, &next.theirs.0, out);
        }
    }

    /// Opens what the peer has sealed for this link, or for the next one: only who knows the
    /// session of this end can do so. Then that link is up.
    pub(super) fn open(
        &mut self,
        (priority, number): (u8, u64),
        sealed: &[u8],
        now: Instant,
        out: Out<'_>,
    ) -> Option<Vec<u8>> {
        let by = |seals: &Seals| seals.open(priority, number, sealed.to_vec());
        let opened = self.theirs.as_ref().and_then(|(_, seals)| by(seals));
        if opened.is_some() {
            if !self.up {
                self.come_up(now, out);
            }
            return opened;
        }
        let opened = self.next.as_ref().and_then(|next| by(&next.theirs.1))?;
        self.go_over(now, out);
        Some(opened)
    }

    /// The peer has begun the next link: the present one is broken, and that one is up.
    fn go_over(&mut self, now: Instant, out: Out<'_>) {
        let Some(NextLink { mine, theirs }) = self.next.take() else {
            return;
        };
        let from = theirs.0;
        self.reset("the peer began a new link", out);
        (self.mine, self.theirs) = (mine, Some(theirs));
        self.come_up(now, out);
        self.shake_hands(&mine, &from, out);
    }

    fn seals(&self, mine: &Session, theirs: &Session) -> Seals {
        Seals::new(&self.ends.secret, mine, theirs)
    }

    fn shake_hands(&self, mine: &Session, to: &Session, out: Out<'_>) {
        let parts = handshake_parts(&self.ends.me, &self.ends.peer, mine, to);
        let tag = tag(&self.ends.secret, &parts);
        let message = [&[HANDSHAKE][..], mine, to, &tag].concat();
        out(Effect::Send(FramePriority::Urgent, message));
    }
}

fn session_at(handshake: &[u8], at: usize) -> Option<Session> {
    handshake.get(at..at + 16)?.try_into().ok()
}

fn handshake_parts<'a>(
    from: &'a PeerName,
    to: &'a PeerName,
    sender: &'a Session,
    receiver: &'a Session,
) -> [&'a [u8]; 4] {
    [
        from.as_str().as_bytes(),
        to.as_str().as_bytes(),
        sender,
        receiver,
    ]
}
