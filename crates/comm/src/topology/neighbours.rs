//! The neighbours of one rank in one dimension, and one step of messages with them.

use crate::envelope::{Context as Kind, Wanted};
use crate::fabric::{Fabric, Lane, LaneReceiver, LaneSender};
use crate::rank_slot::RankWait;
use crate::report::{OWN_TAG, Operation, Wait};
use crate::{CommError, Communicator};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The two sides of a rank.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// A rank's lanes to and from its neighbours on both sides.
pub(super) struct Neighbours<'c, T: Send + 'static> {
    comm: &'c Communicator,
    links: [Option<Link<T>>; 2],
    /// A step has begun and not ended: its future was dropped.
    in_step: bool,
}

/// The lanes to and from one neighbour.
struct Link<T> {
    peer: usize,
    to: LaneSender<T>,
    from: LaneReceiver<T>,
}

/// The future of one step: what goes out to the sides, then what comes in from the sides.
#[must_use = "a step that is not awaited does not happen"]
pub(super) struct Step<'a, T: Send + 'static> {
    comm: &'a Communicator,
    links: &'a mut [Option<Link<T>>; 2],
    in_step: &'a mut bool,
    name: &'static str,
    location: &'static Location<'static>,
    stage: Stage,
    outgoing: [Option<T>; 2],
    expects: [bool; 2],
    incoming: [Option<T>; 2],
    wait: Option<RankWait<'a>>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Sends,
    Receives,
    /// It may not begin: an earlier step was not awaited to its end.
    OutOfStep,
}

impl<'c, T: Send + 'static> Neighbours<'c, T> {
    /// Makes lanes with the ranks at both sides. All ranks call this together.
    pub(super) async fn new(
        comm: &'c Communicator,
        sides: [Option<usize>; 2],
        wait: Wait,
    ) -> Result<Self, CommError> {
        let mut receivers = [None, None];
        for (side, peer) in sides.iter().enumerate() {
            let Some(peer) = *peer else { continue };
            let (sender, receiver) = Lane::<T>::open(comm.fabric().shares_thread_with(peer));
            receivers[side] = Some(receiver);
            // Told apart by side, because both neighbours may be the same rank.
            comm.send_in(Kind::Topology(side), peer, OWN_TAG, sender)?;
        }
        let mut links = [None, None];
        for (side, peer) in sides.into_iter().enumerate() {
            let (Some(peer), Some(from)) = (peer, receivers[side].take()) else {
                continue;
            };
            // What is to the left of us has us on its right.
            let context = Kind::Topology(1 - side);
            let wanted = Wanted {
                context,
                source: peer.into(),
                tag: OWN_TAG.into(),
            };
            let (to, _) = comm.recv_in(wanted, wait).await?;
            links[side] = Some(Link { peer, to, from });
        }
        Ok(Neighbours {
            comm,
            links,
            in_step: false,
        })
    }

    /// The rank on a side.
    pub(super) fn peer(&self, side: usize) -> Option<usize> {
        self.links[side].as_ref().map(|link| link.peer)
    }

    /// Sends `outgoing` to the sides and receives from the sides in `expects`. Sides without a
    /// neighbour get nothing and give nothing.
    #[inline]
    pub(super) fn step(
        &mut self,
        outgoing: [Option<T>; 2],
        expects: [bool; 2],
        name: &'static str,
        location: &'static Location<'static>,
    ) -> Step<'_, T> {
        Step {
            comm: self.comm,
            stage: if self.in_step {
                Stage::OutOfStep
            } else {
                Stage::New
            },
            links: &mut self.links,
            in_step: &mut self.in_step,
            name,
            location,
            outgoing,
            expects,
            incoming: [None, None],
            wait: None,
        }
    }
}

impl<T: Send + 'static> Step<'_, T> {
    /// Sends what can be sent; ready when all is sent.
    #[inline]
    fn poll_send(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut sent = [None, None];
        let mut blocked = None;
        for side in [LEFT, RIGHT] {
            let Some(link) = &mut self.links[side] else {
                continue;
            };
            if self.outgoing[side].is_none() {
                continue;
            }
            if !link.to.has_room() {
                blocked = Some(side);
                continue;
            }
            if let Some(value) = self.outgoing[side].take() {
                link.to.send(value);
                sent[side] = Some(link.peer);
            }
        }
        self.comm.fabric().notify(&sent);
        match blocked {
            None => Poll::Ready(()),
            Some(side) => self.poll_room(side, cx),
        }
    }

    /// Waits for room on a side; never ready by itself: the caller tries again.
    #[cold]
    fn poll_room(&mut self, side: usize, cx: &Context<'_>) -> Poll<()> {
        let Some(link) = &mut self.links[side] else {
            return Poll::Ready(());
        };
        let wait = Wait {
            operation: Operation::NeighbourRoom { peer: link.peer },
            location: self.location,
        };
        let wait = self
            .wait
            .get_or_insert_with(|| self.comm.fabric().slot().wait(wait));
        match wait.poll(cx, || link.to.has_room(), || ()) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                self.wait = None;
                self.poll_send(cx)
            }
        }
    }

    /// Receives from the sides in turn.
    #[inline]
    fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<()> {
        for side in [LEFT, RIGHT] {
            if !self.expects[side] || self.incoming[side].is_some() {
                continue;
            }
            let Some(link) = &mut self.links[side] else {
                continue;
            };
            if !link.from.has_message() {
                let operation = Operation::Neighbour {
                    peer: link.peer,
                    name: self.name,
                };
                let wait = Wait {
                    operation,
                    location: self.location,
                };
                let wait = self
                    .wait
                    .get_or_insert_with(|| self.comm.fabric().slot().wait(wait));
                if wait
                    .poll(cx, || link.from.has_message(), || ())
                    .is_pending()
                {
                    return Poll::Pending;
                }
            }
            self.wait = None;
            self.incoming[side] = Some(link.from.receive());
            if link.from.has_just_published() {
                self.comm.fabric().notify(&[Some(link.peer)]);
            }
        }
        Poll::Ready(())
    }
}

impl<T: Send + 'static> Future for Step<'_, T> {
    /// What came from the left and from the right.
    type Output = Result<[Option<T>; 2], CommError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.stage == Stage::OutOfStep {
            return Poll::Ready(Err(CommError::OutOfStep {
                operation: this.name,
            }));
        }
        if this.stage == Stage::New {
            *this.in_step = true;
            this.stage = Stage::Sends;
        }
        if this.stage == Stage::Sends {
            if this.poll_send(cx).is_pending() {
                return Poll::Pending;
            }
            this.stage = Stage::Receives;
        }
        if this.poll_receive(cx).is_pending() {
            return Poll::Pending;
        }
        *this.in_step = false;
        Poll::Ready(Ok([
            this.incoming[LEFT].take(),
            this.incoming[RIGHT].take(),
        ]))
    }
}

// Nothing in a step is pinned.
impl<T: Send + 'static> Unpin for Step<'_, T> {}

impl<T: Send + 'static> fmt::Debug for Step<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
