//! How two rings lie in memory: between neighbours of one thread, and between those of two.

use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use motet_sync::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Slots of a ring between threads; a power of two, so that message numbers may wrap round.
pub(super) const FAR: usize = if cfg!(motet_loom) { 2 } else { 8 };

/// Slots of a ring within a thread; a power of two, and so few that their number is counted in a
/// byte.
pub(super) const NEAR: usize = 4;

/// One of the rings, by where its messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// To the neighbour on the right.
    Right,
    /// To the neighbour on the left.
    Left,
}

/// Both ends are in the same cache anyway: two counts for each ring do, and there may be millions.
pub(super) struct NearRings<T> {
    sent: [AtomicU8; 2],
    taken: [AtomicU8; 2],
    closed: [AtomicBool; 2],
    opened: [AtomicBool; 2],
    values: [[SlotValue<T>; NEAR]; 2],
}

pub(super) struct FarRings<T>([FarRing<T>; 2]);

struct FarRing<T> {
    shown: CachePadded<Shown>,
    slots: [CachePadded<RingSlot<T>>; FAR],
}

/// What is written seldom.
#[derive(Default)]
struct Shown {
    taken: AtomicU32,
    closed: AtomicBool,
    opened: AtomicBool,
}

struct RingSlot<T> {
    /// Of the message it holds; the first is 1, 0 means none yet.
    number: AtomicU32,
    value: SlotValue<T>,
}

pub(super) type SlotValue<T> = UnsafeCell<MaybeUninit<T>>;

// SAFETY: a value is written by the sender before its number, and read by the receiver after it.
// The slot is written again only after the receiver has published that it took the value.
unsafe impl<T: Send> Sync for NearRings<T> {}
// SAFETY: a ring owns the values on their way.
unsafe impl<T: Send> Send for NearRings<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for FarRings<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for FarRings<T> {}

impl Toward {
    #[inline]
    pub(super) fn other(self) -> Self {
        match self {
            Toward::Right => Toward::Left,
            Toward::Left => Toward::Right,
        }
    }
}

/// What the two layouts have in common.
pub(super) trait Rings<T> {
    /// The number of slots of a ring.
    const DEPTH: u32;

    /// After how many messages the receiver publishes its progress.
    const BATCH: u32;

    /// The place of the message after `count` messages.
    fn place(&self, toward: Toward, count: u32) -> &SlotValue<T>;

    /// Whether the message after `count` messages, which were not all taken before it was sent, is
    /// there.
    fn holds(&self, toward: Toward, count: u32) -> bool;

    /// Shows the receiver the message after `count` messages.
    fn publish(&self, toward: Toward, count: u32);

    /// How many messages the receiver shows to have taken, or a number whose next slots are the
    /// same.
    fn taken(&self, toward: Toward) -> u32;

    /// Whether another message may be sent after so many, of which it was known that so many were
    /// taken.
    fn has_room(&self, toward: Toward, sent: u32, known_taken: &mut u32) -> bool;

    /// Shows the sender that so many have been taken.
    fn show_taken(&self, toward: Toward, count: u32);

    /// Whether one end is gone.
    fn closed(&self, toward: Toward) -> &AtomicBool;

    /// Whether somebody sends here, or has.
    fn opened(&self, toward: Toward) -> &AtomicBool;
}

impl<T> NearRings<T> {
    pub(super) fn new() -> Self {
        let values = |_| std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit()));
        NearRings {
            sent: [0; 2].map(AtomicU8::new),
            taken: [0; 2].map(AtomicU8::new),
            closed: [false; 2].map(AtomicBool::new),
            opened: [false; 2].map(AtomicBool::new),
            values: [(); 2].map(values),
        }
    }
}

// A count is its last byte: sender and receiver are never further apart than there are slots.
impl<T> Rings<T> for NearRings<T> {
    const DEPTH: u32 = NEAR as u32;
    const BATCH: u32 = 1;

    #[inline]
    fn place(&self, toward: Toward, count: u32) -> &SlotValue<T> {
        &self.values[toward as usize][count as usize % NEAR]
    }

    #[inline]
    fn holds(&self, toward: Toward, count: u32) -> bool {
        let sent = self.sent[toward as usize].load(Ordering::Acquire);
        (1..=NEAR as u8).contains(&sent.wrapping_sub(count as u8))
    }

    #[inline]
    fn publish(&self, toward: Toward, count: u32) {
        let sent = (count as u8).wrapping_add(1);
        self.sent[toward as usize].store(sent, Ordering::Release);
    }

    #[inline]
    fn taken(&self, toward: Toward) -> u32 {
        self.taken[toward as usize].load(Ordering::Acquire).into()
    }

    #[inline]
    fn has_room(&self, toward: Toward, sent: u32, _: &mut u32) -> bool {
        let taken = self.taken[toward as usize].load(Ordering::Acquire);
        (sent as u8).wrapping_sub(taken) < NEAR as u8
    }

    #[inline]
    fn show_taken(&self, toward: Toward, count: u32) {
        self.taken[toward as usize].store(count as u8, Ordering::Release);
    }

    #[inline]
    fn closed(&self, toward: Toward) -> &AtomicBool {
        &self.closed[toward as usize]
    }

    #[inline]
    fn opened(&self, toward: Toward) -> &AtomicBool {
        &self.opened[toward as usize]
    }
}

impl<T> FarRing<T> {
    fn new() -> Self {
        let slot = |_| {
            CachePadded::new(RingSlot {
                number: AtomicU32::new(0),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            })
        };
        FarRing {
            shown: CachePadded::default(),
            slots: std::array::from_fn(slot),
        }
    }
}

impl<T> FarRings<T> {
    pub(super) fn new() -> Self {
        FarRings([FarRing::new(), FarRing::new()])
    }

    #[inline]
    fn slot(&self, toward: Toward, count: u32) -> &RingSlot<T> {
        &self.0[toward as usize].slots[count as usize % FAR]
    }
}

impl<T> Rings<T> for FarRings<T> {
    const DEPTH: u32 = FAR as u32;
    const BATCH: u32 = FAR as u32 / 2;

    #[inline]
    fn place(&self, toward: Toward, count: u32) -> &SlotValue<T> {
        &self.slot(toward, count).value
    }

    #[inline]
    fn holds(&self, toward: Toward, count: u32) -> bool {
        let number = &self.slot(toward, count).number;
        number.load(Ordering::Acquire) == count.wrapping_add(1)
    }

    #[inline]
    fn publish(&self, toward: Toward, count: u32) {
        let number = &self.slot(toward, count).number;
        number.store(count.wrapping_add(1), Ordering::Release);
    }

    #[inline]
    fn taken(&self, toward: Toward) -> u32 {
        let taken = &self.0[toward as usize].shown.taken;
        taken.load(Ordering::Acquire)
    }

    #[inline]
    fn has_room(&self, toward: Toward, sent: u32, known_taken: &mut u32) -> bool {
        // Looked at when a batch may have been published, long before it is needed. The cache line
        // then comes while the sender waits for its own messages.
        if sent.wrapping_sub(*known_taken) >= Self::BATCH {
            *known_taken = self.taken(toward);
        }
        sent.wrapping_sub(*known_taken) < Self::DEPTH
    }

    #[inline]
    fn show_taken(&self, toward: Toward, count: u32) {
        let taken = &self.0[toward as usize].shown.taken;
        taken.store(count, Ordering::Release);
    }

    #[inline]
    fn closed(&self, toward: Toward) -> &AtomicBool {
        &self.0[toward as usize].shown.closed
    }

    #[inline]
    fn opened(&self, toward: Toward) -> &AtomicBool {
        &self.0[toward as usize].shown.opened
    }
}

impl<T> Drop for NearRings<T> {
    fn drop(&mut self) {
        drop_rest(self);
    }
}

impl<T> Drop for FarRings<T> {
    fn drop(&mut self) {
        drop_rest(self);
    }
}

/// Drops the messages that were not taken. Both ends are gone, and the receivers have published
/// exactly what they took.
fn drop_rest<T, L: Rings<T>>(rings: &L) {
    for ring in [Toward::Right, Toward::Left] {
        let mut at = rings.taken(ring);
        while rings.holds(ring, at) {
            // SAFETY: a value is there that was not taken.
            rings
                .place(ring, at)
                .with_mut(|place| unsafe { (*place).assume_init_drop() });
            at = at.wrapping_add(1);
        }
    }
}
