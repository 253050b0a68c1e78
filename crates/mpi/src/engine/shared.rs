//! The way between processes of one machine: through memory that they share.
//!
//! Each process has memory with a ring for what each of the others sends to it. Between two
//! processes either all messages go through the rings or all through MPI, so that they stay in
//! order. They go through the rings where both have mapped each other's memory.

mod bell;
mod bytes;
pub(super) mod offered;
mod outgoing_message;
mod ring;
mod segment;

use super::peers::Peers;
use crate::binding::Comm;
use crate::error::MpiError;
use motet_comm::{Gone, Header};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::{Mutex, thread};
use outgoing_message::OutgoingMessage;
use ring::{Memory, RingReceiver, RingSender, ring_words};
use segment::{FRONT, Made, SharedSegment};
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

pub(super) use outgoing_message::Load;
pub(super) use ring::RingOutput;

/// The rings out of this process.
pub(super) struct Senders {
    /// By process; `None`: messages to it go over MPI.
    ways: Box<[Option<Mutex<Outgoing>>]>,
    /// Messages that wait for room, in all of them.
    waiting: AtomicUsize,
}

/// The rings into this process.
pub(super) struct Receivers(Vec<(usize, RingReceiver<SharedSegment>)>);

/// Where this process sleeps until something is written into a ring of its memory; nowhere, if it
/// shares none.
pub(super) struct Bedroom {
    inbox: Option<Arc<SharedSegment>>,
    /// Somebody wants the sleeper to go on.
    roused: AtomicBool,
}

/// A ring to another process, and what has no room in it.
struct Outgoing {
    ring: RingSender<SharedSegment>,
    /// Whose memory it is in.
    there: Arc<SharedSegment>,
    waiting: VecDeque<OutgoingMessage>,
    /// The close message has been sent, or waits: it is the last.
    ended: bool,
}

/// What is done with what comes: the sending process, and what it is.
pub(super) type Taker<'a> = dyn FnMut(usize, RingOutput<'_>) -> Result<(), MpiError> + 'a;

/// A ring has this many cells, and fewer where many processes share a machine: then all rings of a
/// process take `INBOX` bytes.
const CELLS: usize = 32 * 1024;
const INBOX: usize = 4 << 20;

/// A message of so many bytes and more is long. Whoever takes some in may have been told by those
/// before it how it is best read. It is to use one while it is in its caches.
const LONG: usize = 2048;

impl Senders {
    /// Whether messages to the process, if there is one, go this way.
    pub(super) fn reach(&self, process: usize) -> bool {
        self.ways.get(process).is_some_and(Option::is_some)
    }

    /// Whether all messages of this process go this way.
    pub(super) fn reach_all(&self) -> bool {
        self.ways.iter().all(Option::is_some)
    }

    /// Messages that wait for room.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        // Relaxed: whoever adds one is told so by its own call; the others look again.
        self.waiting.load(Ordering::Relaxed)
    }

    /// Sends a message, or the close message, to a process that is reached; `open` is asked whether
    /// it is still to be had. `false`: the close message has been sent, and nothing follows it.
    pub(super) fn send(
        &self,
        process: usize,
        message: Option<(Header, Load<'_>)>,
        open: impl FnOnce() -> bool,
    ) -> bool {
        let way = self.ways[process].as_ref();
        let mut way = way.expect("only who is reached is sent to").lock();
        if way.ended {
            return false;
        }
        way.ended = message.is_none();
        let (free, ring, mut sent) = (way.waiting.is_empty(), &mut way.ring, None);
        let written = free
            && match &message {
                Some((header, load)) => {
                    load.with(|pieces| ring.write_message(header, pieces, &mut sent))
                }
                None => ring.write(&mut OutgoingMessage::Close),
            };
        bell::ring(&*way.there);
        if written {
            return true;
        }
        let parcel = message.map_or(OutgoingMessage::Close, |(header, load)| {
            OutgoingMessage::Message {
                header,
                payload: load.take(0),
                sent,
            }
        });
        // Who has lost it since then gives up what waits under this lock: before this, or after.
        if open() {
            way.waiting.push_back(parcel);
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Sends as much of the bytes as there is room for, to a process that is reached. `None`: the
    /// close message has been sent.
    pub(super) fn send_some(&self, process: usize, header: &Header, bytes: &[u8]) -> Option<Gone> {
        let way = self.ways[process].as_ref();
        let mut way = way.expect("only who is reached is sent to").lock();
        if way.ended {
            return None;
        }
        if !way.waiting.is_empty() {
            return Some(Gone::default());
        }
        let gone = way.ring.write_some(header, bytes);
        if gone.messages > 0 {
            bell::ring(&*way.there);
        }
        Some(gone)
    }

    /// Goes on with what waits for room; in how many rings there was some.
    #[inline]
    pub(super) fn go_on(&self) -> usize {
        let ways = (self.waiting() > 0).then(|| self.ways.iter().flatten());
        let ways = ways.into_iter().flatten();
        ways.map(|way| self.go_on_in(way)).sum()
    }

    fn go_on_in(&self, way: &Mutex<Outgoing>) -> usize {
        // While another thread has it nobody waits for that one: there will be further calls.
        let Some(mut way) = way.try_lock() else {
            return 0;
        };
        let (before, gone) = (way.ring.written(), way.go_on());
        self.waiting.fetch_sub(gone, Ordering::Relaxed);
        usize::from(way.ring.written() != before)
    }

    /// Nothing more goes to this process.
    pub(super) fn abandon(&self, process: usize) {
        if let Some(way) = &self.ways[process] {
            let mut way = way.lock();
            self.waiting.fetch_sub(way.waiting.len(), Ordering::Relaxed);
            way.waiting.clear();
        }
    }
}

impl Outgoing {
    /// Writes what waits as far as there is room; how many messages that were.
    fn go_on(&mut self) -> usize {
        let before = self.waiting.len();
        while let Some(first) = self.waiting.front_mut() {
            if !self.ring.write(first) {
                break;
            }
            self.waiting.pop_front();
        }
        bell::ring(&*self.there);
        before - self.waiting.len()
    }
}

impl Receivers {
    /// Hands over what is here, about so much of each process at most, and a long message only if
    /// it is the first. Gives how many messages and parts. One that `leave` says so of stays.
    #[inline]
    pub(super) fn take_in(
        &mut self,
        at_once: usize,
        leave: &mut impl FnMut(&Header) -> bool,
        take: &mut Taker<'_>,
    ) -> Result<usize, MpiError> {
        let mut taken = 0;
        for (process, ring) in &mut self.0 {
            for before in 0..at_once {
                if before > 0 && ring.is_next_of(LONG) {
                    break;
                }
                if ring.next_header().is_some_and(|header| leave(&header)) {
                    break;
                }
                let Some(came) = ring.next() else { break };
                taken += 1;
                take(*process, came)?;
            }
            taken += ring.parts();
        }
        Ok(taken)
    }

    /// As [`Engine::read_next`](super::Engine::read_next).
    pub(super) fn read_next(
        &mut self,
        process: usize,
        header: &Header,
        read: impl FnMut(&[u8], usize),
    ) -> bool {
        let mut of = self.0.iter_mut().filter(|(from, _)| *from == process);
        of.next()
            .is_some_and(|(_, ring)| ring.read_next(header, read))
    }

    /// Hands over all that is here from a process that will send nothing more.
    pub(super) fn take_last(
        &mut self,
        process: usize,
        take: &mut Taker<'_>,
    ) -> Result<(), MpiError> {
        let mut of = self.0.iter_mut().filter(|(from, _)| *from == process);
        if let Some((_, ring)) = of.next() {
            while let Some(came) = ring.next() {
                take(process, came)?;
            }
        }
        Ok(())
    }

    /// Whether something has come.
    pub(super) fn has_any(&self) -> bool {
        self.0.iter().any(|(_, ring)| ring.has_any())
    }

    /// What has come in part from a process that is gone never will come whole.
    pub(super) fn forget(&mut self, process: usize) {
        self.0.retain(|(from, _)| *from != process);
    }
}

impl Bedroom {
    /// Sleeps until something is written into a ring, or for so long, or until it is roused.
    /// `has_any` looks into the rings before.
    pub(super) fn sleep(&self, limit: Duration, has_any: impl FnOnce() -> bool) {
        // SeqCst, as the bell: who rouses says so before it rings.
        let has_come = || self.roused.swap(false, Ordering::SeqCst) || has_any();
        match &self.inbox {
            Some(inbox) => bell::wait(&**inbox, limit, has_come),
            None => thread::park_timeout(limit),
        }
    }

    /// Ends the sleep, or the next one.
    pub(super) fn rouse(&self) {
        self.roused.store(true, Ordering::SeqCst);
        if let Some(inbox) = &self.inbox {
            bell::ring(&**inbox);
        }
    }
}

/// Opens the ways between the processes of this machine. All processes call it; whether one
/// `shares` memory is its own business. Where no way can be opened messages go over MPI.
pub(super) fn open_ways(
    comm: &Comm,
    peers: &Peers,
    shares: bool,
) -> Result<(Senders, Receivers, Bedroom), MpiError> {
    let (own, processes) = (comm.rank(), comm.size());
    let here = peers.here();
    let layout = Layout::of(here.len());
    let token = RandomState::new().build_hasher().finish();
    let made = (shares && here.len() > 1).then(|| Made::new(layout.words()));
    let made = made.and_then(Result::ok).inspect(|made| {
        // The others read it after the exchange below.
        made.segment.words()[0].store(token, Ordering::SeqCst);
    });
    // 0: none. The numbers of files begin with 0.
    let number = made.as_ref().map_or(0, |made| made.number() + 1);
    let told = comm.allgather(&[number, token])?;
    let mut opened: Vec<Option<SharedSegment>> = (0..processes).map(|_| None).collect();
    // This process too: it may send to itself.
    for &process in &here {
        let [number, token] = [told[2 * process], told[2 * process + 1]];
        if made.is_some() && number > 0 {
            let segment = SharedSegment::open(peers.number(process), number - 1, layout.words());
            let known =
                |segment: &SharedSegment| segment.words()[0].load(Ordering::SeqCst) == token;
            opened[process] = segment.ok().filter(known);
        }
    }
    // Who has opened whose: one bit for each process. Also nobody closes a file before all have
    // looked for it.
    let mut bits = vec![0u64; processes.div_ceil(64)];
    for (process, _) in opened.iter().enumerate().filter(|(_, it)| it.is_some()) {
        bits[process / 64] |= 1 << (process % 64);
    }
    let all = comm.allgather(&bits)?;
    let has_opened = |who: usize| all[who * bits.len() + own / 64] & 1 << (own % 64) != 0;
    let inbox = made.map(|made| Arc::new(made.segment));
    let place = |of: usize| here.iter().position(|&process| process == of);
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (process, segment) in opened.into_iter().enumerate() {
        let way = match (segment, &inbox, place(own), place(process)) {
            (Some(there), Some(inbox), Some(own), Some(at)) if has_opened(process) => {
                let ring = RingReceiver::new(Arc::clone(inbox), layout.ring(at));
                receivers.push((process, ring));
                let there = Arc::new(there);
                let ring = RingSender::new(Arc::clone(&there), layout.ring(own));
                Some(Mutex::new(Outgoing {
                    ring,
                    there,
                    waiting: VecDeque::new(),
                    ended: false,
                }))
            }
            _ => None,
        };
        senders.push(way);
    }
    let senders = Senders {
        ways: senders.into(),
        waiting: AtomicUsize::new(0),
    };
    let bedroom = Bedroom {
        inbox,
        roused: AtomicBool::new(false),
    };
    Ok((senders, Receivers(receivers), bedroom))
}

/// Where the rings of a process lie in its memory.
struct Layout {
    rings: usize,
    cells: usize,
}

impl Layout {
    /// For so many processes on a machine; a ring for each, in their order.
    fn of(here: usize) -> Layout {
        let cells = INBOX / 64 / here.max(1);
        Layout {
            rings: here,
            cells: CELLS.min(1 << cells.max(16).ilog2()),
        }
    }

    fn words(&self) -> usize {
        FRONT + self.rings * ring_words(self.cells)
    }

    fn ring(&self, at: usize) -> std::ops::Range<usize> {
        let begin = FRONT + at * ring_words(self.cells);
        begin..begin + ring_words(self.cells)
    }
}

impl fmt::Debug for Senders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reached = self.ways.iter().flatten().count();
        f.debug_struct("Senders")
            .field("reached", &reached)
            .field("waiting", &self.waiting())
            .finish()
    }
}

impl fmt::Debug for Bedroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = self.inbox.is_some();
        f.debug_struct("Bedroom").field("shares", &shares).finish()
    }
}

impl fmt::Debug for Receivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.0.iter().map(|(process, _)| process);
        f.debug_list().entries(from).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_lie_apart_and_fill_the_memory() {
        for here in [2, 3, 32, 33, 100, 5000] {
            let layout = Layout::of(here);
            let mut end = FRONT;
            for at in 0..here {
                let ring = layout.ring(at);
                assert_eq!(ring.start, end);
                end = ring.end;
            }
            assert_eq!(end, layout.words());
            assert!(layout.cells.is_power_of_two() && (16..=CELLS).contains(&layout.cells));
        }
        assert_eq!(Layout::of(2).cells, CELLS);
    }
}
