//! The neighbours of one rank in one dimension, and one step of messages with them.

use crate::envelope::{Context as Kind, Wanted};
use crate::fabric::{Fabric, Lane, LaneReceiver, LaneSender};
use crate::rank_slot::RankWait;
use crate::report::{OWN_TAG, Operation, Wait};
use crate::{CommError, Communicator};
use motet_sync::atomic::{Ordering, fence};
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::{Context, Poll, ready};

/// The two sides of a rank.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// A rank's lanes to and from its neighbours on both sides, and the step it is in.
///
/// The state of the step lies here and not in the future that drives it: it stays in the same cache
/// lines from step to step, and nothing is moved about.
pub(super) struct Neighbours<'c, T: Send + 'static> {
    comm: &'c Communicator,
    links: [Option<Link<T>>; 2],
    stage: Stage,
    expects: [bool; 2],
    outgoing: [Option<T>; 2],
    incoming: [Option<T>; 2],
    location: &'static Location<'static>,
    wait: RankWait,
}

/// The lanes to and from one neighbour.
struct Link<T> {
    peer: usize,
    /// Whether the neighbour shares this rank's thread.
    near: bool,
    to: LaneSender<T>,
    from: LaneReceiver<T>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its values are there; it was not polled yet.
    New,
    Sends,
    Receives,
    Ended,
}

impl<'c, T: Send + 'static> Neighbours<'c, T> {
    /// Makes lanes with the ranks at both sides. All ranks call this together.
    pub(super) async fn new(
        comm: &'c Communicator,
        sides: [Option<usize>; 2],
        wait: Wait,
    ) -> Result<Self, CommError> {
        let near = |peer| comm.fabric().shares_thread_with(peer);
        let mut receivers = [None, None];
        for (side, peer) in sides.iter().enumerate() {
            let Some(peer) = *peer else { continue };
            let (sender, receiver) = Lane::<T>::open(near(peer));
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
            links[side] = Some(Link {
                peer,
                near: near(peer),
                to,
                from,
            });
        }
        Ok(Neighbours {
            comm,
            links,
            stage: Stage::Ended,
            expects: [false; 2],
            outgoing: [None, None],
            incoming: [None, None],
            location: wait.location,
            wait: RankWait::default(),
        })
    }

    /// The rank on a side.
    pub(super) fn peer(&self, side: usize) -> Option<usize> {
        self.links[side].as_ref().map(|link| link.peer)
    }

    /// Prepares a step: `outgoing` goes to the sides, then messages come from the sides in
    /// `expects`. Sides without a neighbour get nothing and give nothing.
    #[inline]
    pub(super) fn begin(
        &mut self,
        outgoing: [Option<T>; 2],
        expects: [bool; 2],
        location: &'static Location<'static>,
    ) {
        // A step that was begun, polled and dropped keeps its stage: it is found out in `poll`.
        if matches!(self.stage, Stage::New | Stage::Ended) {
            self.stage = Stage::New;
            self.outgoing = outgoing;
        }
        self.expects = expects;
        self.location = location;
    }

    /// Drives the step; returns what came from the left and from the right. `first` says whether this
    /// is the first poll of the step's future.
    #[inline]
    pub(super) fn poll(
        &mut self,
        cx: &Context<'_>,
        first: bool,
    ) -> Poll<Result<[Option<T>; 2], CommError>> {
        if first && self.stage != Stage::New {
            return Poll::Ready(Err(CommError::OutOfStep {
                operation: self.name(),
            }));
        }
        if self.stage != Stage::Receives {
            self.stage = Stage::Sends;
            self.send();
            if self.outgoing.iter().any(Option::is_some) {
                ready!(self.poll_rooms(cx))?;
            }
            self.stage = Stage::Receives;
        }
        for side in [LEFT, RIGHT] {
            if !self.receive(side) {
                ready!(self.poll_message(side, cx))?;
            }
        }
        self.stage = Stage::Ended;
        self.wait.end(self.comm.fabric().slot());
        Poll::Ready(Ok([
            self.incoming[LEFT].take(),
            self.incoming[RIGHT].take(),
        ]))
    }

    /// Sends what can be sent.
    #[inline]
    fn send(&mut self) {
        let (mut sent, mut far) = ([false; 2], false);
        for side in [LEFT, RIGHT] {
            if self.outgoing[side].is_none() {
                continue;
            }
            let Some(link) = &mut self.links[side] else {
                self.outgoing[side] = None;
                continue;
            };
            if link.to.try_send(&mut self.outgoing[side]) {
                sent[side] = true;
                far |= !link.near;
            }
        }
        if far {
            fence(Ordering::SeqCst);
        }
        for side in [LEFT, RIGHT] {
            if sent[side]
                && let Some(link) = &self.links[side]
            {
                self.comm.fabric().wake_if_sleeping(link.peer);
            }
        }
    }

    /// Waits for room on each side where something is still to be sent.
    #[cold]
    fn poll_rooms(&mut self, cx: &Context<'_>) -> Poll<Result<(), CommError>> {
        while let Some(side) = self.outgoing.iter().position(Option::is_some) {
            let Some(link) = &mut self.links[side] else {
                break;
            };
            let slot = self.comm.fabric().slot();
            let operation = Operation::NeighbourRoom { peer: link.peer };
            let why = || Wait {
                operation,
                location: self.location,
            };
            if self
                .wait
                .poll(slot, cx, || link.to.has_room() || link.to.is_closed(), why)
                .is_pending()
            {
                return Poll::Pending;
            }
            self.wait.end(slot);
            if !link.to.has_room() {
                return Poll::Ready(Err(self.gone(side)));
            }
            self.send();
        }
        Poll::Ready(Ok(()))
    }

    /// Receives from a side; `false` when its message has not come yet.
    #[inline]
    fn receive(&mut self, side: usize) -> bool {
        if !self.expects[side] || self.incoming[side].is_some() {
            return true;
        }
        let Some(link) = &mut self.links[side] else {
            return true;
        };
        let Some((message, may_wait)) = link.from.try_receive() else {
            return false;
        };
        self.incoming[side] = Some(message);
        if may_wait {
            if !link.near {
                fence(Ordering::SeqCst);
            }
            self.comm.fabric().wake_if_sleeping(link.peer);
        }
        true
    }

    /// Waits for the message of a side and receives it.
    #[inline]
    fn poll_message(&mut self, side: usize, cx: &Context<'_>) -> Poll<Result<(), CommError>> {
        let name = self.name();
        let Some(link) = &mut self.links[side] else {
            return Poll::Ready(Ok(()));
        };
        let why = || {
            let operation = Operation::Neighbour {
                peer: link.peer,
                name,
            };
            Wait {
                operation,
                location: self.location,
            }
        };
        let slot = self.comm.fabric().slot();
        if self
            .wait
            .poll(
                slot,
                cx,
                || link.from.has_message() || link.from.is_closed(),
                why,
            )
            .is_pending()
        {
            return Poll::Pending;
        }
        self.wait.end(slot);
        if self.receive(side) {
            Poll::Ready(Ok(()))
        } else {
            Poll::Ready(Err(self.gone(side)))
        }
    }

    /// The neighbour on a side has left. The step stays where it is: later ones are out of step.
    #[cold]
    fn gone(&self, side: usize) -> CommError {
        CommError::Gone {
            peer: self.peer(side).expect("there is a neighbour on this side"),
            operation: self.name(),
        }
    }

    fn name(&self) -> &'static str {
        match self.expects {
            [true, false] => "shift_right",
            [false, true] => "shift_left",
            _ => "exchange",
        }
    }
}

/// The future of the step that [`Neighbours::begin`] has prepared; `give` makes its result of what
/// came from both sides.
#[inline]
pub(super) fn step<T: Send + 'static, R>(
    neighbours: &mut Neighbours<'_, T>,
    give: impl FnOnce([Option<T>; 2]) -> R,
) -> impl Future<Output = Result<R, CommError>> {
    /// Takes the wait off the slot's list also when the step is dropped.
    struct Step<'a, 'c, T: Send + 'static>(&'a mut Neighbours<'c, T>);
    impl<T: Send + 'static> Drop for Step<'_, '_, T> {
        #[inline]
        fn drop(&mut self) {
            if self.0.stage != Stage::Ended {
                self.0.wait.end(self.0.comm.fabric().slot());
            }
        }
    }
    let (mut first, mut give, mut step) = (true, Some(give), Step(neighbours));
    poll_fn(move |cx| {
        let Step(neighbours) = &mut step;
        let came = neighbours.poll(cx, std::mem::replace(&mut first, false));
        came.map_ok(|came| give.take().expect("a future is not polled after its end")(came))
    })
}

impl<T: Send + 'static> Drop for Neighbours<'_, T> {
    fn drop(&mut self) {
        let fabric = self.comm.fabric();
        self.wait.end(fabric.slot());
        for link in self.links.iter().flatten() {
            fabric.farewell(link.peer, link.to.closer());
            fabric.farewell(link.peer, link.from.closer());
        }
        // A receiver that goes shows all that it took: there may be room that a neighbour waits for.
        let peers = std::mem::take(&mut self.links).map(|link| link.map(|link| link.peer));
        fence(Ordering::SeqCst);
        let wake = |peer| fabric.wake_if_sleeping(peer);
        peers.into_iter().flatten().for_each(wake);
    }
}
