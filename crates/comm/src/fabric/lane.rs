//! A lane: messages of one rank to one neighbour, in padded slots fixed at creation.
//!
//! A ring of slots, each with the number of the message it holds. The sender writes the
//! value, then the number; the receiver waits for the number. In the ordinary case a message costs
//! one cache line that moves from core to core. How many messages the receiver has taken it publishes
//! only every few messages, and the sender looks at that only when half the slots may be full: so
//! that line hardly moves.
//!
//! A lane between ranks of the same thread is not padded and its messages have no numbers: a count of
//! those sent and a count of those taken do, which both ends publish with each message.
//!
//! Memory order: the store of the number, or of the count, releases the value to the receiver; the
//! store of `taken` releases the slot to the sender. An end that is gone for good has its lane closed: that
//! store releases the messages before it, so that who sees it and no message knows that none will come.

use motet_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use motet_sync::cell::UnsafeCell;
use motet_sync::{Arc, CachePadded};
use std::mem::MaybeUninit;

/// Slots of a lane between threads; a power of two, so that message numbers may wrap round.
const FAR: usize = if cfg!(motet_loom) { 2 } else { 8 };

/// Slots of a lane within a thread; a power of two.
const NEAR: usize = 4;

/// One of two layouts. What both ends share is behind it, so that a lane within a thread takes no more
/// memory than it needs.
pub(crate) enum Lane<T> {
    /// Between ranks of one thread.
    Near(Arc<NearLane<T>>),
    /// Between ranks of two threads.
    Far(Arc<FarLane<T>>),
}

/// Both ends are in the same cache anyway: two counts do, and with small values the lane is a line long.
pub(crate) struct NearLane<T> {
    sent: AtomicU32,
    taken: AtomicU32,
    closed: AtomicBool,
    values: [Value<T>; NEAR],
}

pub(crate) struct FarLane<T> {
    shown: CachePadded<Shown>,
    slots: [CachePadded<Slot<T>>; FAR],
}

/// What is written seldom.
#[derive(Default)]
struct Shown {
    taken: AtomicU32,
    closed: AtomicBool,
}

struct Slot<T> {
    /// Of the message it holds; the first is 1, 0 means none yet.
    number: AtomicU32,
    value: Value<T>,
}

type Value<T> = UnsafeCell<MaybeUninit<T>>;

impl<T> Clone for Lane<T> {
    fn clone(&self) -> Self {
        match self {
            Lane::Near(lane) => Lane::Near(Arc::clone(lane)),
            Lane::Far(lane) => Lane::Far(Arc::clone(lane)),
        }
    }
}

/// The sending end. There is one.
pub(crate) struct LaneSender<T> {
    lane: Lane<T>,
    sent: u32,
    known_taken: u32,
}

/// The receiving end. There is one.
pub(crate) struct LaneReceiver<T> {
    lane: Lane<T>,
    received: u32,
}

// SAFETY: a value is written by the sender before its number, read by the receiver after it; the
// slot is written again only after the receiver has published that it took the value.
unsafe impl<T: Send> Sync for NearLane<T> {}
// SAFETY: a lane owns the values on their way.
unsafe impl<T: Send> Send for NearLane<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for FarLane<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for FarLane<T> {}

impl<T: Send> Lane<T> {
    /// A new lane; `near` when both ranks share a thread. One rank makes its sending end, one its receiving
    /// end.
    pub(crate) fn new(near: bool) -> Self {
        if near {
            Lane::Near(Arc::new(NearLane::new()))
        } else {
            Lane::Far(Arc::new(FarLane::new()))
        }
    }
}

impl<T: Send> LaneSender<T> {
    pub(crate) fn new(lane: Lane<T>) -> Self {
        LaneSender {
            lane,
            sent: 0,
            known_taken: 0,
        }
    }
}

impl<T: Send> LaneReceiver<T> {
    pub(crate) fn new(lane: Lane<T>) -> Self {
        LaneReceiver { lane, received: 0 }
    }
}

impl<T: Send + 'static> Lane<T> {
    fn closer(&self) -> Closer {
        let lane = self.clone();
        Box::new(move || {
            let closed = match &lane {
                Lane::Near(lane) => lane.closed(),
                Lane::Far(lane) => lane.closed(),
            };
            closed.store(true, Ordering::Release);
        })
    }
}

/// Closes a lane; the other end must then be woken.
pub(crate) type Closer = Box<dyn FnOnce() + Send>;

/// What the two layouts have in common.
trait Slots<T> {
    /// The number of slots.
    const DEPTH: u32;

    /// After how many messages the receiver publishes its progress.
    const BATCH: u32;

    /// The place of the message after `count` messages.
    fn place(&self, count: u32) -> &Value<T>;

    /// Whether the message after `count` messages, which were not all taken before it was sent, is there.
    fn holds(&self, count: u32) -> bool;

    /// Shows the receiver the message after `count` messages.
    fn publish(&self, count: u32);

    fn taken(&self) -> &AtomicU32;

    /// Whether one end is gone.
    fn closed(&self) -> &AtomicBool;
}

impl<T> NearLane<T> {
    fn new() -> Self {
        NearLane {
            sent: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            closed: AtomicBool::new(false),
            values: std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
        }
    }
}

impl<T> Slots<T> for NearLane<T> {
    const DEPTH: u32 = NEAR as u32;
    const BATCH: u32 = 1;

    #[inline]
    fn place(&self, count: u32) -> &Value<T> {
        &self.values[count as usize % NEAR]
    }

    #[inline]
    fn holds(&self, count: u32) -> bool {
        let ahead = self.sent.load(Ordering::Acquire).wrapping_sub(count);
        (1..=NEAR as u32).contains(&ahead)
    }

    #[inline]
    fn publish(&self, count: u32) {
        self.sent.store(count.wrapping_add(1), Ordering::Release);
    }

    #[inline]
    fn taken(&self) -> &AtomicU32 {
        &self.taken
    }

    #[inline]
    fn closed(&self) -> &AtomicBool {
        &self.closed
    }
}

impl<T> FarLane<T> {
    fn new() -> Self {
        let slot = |_| {
            CachePadded::new(Slot {
                number: AtomicU32::new(0),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            })
        };
        FarLane {
            shown: CachePadded::default(),
            slots: std::array::from_fn(slot),
        }
    }
}

impl<T> Slots<T> for FarLane<T> {
    const DEPTH: u32 = FAR as u32;
    const BATCH: u32 = FAR as u32 / 2;

    #[inline]
    fn place(&self, count: u32) -> &Value<T> {
        &self.slots[count as usize % FAR].value
    }

    #[inline]
    fn holds(&self, count: u32) -> bool {
        let slot = &self.slots[count as usize % FAR];
        slot.number.load(Ordering::Acquire) == count.wrapping_add(1)
    }

    #[inline]
    fn publish(&self, count: u32) {
        let slot = &self.slots[count as usize % FAR];
        slot.number.store(count.wrapping_add(1), Ordering::Release);
    }

    #[inline]
    fn taken(&self) -> &AtomicU32 {
        &self.shown.taken
    }

    #[inline]
    fn closed(&self) -> &AtomicBool {
        &self.shown.closed
    }
}

/// Runs the same code for either layout, so that each is compiled by itself.
macro_rules! each_layout {
    ($ends:expr, $lane:ident => $call:expr) => {
        match &$ends.lane {
            Lane::Near($lane) => $call,
            Lane::Far($lane) => $call,
        }
    };
}

impl<T: Send> LaneSender<T> {
    /// Whether another message may be sent.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        each_layout!(self, lane => has_room(&**lane, self.sent, &mut self.known_taken))
    }

    /// Sends the message, if there is one and there is room for it.
    #[inline]
    pub(crate) fn try_send(&mut self, message: &mut Option<T>) -> bool {
        each_layout!(self, lane => {
            try_send(&**lane, &mut self.sent, &mut self.known_taken, message)
        })
    }

    /// Whether the receiving end is gone for good.
    pub(crate) fn is_closed(&self) -> bool {
        each_layout!(self, lane => lane.closed().load(Ordering::Acquire))
    }

    /// What tells the receiving end that this one is gone for good.
    pub(crate) fn closer(&self) -> Closer
    where
        T: 'static,
    {
        self.lane.closer()
    }
}

impl<T: Send> LaneReceiver<T> {
    /// Whether a message is there.
    #[inline]
    pub(crate) fn has_message(&self) -> bool {
        each_layout!(self, lane => lane.holds(self.received))
    }

    /// Takes the message that is there; and whether its sender may wait for the room that this has shown
    /// it.
    #[inline]
    pub(crate) fn try_receive(&mut self) -> Option<(T, bool)> {
        each_layout!(self, lane => try_receive(&**lane, &mut self.received))
    }

    /// Whether the sending end is gone for good; the messages that it sent before are there.
    pub(crate) fn is_closed(&self) -> bool {
        each_layout!(self, lane => lane.closed().load(Ordering::Acquire))
    }

    /// What tells the sending end that this one is gone for good.
    pub(crate) fn closer(&self) -> Closer
    where
        T: 'static,
    {
        self.lane.closer()
    }
}

#[inline]
fn has_room<T, L: Slots<T>>(lane: &L, sent: u32, known_taken: &mut u32) -> bool {
    // Looked at when a batch may have been published, long before it is needed: the cache line
    // then comes while the rank waits for its own messages.
    if sent.wrapping_sub(*known_taken) >= L::BATCH {
        *known_taken = lane.taken().load(Ordering::Acquire);
    }
    sent.wrapping_sub(*known_taken) < L::DEPTH
}

#[inline]
fn try_send<T, L: Slots<T>>(
    lane: &L,
    sent: &mut u32,
    known_taken: &mut u32,
    message: &mut Option<T>,
) -> bool {
    if !has_room(lane, *sent, known_taken) {
        return false;
    }
    let Some(value) = message.take() else {
        return false;
    };
    // SAFETY: the receiver has taken the message that was there, and there is one sender.
    lane.place(*sent)
        .with_mut(|place| unsafe { (*place).write(value) });
    lane.publish(*sent);
    *sent = sent.wrapping_add(1);
    true
}

#[inline]
fn try_receive<T, L: Slots<T>>(lane: &L, received: &mut u32) -> Option<(T, bool)> {
    if !lane.holds(*received) {
        return None;
    }
    // SAFETY: the value is there; it is read once, as `received` goes on.
    let value = lane
        .place(*received)
        .with_mut(|place| unsafe { (*place).assume_init_read() });
    // A sender that sees each message being taken waits only when all slots are taken.
    let may_wait = L::BATCH > 1 || lane.holds(received.wrapping_add(L::DEPTH - 1));
    *received = received.wrapping_add(1);
    if !received.is_multiple_of(L::BATCH) {
        return Some((value, false));
    }
    lane.taken().store(*received, Ordering::Release);
    Some((value, may_wait))
}

impl<T> Drop for LaneReceiver<T> {
    fn drop(&mut self) {
        each_layout!(self, lane => lane.taken().store(self.received, Ordering::Release));
    }
}

impl<T> Drop for NearLane<T> {
    fn drop(&mut self) {
        drop_rest(self);
    }
}

impl<T> Drop for FarLane<T> {
    fn drop(&mut self) {
        drop_rest(self);
    }
}

/// Drops the messages that were not taken. Both ends are gone, and the receiver has published exactly what
/// it took.
fn drop_rest<T, L: Slots<T>>(lane: &L) {
    let mut at = lane.taken().load(Ordering::Acquire);
    while lane.holds(at) {
        // SAFETY: a value is there that was not taken.
        lane.place(at)
            .with_mut(|place| unsafe { (*place).assume_init_drop() });
        at = at.wrapping_add(1);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    fn open<T: Send>(near: bool) -> (LaneSender<T>, LaneReceiver<T>) {
        let lane = Lane::new(near);
        (LaneSender::new(lane.clone()), LaneReceiver::new(lane))
    }

    fn send<T: Send>(sender: &mut LaneSender<T>, value: T) {
        assert!(sender.has_room() && sender.try_send(&mut Some(value)));
    }

    #[test]
    fn order_room_and_rest() {
        for near in [true, false] {
            let alive = Arc::new(());
            let (mut sender, mut receiver) = open(near);
            let (depth, batch) = if near {
                (NEAR as u32, 1)
            } else {
                (FAR as u32, FAR as u32 / 2)
            };
            for round in 0..100u32 {
                assert!(!receiver.has_message() && receiver.try_receive().is_none());
                for i in 0..depth {
                    send(&mut sender, (round, i, Arc::clone(&alive)));
                }
                let mut more = Some((round, depth, Arc::clone(&alive)));
                assert!(!sender.has_room() && !sender.try_send(&mut more));
                assert!(more.is_some(), "it stays with the sender");
                for i in 0..depth {
                    let ((r, n, _), may_wait) = receiver.try_receive().unwrap();
                    assert_eq!((r, n), (round, i));
                    let shown = (i + 1).is_multiple_of(batch);
                    assert_eq!(may_wait, shown && (!near || i == 0), "{near} {i}");
                }
            }
            (0..2).for_each(|i| send(&mut sender, (0, i, Arc::clone(&alive))));
            drop(receiver.try_receive());
            drop((sender, receiver));
            assert_eq!(
                Arc::strong_count(&alive),
                1,
                "messages on their way are dropped"
            );
        }
    }

    #[test]
    fn numbers_wrap_round() {
        const START: u32 = u32::MAX - 13;
        for near in [true, false] {
            let (mut sender, mut receiver) = open(near);
            (sender.sent, sender.known_taken, receiver.received) = (START, START, START);
            each_layout!(sender, lane => lane.taken().store(START, Ordering::Relaxed));
            for i in 0..40 {
                send(&mut sender, i);
                let came = receiver.try_receive();
                assert_eq!(came.map(|came| came.0), Some(i));
                assert!(receiver.try_receive().is_none());
            }
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::thread;

    fn open<T: Send>(near: bool) -> (LaneSender<T>, LaneReceiver<T>) {
        let lane = Lane::new(near);
        (LaneSender::new(lane.clone()), LaneReceiver::new(lane))
    }

    /// Five messages through two slots: in order, nothing read too early, no slot written too early.
    #[test]
    fn loom_lane() {
        loom::model(|| {
            let (mut sender, mut receiver) = open(false);
            let other = thread::spawn(move || {
                for i in 0..5 {
                    let mut message = Some(Box::new(i));
                    while !sender.try_send(&mut message) {
                        thread::yield_now();
                    }
                }
            });
            for i in 0..4 {
                let came = loop {
                    match receiver.try_receive() {
                        Some((came, _)) => break came,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(*came, i);
            }
            drop(receiver);
            other.join().unwrap();
        });
    }
}
