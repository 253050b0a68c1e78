//! The fabric of ranks in several processes: inside a process as [`Threads`](super::Threads),
//! between them over a [`Transport`](crate::Transport).

use super::mailbox::{Mailbox, NeighbourSteps};
use super::processes::RunProcesses;
use super::{Closer, Fabric, Mail, PostedReceive, Threads};
use crate::CommError;
use crate::address::Status;
use crate::envelope::{Behind, Context, Envelope, Receipt, ReceivePattern};
use crate::rank_slot::RankSlot;
use std::sync::Arc;

/// One rank among others in this process and others.
#[derive(Clone)]
pub(crate) struct RemoteFabric {
    processes: Arc<RunProcesses>,
    /// The rank among those of this process, where its number is its place here.
    here: Threads,
}

impl RemoteFabric {
    pub(crate) fn new(processes: Arc<RunProcesses>, place: usize) -> Self {
        let here = Threads::new(Arc::clone(&processes.local), place);
        RemoteFabric { processes, here }
    }

    /// What the ranks of this process share.
    pub(crate) fn processes(&self) -> &Arc<RunProcesses> {
        &self.processes
    }

    /// Whether a rank lives in this process.
    pub(crate) fn is_here(&self, rank: usize) -> bool {
        self.processes.place_of(rank).is_some()
    }

    /// The rank among those of this process.
    pub(super) fn here(&self) -> &Threads {
        &self.here
    }

    /// Carries an envelope to a rank of another process.
    pub(crate) fn send_away(&self, to: usize, envelope: &Envelope) -> Result<(), CommError> {
        let type_name = envelope.type_name();
        let sent = self.processes.send(to, envelope);
        sent.map_err(|reason| CommError::Unportable { type_name, reason })
    }

    /// Carries a value, of which `bytes` has the bytes, to a rank of another process. What they
    /// hold afterwards means nothing; `behind` is for further values of the same label for that
    /// rank.
    pub(crate) fn send_written(
        &self,
        to: usize,
        (context, status): (Context, Status),
        behind: &mut Behind,
        bytes: &mut Vec<u8>,
    ) {
        let processes = &self.processes;
        processes.send_written(to, context, status, behind, bytes);
    }

    /// Carries numbers with these bytes, which are copied, to a rank of another process.
    pub(crate) fn send_bytes(
        &self,
        to: usize,
        (context, status): (Context, Status),
        behind: Behind,
        bytes: &[u8],
    ) {
        self.processes
            .send_bytes(to, context, status, behind, bytes);
    }

    /// The number under which another process asks for a receipt.
    pub(crate) fn keep(&self, receipt: &Arc<Receipt>) -> u64 {
        self.processes.keep(receipt)
    }

    /// Takes the oldest message that is wanted, if it is there.
    pub(crate) fn take(&self, wanted: &ReceivePattern) -> Option<Envelope> {
        self.mail().take(wanted)
    }

    /// Takes a step in that has come, past the mailbox; see [`RunProcesses::read_step`].
    pub(crate) fn read_step(
        &self,
        from: usize,
        on: (Context, Status),
        wanted: &mut dyn FnMut() -> bool,
        memory: &mut Vec<u8>,
    ) -> Option<Envelope> {
        let ranks = [self.world_rank(), from];
        self.processes.read_step(ranks, on, wanted, memory)
    }

    /// Nobody receives these steps any more.
    pub(crate) fn end_steps(&self, steps: NeighbourSteps) {
        self.mail().end_steps(steps);
    }

    /// Sends an envelope to a rank of another process when it is called.
    pub(crate) fn later(&self, to: usize, envelope: Envelope) -> Closer {
        let processes = Arc::clone(&self.processes);
        Box::new(move || {
            let sent = processes.send(to, &envelope);
            debug_assert!(sent.is_ok(), "what the runtime itself sends can be written");
        })
    }
}

impl Fabric for RemoteFabric {
    type Mail = Mailbox;

    #[inline]
    fn world_rank(&self) -> usize {
        self.processes.first() + self.here.world_rank()
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        self.here.slot()
    }

    fn share_thread(&self, one: usize, other: usize) -> bool {
        match [one, other].map(|rank| self.processes.place_of(rank)) {
            [Some(one), Some(other)] => self.here.share_thread(one, other),
            _ => false,
        }
    }

    fn slot_of(&self, rank: usize) -> &RankSlot {
        let place = self.processes.place_of(rank);
        let place = place.expect("only ranks of one process see each other's slots");
        self.here.slot_of(place)
    }

    fn wake_if_sleeping(&self, rank: usize) {
        if let Some(place) = self.processes.place_of(rank) {
            self.here.wake_if_sleeping(place);
        }
    }

    #[inline]
    fn mail(&self) -> &Mailbox {
        self.here.mail()
    }

    fn send(&self, to: usize, message: impl FnOnce() -> Envelope) -> Result<(), CommError> {
        let Some(place) = self.processes.place_of(to) else {
            return self.send_away(to, &message());
        };
        let signed = self.here.bring(place, message);
        self.sign_all(signed);
        Ok(())
    }

    fn sign(&self, receipt: &Receipt) {
        self.processes.sign(receipt);
    }

    fn poll(&self) {
        self.processes.poll();
    }

    fn sleeps(&self) {
        self.processes.sleeps();
    }

    fn arrivals(&self) -> u32 {
        self.processes.poll();
        self.mail().arrivals()
    }

    fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope> {
        self.mail().collect(ticket).or_else(|| {
            self.processes.poll();
            self.mail().collect(ticket)
        })
    }

    fn close_later(&self, peer: usize, closer: Closer) {
        // Whose neighbour lives elsewhere has nobody to wake but itself.
        let place = self.processes.place_of(peer);
        self.here
            .close_later(place.unwrap_or(self.here.world_rank()), closer);
    }

    fn peek<R>(&self, wanted: &ReceivePattern, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.processes.poll();
        self.mail().peek(wanted, look)
    }

    fn new_communicators(&self, count: u32) -> u32 {
        let first = self.here.new_communicators(count);
        self.processes.check_numbers(first, count);
        first
    }
}
