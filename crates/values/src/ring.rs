//! Rings: the messages of two neighbours to each other, in slots fixed at creation.
//!
//! Each of the two has slots in turn, each with the number of the message it holds. The
//! sender writes the value, then the number; the receiver waits for the number. In the ordinary
//! case a message costs one cache line that moves from core to core. The receiver publishes how
//! many messages it has taken only every few messages. The sender looks at that only when half the
//! slots may be full. So that line hardly moves.
//!
//! Rings between neighbours of the same thread are not padded and their messages have no numbers. A
//! count of those sent and a count of those taken do instead. Both ends publish their count with
//! each message.
//!
//! Memory order: the store of the number, or of the count, releases the value to the receiver. The
//! store of `taken` releases the slot to the sender. Who is gone for good has closed both rings.
//! These stores release the messages before them, so that who sees the close and no message knows
//! that none will come.

mod layout;

pub use layout::Toward;

use layout::{FarRings, NearRings, Rings};
use motet_sync::Arc;
use motet_sync::atomic::Ordering;
use std::fmt;

/// The two rings between somebody and the neighbour on the right, to be given to both, who make
/// their [ends](RingEnds) of it.
pub struct Edge<T>(EdgeRings<T>);

/// In one of two layouts. What both ends share is behind it, so that rings within a thread take no
/// more memory than they need.
enum EdgeRings<T> {
    /// Between neighbours of one thread.
    Near(Arc<NearRings<T>>),
    /// Between neighbours of two threads.
    Far(Arc<FarRings<T>>),
}

impl<T> Clone for Edge<T> {
    fn clone(&self) -> Self {
        Edge(match &self.0 {
            EdgeRings::Near(rings) => EdgeRings::Near(Arc::clone(rings)),
            EdgeRings::Far(rings) => EdgeRings::Far(Arc::clone(rings)),
        })
    }
}

impl<T> fmt::Debug for Edge<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = matches!(self.0, EdgeRings::Near(_));
        let mut edge = f.debug_struct("Edge");
        edge.field("near", &near).finish_non_exhaustive()
    }
}

/// What one of the two neighbours has of their rings: it sends on one and receives on the other.
///
/// ```
/// use motet_values::ring::{Edge, RingEnds, Toward};
///
/// let edge = Edge::new(false);
/// let mut left = RingEnds::new(edge.clone(), Toward::Right);
/// let mut right = RingEnds::new(edge, Toward::Left);
/// let mut message = Some("hello");
/// assert!(left.try_send(&mut message) && message.is_none());
/// assert_eq!(right.try_receive().map(|(came, _)| came), Some("hello"));
/// assert!(!left.has_message());
/// ```
pub struct RingEnds<T>(Ends<T>);

enum Ends<T> {
    // The same twice, beside the tag: it takes less memory than a tag beside one of them.
    Near {
        rings: Arc<NearRings<T>>,
        /// The ring on which it sends.
        out: Toward,
        sent: u32,
        known_taken: u32,
        received: u32,
    },
    Far {
        rings: Arc<FarRings<T>>,
        out: Toward,
        sent: u32,
        known_taken: u32,
        received: u32,
    },
}

impl<T: Send> Edge<T> {
    /// New rings; `near` when both neighbours share a thread. The neighbour on the left makes ends
    /// of them that send towards the right, the other those that send towards the left.
    #[must_use]
    pub fn new(near: bool) -> Self {
        Edge(match near {
            true => EdgeRings::Near(Arc::new(NearRings::new())),
            false => EdgeRings::Far(Arc::new(FarRings::new())),
        })
    }

    fn close(&self) {
        for toward in [Toward::Right, Toward::Left] {
            let closed = match &self.0 {
                EdgeRings::Near(rings) => rings.closed(toward),
                EdgeRings::Far(rings) => rings.closed(toward),
            };
            closed.store(true, Ordering::Release);
        }
    }

    /// Whether these ends are opened for the first time.
    fn open(&self, out: Toward) -> bool {
        let opened = match &self.0 {
            EdgeRings::Near(rings) => rings.opened(out),
            EdgeRings::Far(rings) => rings.opened(out),
        };
        // Relaxed: who is the first needs no order.
        !opened.swap(true, Ordering::Relaxed)
    }
}

/// Closes rings; the other end must then be woken.
pub type Closer = Box<dyn FnOnce() + Send>;

/// Runs the same code for either layout, so that each is compiled by itself.
macro_rules! each_layout {
    ($ends:expr, $($field:ident),+ => $call:expr) => {
        match $ends {
            Ends::Near { $($field,)+ .. } => $call,
            Ends::Far { $($field,)+ .. } => $call,
        }
    };
}

impl<T: Send> RingEnds<T> {
    /// The ends of who sends that way.
    ///
    /// # Panics
    /// There are such ends already: a ring has one sender and one receiver.
    #[must_use]
    pub fn new(edge: Edge<T>, out: Toward) -> Self {
        assert!(edge.open(out), "each neighbour opens its ends once");
        let (sent, known_taken, received) = (0, 0, 0);
        RingEnds(match edge.0 {
            EdgeRings::Near(rings) => Ends::Near {
                rings,
                out,
                sent,
                known_taken,
                received,
            },
            EdgeRings::Far(rings) => Ends::Far {
                rings,
                out,
                sent,
                known_taken,
                received,
            },
        })
    }

    /// Whether both neighbours share a thread.
    #[inline]
    #[must_use]
    pub fn is_near(&self) -> bool {
        matches!(self.0, Ends::Near { .. })
    }

    /// Whether another message may be sent.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        each_layout!(&mut self.0, rings, out, sent, known_taken => {
            rings.has_room(*out, *sent, known_taken)
        })
    }

    /// Sends the message, if there is one and there is room for it.
    #[inline]
    pub fn try_send(&mut self, message: &mut Option<T>) -> bool {
        each_layout!(&mut self.0, rings, out, sent, known_taken => {
            try_send(&**rings, *out, sent, known_taken, message)
        })
    }

    /// Whether a message is there.
    #[inline]
    pub fn has_message(&self) -> bool {
        each_layout!(&self.0, rings, out, received => rings.holds(out.other(), *received))
    }

    /// Takes the message that is there; and whether its sender may wait for the room that this has
    /// shown it.
    #[inline]
    pub fn try_receive(&mut self) -> Option<(T, bool)> {
        each_layout!(&mut self.0, rings, out, received => {
            try_receive(&**rings, out.other(), received)
        })
    }

    /// Whether the receiver of what is sent here is gone for good.
    pub fn is_receiver_gone(&self) -> bool {
        each_layout!(&self.0, rings, out => rings.closed(*out).load(Ordering::Acquire))
    }

    /// Whether the sender is gone for good; the messages that it sent before are there.
    pub fn is_sender_gone(&self) -> bool {
        each_layout!(&self.0, rings, out => rings.closed(out.other()).load(Ordering::Acquire))
    }

    /// What tells the neighbour that this one is gone for good.
    pub fn closer(&self) -> Closer
    where
        T: 'static,
    {
        let edge = Edge(match &self.0 {
            Ends::Near { rings, .. } => EdgeRings::Near(Arc::clone(rings)),
            Ends::Far { rings, .. } => EdgeRings::Far(Arc::clone(rings)),
        });
        Box::new(move || edge.close())
    }
}

#[inline]
fn try_send<T, L: Rings<T>>(
    rings: &L,
    out: Toward,
    sent: &mut u32,
    known_taken: &mut u32,
    message: &mut Option<T>,
) -> bool {
    if !rings.has_room(out, *sent, known_taken) {
        return false;
    }
    let Some(value) = message.take() else {
        return false;
    };
    // SAFETY: the receiver has taken the message that was there, and there is one sender.
    rings
        .place(out, *sent)
        .with_mut(|place| unsafe { (*place).write(value) });
    rings.publish(out, *sent);
    *sent = sent.wrapping_add(1);
    true
}

#[inline]
fn try_receive<T, L: Rings<T>>(rings: &L, ring: Toward, received: &mut u32) -> Option<(T, bool)> {
    if !rings.holds(ring, *received) {
        return None;
    }
    // SAFETY: the value is there; it is read once, as `received` goes on.
    let value = rings
        .place(ring, *received)
        .with_mut(|place| unsafe { (*place).assume_init_read() });
    // A sender that sees each message being taken waits only when all slots are taken.
    let may_wait = L::BATCH > 1 || rings.holds(ring, received.wrapping_add(L::DEPTH - 1));
    *received = received.wrapping_add(1);
    if !received.is_multiple_of(L::BATCH) {
        return Some((value, false));
    }
    rings.show_taken(ring, *received);
    Some((value, may_wait))
}

impl<T> fmt::Debug for RingEnds<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (near, out) = match &self.0 {
            Ends::Near { out, .. } => (true, out),
            Ends::Far { out, .. } => (false, out),
        };
        let mut ends = f.debug_struct("RingEnds");
        ends.field("near", &near).field("out", out);
        ends.finish_non_exhaustive()
    }
}

impl<T> Drop for RingEnds<T> {
    /// A receiver that goes shows all that it has taken.
    fn drop(&mut self) {
        each_layout!(&self.0, rings, out, received => rings.show_taken(out.other(), *received));
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::layout::{FAR, NEAR};
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Of the neighbour on the left, and of the one on the right.
    fn open<T: Send>(near: bool) -> (RingEnds<T>, RingEnds<T>) {
        let edge = Edge::new(near);
        let left = RingEnds::new(edge.clone(), Toward::Right);
        (left, RingEnds::new(edge, Toward::Left))
    }

    fn send<T: Send>(sender: &mut RingEnds<T>, value: T) {
        assert!(sender.has_room() && sender.try_send(&mut Some(value)));
    }

    #[test]
    fn there_may_be_millions() {
        assert_eq!(size_of::<RingEnds<f64>>(), 24);
        assert_eq!(size_of::<NearRings<f64>>(), 72);
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
                assert!(!sender.has_message(), "the rings are apart");
                for i in 0..depth {
                    let ((r, n, _), may_wait) = receiver.try_receive().unwrap();
                    assert_eq!((r, n), (round, i));
                    let shown = (i + 1).is_multiple_of(batch);
                    assert_eq!(may_wait, shown && (!near || i == 0), "{near} {i}");
                }
            }
            (0..2).for_each(|i| send(&mut sender, (0, i, Arc::clone(&alive))));
            send(&mut receiver, (0, 0, Arc::clone(&alive)));
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
            let (mut left, mut right) = open(near);
            for ends in [&mut left, &mut right] {
                each_layout!(&mut ends.0, rings, out, sent, known_taken, received => {
                    (*sent, *known_taken, *received) = (START, START, START);
                    rings.show_taken(*out, START);
                });
            }
            for i in 0..400 {
                let (sender, receiver) = match i % 2 {
                    0 => (&mut left, &mut right),
                    _ => (&mut right, &mut left),
                };
                send(sender, i);
                let came = receiver.try_receive();
                assert_eq!(came.map(|came| came.0), Some(i));
                assert!(receiver.try_receive().is_none());
            }
        }
    }

    #[test]
    fn ends_are_opened_once() {
        for near in [true, false] {
            let edge = Edge::<u8>::new(near);
            let left = RingEnds::new(edge.clone(), Toward::Right);
            drop(left);
            let again = AssertUnwindSafe(|| RingEnds::new(edge.clone(), Toward::Right));
            let again = catch_unwind(again);
            assert!(again.is_err(), "{near}");
            drop(RingEnds::new(edge, Toward::Left));
        }
    }

    #[test]
    fn who_is_gone_has_closed_both_rings() {
        for near in [true, false] {
            let (left, right) = open::<()>(near);
            assert!(!right.is_receiver_gone() && !right.is_sender_gone());
            let close = left.closer();
            drop(left);
            assert!(!right.is_receiver_gone() && !right.is_sender_gone());
            close();
            assert!(right.is_receiver_gone() && right.is_sender_gone());
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::thread;

    /// Five messages through two slots: in order, nothing read too early, no slot written too
    /// early.
    #[test]
    fn loom_ring() {
        loom::model(|| {
            let edge = Edge::new(false);
            let mut sender = RingEnds::new(edge.clone(), Toward::Right);
            let mut receiver = RingEnds::new(edge, Toward::Left);
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
