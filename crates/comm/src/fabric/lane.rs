//! A lane: messages of one rank to one neighbour, in padded slots fixed at creation.
//!
//! A ring of slots, each with the number of the message it holds. The sender writes the
//! value, then the number; the receiver waits for the number. In the ordinary case a message costs
//! one cache line that moves from core to core. How many messages the receiver has taken it publishes
//! only every few messages, and the sender looks at that only when half the slots may be full: so
//! that line hardly moves.
//!
//! A lane between ranks of the same thread is not padded: it lies in a line or two, and its receiver
//! publishes each message it takes.
//!
//! Memory order: the store of the number releases the value to the receiver; the store of `taken`
//! releases the slot to the sender.

use motet_sync::atomic::{AtomicU32, Ordering};
use motet_sync::cell::UnsafeCell;
use motet_sync::{Arc, CachePadded};
use std::mem::MaybeUninit;

/// Slots of a lane between threads; a power of two, so that message numbers may wrap round.
const FAR: usize = if cfg!(motet_loom) { 2 } else { 8 };

/// Slots of a lane within a thread; a power of two.
const NEAR: usize = 4;

pub(crate) enum Lane<T> {
    /// Between ranks of one thread.
    Near {
        taken: AtomicU32,
        slots: [Slot<T>; NEAR],
    },
    /// Between ranks of two threads.
    Far {
        taken: CachePadded<AtomicU32>,
        slots: [CachePadded<Slot<T>>; FAR],
    },
}

pub(crate) struct Slot<T> {
    /// The number of the message in the slot; the first is 1, 0 means none yet.
    number: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// The sending end. There is one.
pub(crate) struct LaneSender<T> {
    lane: Arc<Lane<T>>,
    sent: u32,
    known_taken: u32,
}

/// The receiving end. There is one.
pub(crate) struct LaneReceiver<T> {
    lane: Arc<Lane<T>>,
    received: u32,
}

// SAFETY: a value is written by the sender before its number, read by the receiver after it; the
// slot is written again only after the receiver has published that it took the value.
unsafe impl<T: Send> Sync for Lane<T> {}
// SAFETY: a lane owns the values on their way.
unsafe impl<T: Send> Send for Lane<T> {}

impl<T: Send> Lane<T> {
    /// A new lane; `near` when both ranks share a thread.
    pub(crate) fn open(near: bool) -> (LaneSender<T>, LaneReceiver<T>) {
        let slot = |_| Slot {
            number: AtomicU32::new(0),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        let lane = Arc::new(if near {
            Lane::Near {
                taken: AtomicU32::new(0),
                slots: std::array::from_fn(slot),
            }
        } else {
            let slots = std::array::from_fn(|i| CachePadded::new(slot(i)));
            Lane::Far {
                taken: CachePadded::new(AtomicU32::new(0)),
                slots,
            }
        });
        let sender = LaneSender {
            lane: Arc::clone(&lane),
            sent: 0,
            known_taken: 0,
        };
        (sender, LaneReceiver { lane, received: 0 })
    }
}

impl<T> Lane<T> {
    /// The slot of the message after `count` messages.
    #[inline]
    fn slot(&self, count: u32) -> &Slot<T> {
        match self {
            Lane::Near { slots, .. } => &slots[count as usize % NEAR],
            Lane::Far { slots, .. } => &slots[count as usize % FAR],
        }
    }

    #[inline]
    fn taken(&self) -> &AtomicU32 {
        match self {
            Lane::Near { taken, .. } => taken,
            Lane::Far { taken, .. } => taken,
        }
    }

    /// The number of slots, and after how many messages the receiver publishes its progress.
    #[inline]
    fn depth_and_batch(&self) -> (u32, u32) {
        match self {
            Lane::Near { .. } => (NEAR as u32, 1),
            Lane::Far { .. } => (FAR as u32, FAR as u32 / 2),
        }
    }
}

impl<T: Send> LaneSender<T> {
    /// Whether another message may be sent.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        let (depth, batch) = self.lane.depth_and_batch();
        // Looked at when a batch may have been published, long before it is needed: the cache line
        // then comes while the rank waits for its own messages.
        if self.sent.wrapping_sub(self.known_taken) >= batch {
            self.known_taken = self.lane.taken().load(Ordering::Acquire);
        }
        self.sent.wrapping_sub(self.known_taken) < depth
    }

    /// Sends a message.
    ///
    /// # Panics
    /// When there is no room.
    #[inline]
    pub(crate) fn send(&mut self, value: T) {
        let (depth, _) = self.lane.depth_and_batch();
        assert!(
            self.sent.wrapping_sub(self.known_taken) < depth,
            "the caller has seen room"
        );
        let slot = self.lane.slot(self.sent);
        // SAFETY: the receiver has taken the message that was in this slot, and there is one sender.
        slot.value
            .with_mut(|place| unsafe { (*place).write(value) });
        self.sent = self.sent.wrapping_add(1);
        slot.number.store(self.sent, Ordering::Release);
    }
}

impl<T: Send> LaneReceiver<T> {
    /// Whether a message is there.
    #[inline]
    pub(crate) fn has_message(&self) -> bool {
        let next = self.received.wrapping_add(1);
        self.lane.slot(self.received).number.load(Ordering::Acquire) == next
    }

    /// Takes the message that is there.
    ///
    /// # Panics
    /// When none is.
    #[inline]
    pub(crate) fn receive(&mut self) -> T {
        assert!(self.has_message(), "the caller has seen a message");
        let slot = self.lane.slot(self.received);
        // SAFETY: the number says that the value is there; it is read once, as `received` goes on.
        let value = slot
            .value
            .with_mut(|place| unsafe { (*place).assume_init_read() });
        self.received = self.received.wrapping_add(1);
        if self.has_just_published() {
            self.lane.taken().store(self.received, Ordering::Release);
        }
        value
    }

    /// Whether the last message taken showed the sender new room; it may wait for that.
    #[inline]
    pub(crate) fn has_just_published(&self) -> bool {
        self.received.is_multiple_of(self.lane.depth_and_batch().1)
    }
}

impl<T> Drop for LaneReceiver<T> {
    fn drop(&mut self) {
        self.lane.taken().store(self.received, Ordering::Release);
    }
}

impl<T> Drop for Lane<T> {
    fn drop(&mut self) {
        // Both ends are gone, and the receiver has published exactly what it took.
        let mut at = self.taken().load(Ordering::Acquire);
        while self.slot(at).number.load(Ordering::Acquire) == at.wrapping_add(1) {
            // SAFETY: the number says that a value is there that was not taken.
            self.slot(at)
                .value
                .with_mut(|place| unsafe { (*place).assume_init_drop() });
            at = at.wrapping_add(1);
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn order_room_and_rest() {
        for near in [true, false] {
            let alive = Arc::new(());
            let (mut sender, mut receiver) = Lane::open(near);
            let (depth, _) = sender.lane.depth_and_batch();
            for round in 0..100u32 {
                assert!(!receiver.has_message());
                for i in 0..depth {
                    assert!(sender.has_room());
                    sender.send((round, i, Arc::clone(&alive)));
                }
                assert!(!sender.has_room());
                for i in 0..depth {
                    assert!(receiver.has_message());
                    let (r, n, _) = receiver.receive();
                    assert_eq!((r, n), (round, i));
                }
            }
            for i in 0..3 {
                assert!(sender.has_room());
                sender.send((0, i, Arc::clone(&alive)));
            }
            drop(receiver.receive());
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
        let (mut sender, mut receiver) = Lane::open(true);
        (sender.sent, sender.known_taken, receiver.received) =
            (u32::MAX - 3, u32::MAX - 3, u32::MAX - 3);
        sender.lane.taken().store(u32::MAX - 3, Ordering::Relaxed);
        for i in 0..20 {
            assert!(sender.has_room());
            sender.send(i);
            assert_eq!(receiver.receive(), i);
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::thread;

    /// Five messages through two slots: in order, nothing read too early, no slot written too early.
    #[test]
    fn loom_lane() {
        loom::model(|| {
            let (mut sender, mut receiver) = Lane::open(false);
            let other = thread::spawn(move || {
                for i in 0..5 {
                    while !sender.has_room() {
                        thread::yield_now();
                    }
                    sender.send(Box::new(i));
                }
            });
            for i in 0..4 {
                while !receiver.has_message() {
                    thread::yield_now();
                }
                assert_eq!(*receiver.receive(), i);
            }
            drop(receiver);
            other.join().unwrap();
        });
    }
}
