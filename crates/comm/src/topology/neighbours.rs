//! The neighbours of one rank in one dimension, and one step of messages with them.

mod step;

pub(super) use step::step;

use super::link::{NeighbourLink, Posts};
use crate::address::Tag;
use crate::collective_call::{Collective, CollectiveCall, Startable};
use crate::collective_part::CollectivePart;
use crate::fabric::{Edge, RankCall, RingEnds, Toward};
use crate::rank_slot::{RankSlot, RankWait};
use crate::report::WaitOperation;
use crate::{CommError, Communicator, Value};
use motet_sync::atomic::{Ordering, fence};
use std::marker::PhantomData;
use std::panic::Location;
use std::task::{Context, Poll, ready};

/// The two sides of a rank.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// A rank's rings to and from its neighbours on both sides, and the step it is in.
///
/// The state of the step lies here and not in the future that drives it. It stays in the same cache
/// lines from step to step, and nothing is moved about.
pub(super) struct Neighbours<'c, T: Value> {
    comm: &'c Communicator,
    links: [Option<Link<'c, T>>; 2],
    stage: Stage,
    expects: [bool; 2],
    outgoing: [Option<T>; 2],
    incoming: [Option<T>; 2],
    location: &'static Location<'static>,
    wait: RankWait,
    /// The recorder has been told of the step.
    entered: bool,
}

/// What joins a rank to one neighbour.
struct Link<'c, T> {
    way: NeighbourLink<'c, T>,
    /// Where the neighbour waits; this rank's own where it lives in another process and is not
    /// woken from here.
    slot: &'c RankSlot,
    peer: u32,
}

/// By the rank on the left; `None` where the two ranks share no memory.
type Edges<T> = Vec<Option<Edge<T>>>;

/// Joins all ranks of `comm` in rank order, round the end if `closed`. All ranks call this
/// together; one of them makes all rings. `give` makes the rank's topology of its neighbours.
pub(super) fn join<'c, T: Value, R: 'c>(
    comm: &'c Communicator,
    name: &'static str,
    closed: bool,
    location: &'static Location<'static>,
    give: impl FnOnce(Neighbours<'c, T>) -> R + 'c,
) -> CollectiveCall<impl Startable<'c, Given = R>> {
    let open = move |rank: usize| -> Option<Edge<T>> {
        let ends = [rank, (rank + 1) % comm.size()].map(|rank| comm.team().world_rank(rank));
        let here = ends.iter().all(|&end| comm.fabric().beyond(end).is_none());
        let near = comm.fabric().share_thread(ends[0], ends[1]);
        here.then(|| Edge::new(near))
    };
    // Where messages take the place of rings, they bear the number of the topology and the
    // direction.
    let tags = comm.next_topology().wrapping_mul(2);
    // What each rank brings is the type of its messages.
    let (brought, either) = (PhantomData::<fn() -> T>, |one, _| one);
    let finish =
        move |_| -> Edges<T> { (0..comm.size() - usize::from(!closed)).map(open).collect() };
    let read = move |edges: &Edges<T>| {
        let (rank, size) = (comm.rank(), comm.size());
        let left = if rank > 0 { rank - 1 } else { size - 1 };
        let link = |edge: usize, peer: usize, side: usize| {
            let Some(edge) = edges.get(edge)?.clone() else {
                let to = tags.wrapping_add(side as u32);
                let from = tags.wrapping_add(1 - side as u32);
                return Link::far(comm, peer, to, from);
            };
            let out = match side {
                RIGHT => Toward::Right,
                _ => Toward::Left,
            };
            Some(Link::near(comm, peer, RingEnds::new(edge, out)))
        };
        let links = [link(left, left, LEFT), link(rank, (rank + 1) % size, RIGHT)];
        Ok(give(Neighbours::new(comm, links, location)))
    };
    let call = RankCall::new::<T>(name, location);
    CollectivePart::new(comm, call, Ok(brought), either, finish, read).now()
}

impl<'c, T: Value> Neighbours<'c, T> {
    fn new(
        comm: &'c Communicator,
        links: [Option<Link<'c, T>>; 2],
        location: &'static Location<'static>,
    ) -> Self {
        Neighbours {
            comm,
            links,
            stage: Stage::Ended,
            expects: [false; 2],
            outgoing: [None, None],
            incoming: [None, None],
            location,
            wait: RankWait::default(),
            entered: false,
        }
    }
}

impl<'c, T: Value> Link<'c, T> {
    /// With a neighbour in the same memory.
    fn near(comm: &'c Communicator, peer: usize, rings: RingEnds<T>) -> Self {
        Link {
            way: NeighbourLink::Rings(rings),
            slot: comm.fabric().slot_of(comm.team().world_rank(peer)),
            peer: peer as u32,
        }
    }

    /// With a neighbour in another process; messages there bear the tag `to`, those from there
    /// `from`.
    fn far(comm: &'c Communicator, peer: usize, to: Tag, from: Tag) -> Option<Self> {
        let remote = comm.fabric().beyond(comm.team().world_rank(peer))?;
        Some(Link {
            way: NeighbourLink::Posts(Box::new(Posts::new(comm, remote, peer, (to, from)))),
            slot: comm.fabric().slot(),
            peer: peer as u32,
        })
    }
}

impl<T> Link<'_, T> {
    fn peer(&self) -> usize {
        self.peer as usize
    }
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

impl<T: Value> Neighbours<'_, T> {
    /// The rank on a side.
    pub(super) fn peer(&self, side: usize) -> Option<usize> {
        self.links[side].as_ref().map(Link::peer)
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

    /// Drives the step; returns what came from the left and from the right. `first` says whether
    /// this is the first poll of the step's future.
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
        if first && self.comm.recorder().is_some() {
            self.enter();
        }
        if self.stage != Stage::Receives {
            self.stage = Stage::Sends;
            self.send();
            if self.outgoing.iter().any(Option::is_some) {
                ready!(self.poll_rooms(cx))?;
            }
            self.stage = Stage::Receives;
        }
        // In the order in which two ranks that are each other's neighbours on both sides have sent.
        for side in [RIGHT, LEFT] {
            if !self.receive(side) {
                ready!(self.poll_message(side, cx))?;
            }
        }
        self.stage = Stage::Ended;
        self.end_wait();
        if self.comm.recorder().is_some() {
            self.leave();
        }
        Poll::Ready(Ok([
            self.incoming[LEFT].take(),
            self.incoming[RIGHT].take(),
        ]))
    }

    /// Sends what can be sent.
    #[inline(always)]
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
            if link.way.try_send(&mut self.outgoing[side], self.location) {
                sent[side] = true;
                far |= !link.way.is_near();
            }
        }
        if far {
            fence(Ordering::SeqCst);
        }
        for side in [LEFT, RIGHT] {
            if sent[side]
                && let Some(link) = &self.links[side]
            {
                link.slot.wake_if_sleeping();
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
            let slot = || self.comm.fabric().slot();
            let operation = WaitOperation::NeighbourRoom { peer: link.peer() };
            let why = || [self.comm.waits_in(operation, self.location)];
            if let Some(recorder) = self.comm.recorder() {
                recorder.wait();
            }
            if self
                .wait
                .poll(
                    slot,
                    cx,
                    || link.way.has_room() || link.way.is_receiver_gone(),
                    why,
                )
                .is_pending()
            {
                return Poll::Pending;
            }
            self.wait.end(slot);
            if !link.way.has_room() {
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
        let Some((message, may_wait)) = link.way.try_receive() else {
            return false;
        };
        self.incoming[side] = Some(message);
        if may_wait {
            if !link.way.is_near() {
                fence(Ordering::SeqCst);
            }
            link.slot.wake_if_sleeping();
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
            let operation = WaitOperation::Neighbour {
                peer: link.peer(),
                name,
            };
            [self.comm.waits_in(operation, self.location)]
        };
        let slot = || self.comm.fabric().slot();
        if let Some(recorder) = self.comm.recorder() {
            recorder.wait();
        }
        if self
            .wait
            .poll(
                slot,
                cx,
                || link.way.has_message() || link.way.is_sender_gone(),
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
    fn gone(&mut self, side: usize) -> CommError {
        let link = self.links[side].as_mut();
        if let Some(failed) = link.and_then(|link| link.way.failure()) {
            return failed;
        }
        CommError::Gone {
            peer: self.peer(side).expect("there is a neighbour on this side"),
            operation: self.name(),
        }
    }

    #[inline]
    fn end_wait(&mut self) {
        self.wait.end(|| self.comm.fabric().slot());
    }

    fn name(&self) -> &'static str {
        match self.expects {
            [true, false] => "shift_right",
            [false, true] => "shift_left",
            _ => "exchange",
        }
    }
}

impl<T: Value> Drop for Neighbours<'_, T> {
    fn drop(&mut self) {
        self.end_wait();
        for link in self.links.iter().flatten() {
            let world = self.comm.team().world_rank(link.peer());
            self.comm.fabric().close_later(world, link.way.closer());
        }
        // A receiver that goes shows all that it took: there may be room that a neighbour waits
        // for.
        let peers = std::mem::take(&mut self.links).map(|link| link.map(|link| link.slot));
        fence(Ordering::SeqCst);
        peers
            .into_iter()
            .flatten()
            .for_each(RankSlot::wake_if_sleeping);
    }
}
