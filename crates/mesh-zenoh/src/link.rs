//! One link to one peer, without input and output.
//!
//! ```text
//!   this node                                  the peer
//!   handshake: my session, who I am ──────►
//!                               ◄─────────     handshake: its session, and mine
//!   Up ─ handshake: both         ─────────►     Up
//!   frames, in two priorities, each numbered from 0 and sealed with the keys of the two sessions
//!
//!   Up                          ◄─────────     handshake: a session that is not known here
//!   handshake: my next session   ─────────►     Up, if it has begun a new link; else nothing
//!   Down, and Up                ◄─────────     handshake: both
//! ```
//!
//! An engine may lose, repeat or delay messages when its routes change. So a link has numbers: a
//! frame of an earlier link cannot be opened, and a number that is missing breaks the link. A new
//! link has a new session. At most [`WINDOW`](waiting::WINDOW) bytes are sent that the peer's node
//! has not taken. So the engine's own queues never fill, no call waits for the peer, and what waits
//! at a slow node has a limit. A heartbeat says what has come and what is taken: a node that takes
//! nothing is not held dead.
//!
//! ```text
//!   a frame after a pause   ─────────────────────────────► one message, at once
//!   frames in quick succession ─► [ waiting ] ── flush ──► messages of up to PART bytes each
//! ```
//!
//! A message costs the same whether it holds one small frame or a hundred: frames that come in
//! quick succession share one. Another thread flushes them, so that the sender goes on meanwhile.

mod coming;
mod handshake;
mod untaken;
mod waiting;

use self::handshake::{NextLink, PeerSession};
pub(crate) use self::untaken::Untaken;
pub(crate) use self::waiting::{Flush, PAUSE};
use self::waiting::{FlushDecision, MAX_WAITING, Waiting, Which};
use crate::identity::{MAX_CREDENTIAL, MemberIdentity};
use crate::seal::{OwnSession, TAG};
use motet_mesh::{CarrierEvent, FramePriority, PeerName};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HANDSHAKE: u8 = 0;
const SEALED: u8 = 1;

/// Kind, priority and number stand before what is sealed.
const HEAD: usize = 10;

/// Kind and tag stand behind a body.
const BEHIND: usize = 1 + TAG;

/// What the last byte of an opened message says it is.
const WHOLE: u8 = 0;
const PART_OF_FRAME: u8 = 1;
const KEEP_ALIVE: u8 = 2;
const BATCH: u8 = 3;
/// The sender leaves, and sends no more frames; or it has heard so of the other end.
const LEAVES: u8 = 4;

/// What a node is told whose own time has ended.
pub(crate) const OWN_END: &str = "the time of this node in the mesh has ended: it needs a new pass";

/// So many seconds before its end a certificate may end a connection: it counts to its last second,
/// and clocks differ.
const LAST_SECONDS: u64 = 2;

/// What a link wants done, in order.
pub(crate) enum Effect {
    Send(FramePriority, Vec<u8>),
    Tell(CarrierEvent),
    /// Frames wait for others: [`Link::flush`] is to be called soon, by another thread.
    Flush,
}

/// Who both ends of a link are, and how it is kept.
pub(crate) struct Ends {
    pub(crate) me: PeerName,
    pub(crate) peer: PeerName,
    /// The starts of this end and of the peer: messages between others are of other links.
    pub(crate) starts: (u64, u64),
    /// Who this end is, and how the peer shows who it is.
    pub(crate) identity: Arc<MemberIdentity>,
    /// So long without a message, and the link is broken.
    pub(crate) silence: Duration,
    /// Seconds since 1970.
    pub(crate) wall: fn() -> u64,
}

pub(crate) struct Link {
    ends: Ends,
    mine: OwnSession,
    theirs: Option<PeerSession>,
    /// While it is up: what may follow it.
    next: Option<NextLink>,
    up: bool,
    heard: Instant,
    out: [u64; 2],
    incoming: [u64; 2],
    waiting: Waiting,
    /// How much of frames has come.
    received: u64,
    /// How much of it the peer knows to be taken.
    told: u64,
    untaken: Untaken,
    /// While it is up: how many handshakes have been checked since the last heartbeat.
    checked: u8,
    /// Parts of a frame that have come.
    parts: Vec<u8>,
    /// This node has said that it leaves.
    left: bool,
    /// The peer has been told so, behind all that it is sent.
    said: bool,
    /// The peer has heard so, or leaves as well.
    is_heard: bool,
    /// The peer has said that it leaves.
    leaves: bool,
}

type Out<'a> = &'a mut dyn FnMut(Effect);

impl Link {
    /// A link to a peer that has just been seen. `untaken`: what the node has of earlier links.
    pub(crate) fn new(ends: Ends, untaken: Untaken, now: Instant, out: Out<'_>) -> Self {
        let link = Link {
            mine: OwnSession::draw(),
            ends,
            theirs: None,
            next: None,
            up: false,
            heard: now,
            out: [0; 2],
            incoming: [0; 2],
            waiting: Waiting::default(),
            received: 0,
            told: 0,
            untaken,
            checked: 0,
            parts: Vec::new(),
            left: false,
            said: false,
            is_heard: false,
            leaves: false,
        };
        link.greet(out);
        link
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up
    }

    /// Whether frames may be sent: none goes behind what says that this node leaves.
    pub(crate) fn takes_frames(&self) -> bool {
        self.up && !self.said
    }

    /// Of its session, which no other link had: a part of what is random.
    pub(crate) fn number(&self) -> u64 {
        let [first, ..] = self.mine.session().as_chunks::<8>().0 else {
            return 0;
        };
        u64::from_le_bytes(*first)
    }

    /// Sends a frame: now, with others that come soon, or when the peer has taken earlier ones.
    /// The link [takes frames](Link::takes_frames).
    pub(crate) fn send(
        &mut self,
        frame: &[u8],
        priority: FramePriority,
        now: Instant,
        out: Out<'_>,
    ) {
        self.take(Cow::Borrowed(frame), priority, now, out);
    }

    /// As [`Link::send`]. A long frame that waits is not copied.
    pub(crate) fn send_owned(
        &mut self,
        frame: Vec<u8>,
        priority: FramePriority,
        now: Instant,
        out: Out<'_>,
    ) {
        self.take(Cow::Owned(frame), priority, now, out);
    }

    fn take(&mut self, frame: Cow<'_, [u8]>, priority: FramePriority, now: Instant, out: Out<'_>) {
        if priority == FramePriority::Urgent {
            self.waiting.push_urgent(&frame);
            self.send_urgent(out);
        } else {
            match self.waiting.push(frame, now) {
                FlushDecision::SendAll => self.send_waiting(Which::All, now, out),
                FlushDecision::SendFull => self.send_waiting(Which::Full, now, out),
                FlushDecision::None => {}
            }
        }
        if self.waiting.wants_flush() {
            out(Effect::Flush);
        }
        if self.waiting.is_too_much() {
            let why = format!("it does not take what is sent: more than {MAX_WAITING} bytes wait");
            self.break_off(&why, out);
        }
    }

    /// Sends what waits for other frames, [`PAUSE`] after the last message. It comes again so long
    /// after this one, unless it says that nothing waits: who sends many frames wakes nobody.
    pub(crate) fn flush(&mut self, now: Instant, out: Out<'_>) -> Flush {
        let flush = self.waiting.is_flushed(now);
        if flush == Flush::Send {
            self.send_waiting(Which::All, now, out);
        }
        flush
    }

    /// This node leaves: sends what waits for other frames, since none follows, and then says so.
    pub(crate) fn leave(&mut self, now: Instant, out: Out<'_>) {
        self.left = true;
        self.is_heard |= self.leaves;
        self.send_waiting(Which::All, now, out);
        self.say_left(false, out);
    }

    /// Says that this node leaves, if it does, once nothing waits; or `at_last`, once the peer has
    /// had its time to take that.
    pub(crate) fn say_left(&mut self, at_last: bool, out: Out<'_>) {
        let is_due = self.left && self.up && (at_last || self.waiting.is_empty());
        if is_due && !std::mem::replace(&mut self.said, true) {
            self.seal(FramePriority::Ordered, with_head(&[]), LEAVES, out);
        }
    }

    /// This node leaves: whether the peer has heard so, and all that it was sent before.
    pub(crate) fn has_heard_all(&self) -> bool {
        !self.up || self.is_heard
    }

    fn send_urgent(&mut self, out: Out<'_>) {
        while let Some(body) = self.waiting.next_urgent() {
            self.seal(FramePriority::Urgent, body, WHOLE, out);
        }
    }

    fn send_waiting(&mut self, which: Which, now: Instant, out: Out<'_>) {
        while let Some((kind, body)) = self.waiting.next(which, now) {
            self.seal(FramePriority::Ordered, body, kind, out);
        }
    }

    /// A message of the peer, or of somebody who says so.
    pub(crate) fn comes(&mut self, message: &[u8], now: Instant, out: Out<'_>) {
        match message.split_first() {
            Some((&HANDSHAKE, rest)) => self.on_handshake(rest, now, out),
            Some((&SEALED, _)) => self.on_sealed(message, now, out),
            _ => {}
        }
    }

    /// Time passes: a link that is up says so, one that is not shakes hands, one that is silent
    /// breaks.
    pub(crate) fn tick(&mut self, now: Instant, out: Out<'_>) {
        self.checked = 0;
        if let Some(why) = self.ended(0) {
            self.reset(why, out);
        } else if !self.up {
            self.greet(out);
        } else if now.saturating_duration_since(self.heard) >= self.ends.silence {
            let why = format!("nothing came for {:?}", self.ends.silence);
            self.break_off(&why, out);
        } else {
            self.keep_alive(out);
        }
    }

    /// Why there is no link so many seconds from now: one of the ends may be in the mesh no longer.
    fn ended(&self, seconds: u64) -> Option<&'static str> {
        let now = (self.ends.wall)().saturating_add(seconds);
        let theirs = self.theirs.as_ref();
        if self.ends.identity.grant().has_ended(now) {
            Some(OWN_END)
        } else if theirs.is_some_and(|theirs| theirs.grant.has_ended(now)) {
            Some("its time in the mesh has ended: it needs a new pass")
        } else {
            None
        }
    }

    /// There is no link to this start of the peer any more.
    pub(crate) fn end(&mut self, why: &str, out: Out<'_>) {
        self.reset(why, out);
    }

    /// The peer shows itself no longer: what is known of why.
    pub(crate) fn gone(&mut self, out: Out<'_>) {
        let why = match self.ended(LAST_SECONDS) {
            _ if self.leaves => "it has left",
            Some(why) => why,
            None => "its connection broke, or its process has ended",
        };
        self.reset(why, out);
    }

    /// What waits for the node: the next link to the peer begins with it. This one has ended.
    pub(crate) fn hands_over(&mut self) -> Untaken {
        std::mem::take(&mut self.untaken)
    }

    fn tell(&mut self, event: CarrierEvent, bytes: usize, out: Out<'_>) {
        self.untaken.is_told(bytes, self.received);
        out(Effect::Tell(event));
    }

    fn come_up(&mut self, now: Instant, out: Out<'_>) {
        (self.up, self.heard) = (true, now);
        let rights = self.theirs.as_ref().map(|theirs| &theirs.grant.rights);
        let up = CarrierEvent::Up(
            self.ends.peer.clone(),
            self.number(),
            rights.cloned().unwrap_or_default(),
        );
        self.tell(up, MAX_CREDENTIAL, out);
        self.say_left(false, out);
    }

    /// The link is broken: the next one has a new session.
    fn break_off(&mut self, why: &str, out: Out<'_>) {
        self.reset(why, out);
        self.greet(out);
    }

    fn reset(&mut self, why: &str, out: Out<'_>) {
        if std::mem::take(&mut self.up) {
            let down = CarrierEvent::Down(self.ends.peer.clone(), why.to_owned());
            self.tell(down, why.len(), out);
        }
        self.untaken.link_ends();
        self.mine = OwnSession::draw();
        (self.theirs, self.next) = (None, None);
        (self.out, self.incoming) = ([0; 2], [0; 2]);
        (self.received, self.told) = (0, 0);
        self.waiting = Waiting::default();
        self.parts = Vec::new();
        (self.said, self.is_heard, self.leaves) = (false, false, false);
    }

    /// A heartbeat, which also confirms what has come and what is taken.
    fn keep_alive(&mut self, out: Out<'_>) {
        self.told = self.untaken.taken();
        let numbers = [self.received, self.told].map(u64::to_le_bytes);
        let body = with_head(numbers.as_flattened());
        self.seal(FramePriority::Urgent, body, KEEP_ALIVE, out);
    }

    /// Seals a body that has room for its head before it.
    fn seal(&mut self, priority: FramePriority, mut message: Vec<u8>, kind: u8, out: Out<'_>) {
        let theirs = self.theirs.as_ref();
        let Some(seals) = theirs.and_then(|theirs| theirs.seals.as_ref()) else {
            return;
        };
        let number = self.out[priority as usize];
        self.out[priority as usize] += 1;
        message[0] = SEALED;
        message[1] = priority as u8;
        message[2..HEAD].copy_from_slice(&number.to_le_bytes());
        message.push(kind);
        seals.seal(priority as u8, number, &mut message, HEAD);
        out(Effect::Send(priority, message));
    }
}

/// A body with room for its head before it.
fn with_head(body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD + body.len() + BEHIND);
    message.resize(HEAD, 0);
    message.extend_from_slice(body);
    message
}

#[cfg(test)]
mod tests;
