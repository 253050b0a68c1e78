//! The two directions between neighbours: rings where they share memory, messages where they do
//! not.

use crate::address::{Status, Tag};
use crate::envelope::{Behind, Envelope, MessageKind, Receipt, ReceivePattern};
use crate::fabric::{Closer, Fabric, Mail, NeighbourSteps, RemoteFabric, RingEnds};
use crate::point_to_point::unopened;
use crate::wire::{Of, encode};
use crate::{CommError, Communicator, Value};
use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

/// The way to a neighbour and from it.
pub(super) enum NeighbourLink<'c, T> {
    Rings(RingEnds<T>),
    Posts(Box<Posts<'c>>),
}

/// Steps with a neighbour in another process.
pub(super) struct Posts<'c> {
    to: Post<'c>,
    from: Post<'c>,
}

/// Steps with a neighbour in another process, in one direction.
pub(super) struct Post<'c> {
    comm: &'c Communicator,
    remote: &'c RemoteFabric,
    peer: usize,
    /// Tells this direction of this topology from all others.
    tag: Tag,
    /// That of the opposite direction.
    back: Tag,
    sent: u32,
    /// Receipts that have not come back, the oldest first.
    receipts: VecDeque<Arc<Receipt>>,
    /// Why the direction cannot go on; until it is told.
    failed: Option<CommError>,
    /// The message that has come next.
    next: RefCell<Option<Envelope>>,
    /// How many messages had arrived here when none of this direction was there; and none that says
    /// that it ends.
    no_message: Cell<Option<u32>>,
    no_end: Cell<Option<u32>>,
    /// What was sent last: its memory is used again, and what stood behind it.
    bytes: Vec<u8>,
    /// Memory for what comes.
    came: RefCell<Vec<u8>>,
    /// How often nothing was there to be taken in.
    looks: Cell<u32>,
    behind: Option<Behind>,
}

/// Every so many steps a receipt is asked for, and so many may be missing. A rank runs ahead of its
/// neighbour by twice that many steps at most.
const RECEIPT_EVERY: u32 = 32;
const MISSING: usize = 2;

/// In so many looks everything else is looked for once.
const LOOKS: u32 = 4;

impl<'c> Posts<'c> {
    /// With rank `peer`; messages there bear the tag `to`, those from there `from`.
    pub(super) fn new(
        comm: &'c Communicator,
        remote: &'c RemoteFabric,
        peer: usize,
        (to, from): (Tag, Tag),
    ) -> Self {
        Posts {
            to: Post::new(comm, remote, peer, (to, from)),
            from: Post::new(comm, remote, peer, (from, to)),
        }
    }
}

impl<'c> Post<'c> {
    fn new(
        comm: &'c Communicator,
        remote: &'c RemoteFabric,
        peer: usize,
        (tag, back): (Tag, Tag),
    ) -> Self {
        Post {
            comm,
            remote,
            peer,
            tag,
            back,
            sent: 0,
            receipts: VecDeque::new(),
            failed: None,
            next: RefCell::new(None),
            no_message: Cell::new(None),
            no_end: Cell::new(None),
            bytes: Vec::new(),
            came: RefCell::default(),
            looks: Cell::new(0),
            behind: None,
        }
    }

    fn has_room(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        while self
            .receipts
            .front()
            .is_some_and(|receipt| receipt.is_signed())
        {
            self.receipts.pop_front();
        }
        if self.receipts.len() < MISSING {
            return true;
        }
        self.remote.poll();
        false
    }

    /// What cannot be written stays where it is.
    #[cold]
    fn try_send<T: Value>(
        &mut self,
        message: &mut Option<T>,
        location: &'static Location<'static>,
    ) -> bool {
        if !self.has_room() {
            return false;
        }
        let Some(value) = message else {
            return false;
        };
        self.bytes.clear();
        if let Err(reason) = encode(value, &mut self.bytes) {
            let type_name = type_name::<T>();
            self.failed = Some(CommError::Unportable { type_name, reason });
            return false;
        }
        self.sent = self.sent.wrapping_add(1);
        let asks = self.sent.is_multiple_of(RECEIPT_EVERY).then(|| {
            let receipt = Arc::new(Receipt::new(self.remote.world_rank()));
            let number = self.remote.keep(&receipt);
            self.receipts.push_back(receipt);
            number
        });
        let last = self.behind.take();
        let same = last.filter(|behind| std::ptr::eq(behind.location, location));
        let behind = self.behind.insert(same.unwrap_or(Behind {
            label: None,
            typed: Of::<T>::TYPE,
            location,
            length: 1,
            receipt: None,
        }));
        behind.receipt = asks;
        let (source, tag) = (self.comm.rank(), self.tag);
        let on = (self.comm.context(MessageKind::Step), Status { source, tag });
        let to = self.comm.team().world_rank(self.peer);
        self.remote.send_written(to, on, behind, &mut self.bytes);
        *message = None;
        true
    }

    fn wanted(&self, kind: MessageKind, tag: Tag) -> ReceivePattern {
        self.comm.wanted(kind, self.peer.into(), tag.into())
    }

    /// Whether a message is here; it is taken then.
    fn has_message(&self) -> bool {
        let mut next = self.next.borrow_mut();
        if next.is_none() {
            *next = self.take_in().or_else(|| {
                let looks = self.looks.get();
                self.looks.set(looks.wrapping_add(1));
                // What it finds takes the long way: not as soon as it comes.
                if looks % LOOKS == 1 {
                    self.remote.poll();
                }
                self.look(&self.no_message, || {
                    self.remote.take(&self.wanted(MessageKind::Step, self.tag))
                })
            });
        }
        next.is_some()
    }

    /// Takes the next message in, past the mailbox, if none of this direction is there.
    fn take_in(&self) -> Option<Envelope> {
        let (source, tag) = (self.peer, self.tag);
        let on = (self.comm.context(MessageKind::Step), Status { source, tag });
        let from = self.comm.team().world_rank(self.peer);
        let mut wanted = || self.no_message.get() == Some(self.remote.mail().arrivals());
        let mut memory = self.came.borrow_mut();
        self.remote.read_step(from, on, &mut wanted, &mut memory)
    }

    /// Whether the neighbour has said that nothing more comes in the direction with this tag.
    fn has_end(&self, from: Tag) -> bool {
        let wanted = self.wanted(MessageKind::StepsEnd, from);
        self.look(&self.no_end, || self.remote.mail().peek(&wanted, |_| ()))
            .is_some()
    }

    /// Looks into the mailbox if something has come since it was looked at in vain; `in_vain` is
    /// the count of arrivals then.
    fn look<R>(&self, in_vain: &Cell<Option<u32>>, look: impl FnOnce() -> Option<R>) -> Option<R> {
        // First: what comes while this looks is looked for again.
        let arrivals = Some(self.remote.mail().arrivals());
        if in_vain.get() == arrivals {
            return None;
        }
        let seen = look();
        in_vain.set(arrivals.filter(|_| seen.is_none()));
        seen
    }

    #[cold]
    fn try_receive<T: Value>(&mut self) -> Option<T> {
        if !self.has_message() {
            return None;
        }
        let mut envelope = self.next.take()?;
        if let Some(receipt) = envelope.receipt.take() {
            self.remote.sign(&receipt);
        }
        match envelope.open() {
            Ok(value) => Some(value),
            Err(unread) => {
                let (envelope, reason) = *unread;
                self.failed = Some(unopened::<T>(&envelope, reason));
                None
            }
        }
    }

    /// Whether the neighbour has dropped its end. `from` is the direction in which it says so.
    fn is_closed(&self, from: Tag) -> bool {
        self.failed.is_some() || self.has_end(from)
    }

    /// What the neighbour still sends this way is received by nobody.
    fn end_receives(&self) {
        self.remote.end_steps(NeighbourSteps {
            communicator: self.comm.number(),
            status: Status {
                source: self.peer,
                tag: self.tag,
            },
        });
    }

    fn closer(&self) -> Closer {
        let here = Location::caller();
        let envelope = self.comm.message(MessageKind::StepsEnd, self.tag, (), here);
        self.remote
            .later(self.comm.team().world_rank(self.peer), envelope)
    }
}

impl<T: Value> NeighbourLink<'_, T> {
    /// Whether the neighbour shares this rank's thread.
    #[inline]
    pub(super) fn is_near(&self) -> bool {
        matches!(self, NeighbourLink::Rings(rings) if rings.is_near())
    }

    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        match self {
            NeighbourLink::Rings(rings) => rings.has_room(),
            NeighbourLink::Posts(posts) => posts.to.has_room(),
        }
    }

    /// Sends the message, if there is one and there is room for it.
    #[inline]
    pub(super) fn try_send(
        &mut self,
        message: &mut Option<T>,
        location: &'static Location<'static>,
    ) -> bool {
        match self {
            NeighbourLink::Rings(rings) => rings.try_send(message),
            NeighbourLink::Posts(posts) => posts.to.try_send(message, location),
        }
    }

    #[inline]
    pub(super) fn has_message(&self) -> bool {
        match self {
            NeighbourLink::Rings(rings) => rings.has_message(),
            NeighbourLink::Posts(posts) => posts.from.has_message(),
        }
    }

    /// Takes the message that is there; and whether its sender may wait for the room that this has
    /// shown it.
    #[inline]
    pub(super) fn try_receive(&mut self) -> Option<(T, bool)> {
        match self {
            NeighbourLink::Rings(rings) => rings.try_receive(),
            NeighbourLink::Posts(posts) => posts.from.try_receive().map(|message| (message, false)),
        }
    }

    /// Why nothing goes or comes this way any more, if it is not that the neighbour has gone.
    pub(super) fn failure(&mut self) -> Option<CommError> {
        match self {
            NeighbourLink::Rings(_) => None,
            NeighbourLink::Posts(posts) => {
                let Posts { to, from } = &mut **posts;
                to.failed.take().or_else(|| from.failed.take())
            }
        }
    }

    /// Whether the neighbour has dropped its end, and receives nothing any more.
    pub(super) fn is_receiver_gone(&self) -> bool {
        match self {
            NeighbourLink::Rings(rings) => rings.is_receiver_gone(),
            NeighbourLink::Posts(posts) => posts.to.is_closed(posts.to.back),
        }
    }

    /// Whether the neighbour has dropped its end; the messages that it sent before are there.
    pub(super) fn is_sender_gone(&self) -> bool {
        match self {
            NeighbourLink::Rings(rings) => rings.is_sender_gone(),
            NeighbourLink::Posts(posts) => posts.from.is_closed(posts.from.tag),
        }
    }

    /// What tells the neighbour that this end is gone for good.
    pub(super) fn closer(&self) -> Closer {
        match self {
            NeighbourLink::Rings(rings) => rings.closer(),
            NeighbourLink::Posts(posts) => posts.to.closer(),
        }
    }
}

impl Drop for Posts<'_> {
    fn drop(&mut self) {
        self.from.end_receives();
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::fabric::{
        AnyFabric, FirstProcess, MeetingPointKind, RunProcesses, Team, first_of_two,
    };
    use crate::transport::Header;
    use std::rc::Rc;

    /// The other rank.
    struct There {
        to: Arc<RunProcesses>,
        first: Arc<FirstProcess>,
        /// Messages that have come from it: each has a label of its own.
        messages: Cell<u32>,
    }

    impl There {
        /// With the first process of two.
        fn new() -> Self {
            let first = Arc::<FirstProcess>::default();
            There {
                to: first_of_two(Arc::clone(&first)),
                first,
                messages: Cell::new(0),
            }
        }

        /// Sends a message of this kind with this tag, which is taken in.
        fn sends(&self, kind: MessageKind, tag: Tag) {
            let (header, mut bytes) = self.message(kind, tag, &7_u32);
            self.to.deliver(1, header, &mut bytes);
        }

        /// Sends a step with this tag, which lies where it has come.
        fn leaves(&self, tag: Tag, value: &impl Value) {
            let message = self.message(MessageKind::Step, tag, value);
            self.first.0.lock().push_back(message);
        }

        fn message<T: Value>(&self, kind: MessageKind, tag: Tag, value: &T) -> (Header, Vec<u8>) {
            let location = Location::caller();
            let mut bytes = Vec::new();
            encode(value, &mut bytes).unwrap();
            let header = Header {
                context: 1 << 48 | (kind as u64) << 40,
                source: 1,
                destination: 0,
                tag,
            };
            let label = self.messages.replace(self.messages.get() + 1);
            let behind = Behind {
                label: None,
                typed: Of::<T>::TYPE,
                location,
                length: 1,
                receipt: None,
            };
            behind.write(label, true, &mut bytes);
            (header, bytes)
        }

        /// What rank 0 has of the world.
        fn world(&self) -> (RemoteFabric, Communicator) {
            let remote = RemoteFabric::new(Arc::clone(&self.to), 0);
            let kind = MeetingPointKind::ProcessLevel(Arc::clone(&self.to));
            let team = Arc::new(Team::world(2, kind));
            let fabric = AnyFabric::Remote(Rc::new(remote.clone()));
            (remote, Communicator::new(fabric, team, 0))
        }
    }

    #[test]
    fn a_step_that_lies_where_it_has_come_is_behind_those_that_were_taken_in() {
        let there = There::new();
        let (remote, comm) = there.world();
        let mut steps =
            NeighbourLink::<u32>::Posts(Box::new(Posts::new(&comm, &remote, 1, (2, 3))));
        there.leaves(3, &1_u32);
        // Whether something else has been taken in is not known.
        assert!(!steps.has_message());
        assert_eq!(steps.try_receive(), Some((1, false)));
        there.sends(MessageKind::Step, 3);
        there.sends(MessageKind::Step, 9);
        there.leaves(3, &8_u32);
        there.leaves(3, &9_u32);
        for expected in [7, 8, 9] {
            let came = (0..4).find_map(|_| steps.try_receive());
            assert_eq!(came, Some((expected, false)));
        }
        assert_eq!(steps.try_receive(), None);
        // Longer than a block.
        let mut long =
            NeighbourLink::<String>::Posts(Box::new(Posts::new(&comm, &remote, 1, (4, 5))));
        there.leaves(5, &"long".repeat(50));
        there.leaves(5, &1_u32);
        assert!(!long.has_message());
        assert_eq!(long.try_receive(), Some(("long".repeat(50), false)));
        assert!(long.try_receive().is_none());
        let failure = long.failure().map(|error| error.to_string());
        assert!(failure.is_some_and(|failure| failure.contains("u32")));
    }

    #[test]
    fn sem_g97_steps_that_nobody_receives_do_not_stay() {
        let there = There::new();
        let mailbox = there.to.local.mailbox(0);
        let (remote, comm) = there.world();
        for (round, early) in [0, 1, 2, 3].into_iter().zip([true, false, true, false]) {
            let (from, to) = (2 * round, 2 * round + 1);
            let posts =
                |tags| NeighbourLink::<u32>::Posts(Box::new(Posts::new(&comm, &remote, 1, tags)));
            let mut steps = posts((to, from));
            (0..3).for_each(|_| there.sends(MessageKind::Step, from));
            there.sends(MessageKind::Step, 99);
            assert_eq!(steps.try_receive(), Some((7, false)));
            if early {
                there.sends(MessageKind::StepsEnd, from);
            }
            drop(steps);
            if !early {
                assert_eq!(mailbox.left(), (1, 1), "more may come");
                there.sends(MessageKind::Step, from);
                assert_eq!(mailbox.left(), (1, 1));
                there.sends(MessageKind::StepsEnd, from);
            }
            assert_eq!(mailbox.left(), (1, 0), "what is of another ring stays");
            let mut other = posts((98, 99));
            assert_eq!(other.try_receive(), Some((7, false)));
            there.sends(MessageKind::StepsEnd, 99);
        }
    }
}
