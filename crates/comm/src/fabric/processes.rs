//! What the ranks of one process of a world over several share: the ranks here, the way to the
//! others, and what comes from there.
//!
//! ```text
//!   rank ── send ──► RemoteFabric ──► mailbox of a rank here
//!                       └─────► Transport ──► … ──► deliver ──► mailbox, crossing, receipt, ending
//! ```
//!
//! Whoever waits calls [`RunProcesses::poll`]; when all ranks sleep or compute, a thread of the
//! run's own looks (`progress.rs`).

mod asking;
mod calls;
mod control;
mod crossing;
mod handshake;
mod heartbeat;
mod labels;
mod messages;
mod profiles;
mod progress;
mod readers;
mod receipts;
mod sends;
mod stuck;
mod vectors;
mod waiting_senders;

pub(crate) use control::{EarlyEnd, Later};
pub(super) use crossing::{
    Crossing, CrossingSite, DirectCrossing, OwnPart, ProcessPart, ProcessParts, Route, keep_spare,
};
pub(crate) use handshake::handshake;
pub(crate) use progress::ServerTurn;
pub(crate) use readers::Left;
pub(super) use vectors::PieceRoute;

use super::local_ranks::LocalRanks;
use crate::asks::Asks;
use crate::envelope::{Receipt, Sender};
use crate::transport::{Header, Transport, TransportError};
use asking::Asking;
use control::Control;
use crossing::Crossings;
use heartbeat::Heartbeat;
use labels::Labels;
use motet_dispatch::keep_looking;
use motet_sync::Unparker;
use motet_sync::atomic::{AtomicU64, Ordering, fence};
use profiles::Profiles;
use progress::ServerProgress;
use readers::Readers;
use receipts::Receipts;
use std::sync::Arc;
use std::time::Duration;
use stuck::Stuck;
use waiting_senders::WaitingSenders;

pub(crate) struct RunProcesses {
    pub(crate) local: Arc<LocalRanks>,
    transport: Arc<dyn Transport>,
    /// Tells the messages of this run from those of others on the same transport.
    run: u16,
    /// The first rank of each process; then the number of all ranks.
    firsts: Box<[usize]>,
    pub(super) crossings: Crossings,
    receipts: Receipts,
    labels: Labels,
    control: Control,
    stuck: Stuck,
    heartbeat: Heartbeat,
    asking: Asking,
    profiles: Profiles,
    /// Messages of the program, and for it, that went to other processes and came from them.
    sent: AtomicU64,
    received: AtomicU64,
    progress: ServerProgress,
    room: WaitingSenders,
    readers: Readers,
}

/// Who is told what comes from other processes, beside the ranks.
pub(crate) struct RunListeners {
    /// The thread that has started the run.
    pub(crate) caller: Unparker,
    /// Whoever makes reports.
    pub(crate) asks: Arc<Asks>,
}

/// What a message between processes is, by the third byte of its context.
const CROSSING: u8 = 0x10;
const RECEIPT: u8 = 0x11;
const CONTROL: u8 = 0x12;
const VECTOR: u8 = 0x13;
const CALL: u8 = 0x14;

/// The context of messages: of which run, what, of which communicator.
fn context_of(run: u16, what: u8, communicator: u32) -> u64 {
    u64::from(run) << 48 | u64::from(what) << 40 | u64::from(communicator)
}

/// The run that a message belongs to.
pub(crate) fn run_of(header: &Header) -> u16 {
    (header.context >> 48) as u16
}

impl RunProcesses {
    /// `firsts` has the first rank of each process, then the number of all ranks; `limit` says how
    /// long another process may say nothing.
    pub(crate) fn new(
        local: Arc<LocalRanks>,
        transport: Arc<dyn Transport>,
        run: u16,
        firsts: Box<[usize]>,
        later: Later,
        told: RunListeners,
        limit: Duration,
    ) -> Self {
        let (process, processes) = (transport.process(), transport.processes());
        local
            .communicators
            .store(first_number(process, processes), Ordering::Relaxed);
        let readers = Readers::new(local.size());
        RunProcesses {
            heartbeat: Heartbeat::new(&*transport, limit),
            local,
            transport,
            run,
            firsts,
            crossings: Crossings::default(),
            receipts: Receipts::default(),
            labels: Labels::new(processes),
            stuck: Stuck::new(processes),
            control: Control::new(processes, later, told.caller),
            asking: Asking::new(told.asks),
            profiles: Profiles::default(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            progress: ServerProgress::default(),
            room: WaitingSenders::default(),
            readers,
        }
    }

    /// This process.
    pub(super) fn own(&self) -> usize {
        self.transport.process()
    }

    /// What carries bytes to the others.
    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// The number of all ranks.
    pub(crate) fn size(&self) -> usize {
        self.firsts[self.firsts.len() - 1]
    }

    /// The first rank here.
    pub(super) fn first(&self) -> usize {
        self.firsts[self.own()]
    }

    /// Makes sure that these numbers of communicators are this process's own.
    ///
    /// # Panics
    /// When it has no more: messages of two communicators would meet.
    pub(super) fn check_numbers(&self, first: u32, count: u32) {
        let (own, processes) = (self.own(), self.transport.processes());
        let begin = first_number(own, processes);
        let share = u32::MAX / u32::try_from(processes).unwrap_or(u32::MAX);
        let used = first
            .checked_sub(begin)
            .and_then(|used| used.checked_add(count));
        assert!(
            used.is_some_and(|used| used < share),
            "process {own} has made more than {share} communicators in one run, and has no number for another one"
        );
    }

    /// The process of a rank of the world.
    pub(crate) fn process_of(&self, rank: usize) -> usize {
        self.firsts.partition_point(|&first| first <= rank) - 1
    }

    /// The place here of a rank of the world, if it lives here.
    #[inline]
    pub(super) fn place_of(&self, rank: usize) -> Option<usize> {
        let place = rank.checked_sub(self.first())?;
        (place < self.local.size()).then_some(place)
    }

    /// Keeps a receipt that is expected from another process; the number under which it asks for
    /// it.
    pub(super) fn keep(&self, receipt: &Arc<Receipt>) -> u64 {
        self.receipts.keep(receipt)
    }

    /// Says to the sender, here or there, that its message has been received.
    pub(super) fn sign(&self, receipt: &Receipt) {
        match receipt.sign() {
            Sender::Here(rank) => self.wake(rank),
            Sender::Outside => {}
            Sender::There(process, number) => {
                let header = self.header(RECEIPT, 0, 0, 0);
                self.program_sends(process, header, &mut number.to_le_bytes().to_vec());
            }
        }
    }

    fn program_sends(&self, process: usize, header: Header, payload: &mut Vec<u8>) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.pass(process, header, payload);
    }

    fn header(&self, what: u8, source: u32, destination: u32, tag: u32) -> Header {
        Header {
            context: context_of(self.run, what, 0),
            source,
            destination,
            tag,
        }
    }

    fn pass(&self, process: usize, header: Header, payload: &mut Vec<u8>) {
        if let Err(error) = self.transport.send(process, header, payload) {
            self.broken(error);
        }
    }

    /// Looks for messages, for a rank that waits.
    #[inline]
    pub(super) fn poll(&self) {
        self.progress.looks();
        self.progress();
    }

    /// Takes in what has come; the number of messages, and of parts of long ones.
    pub(crate) fn progress(&self) -> usize {
        self.progress_but(&mut |_| false)
    }

    /// The same, but for messages that `leave` says so of, and those behind them.
    fn progress_but(&self, leave: &mut dyn FnMut(&Header) -> bool) -> usize {
        let mut messages = 0;
        let mut deliver = |process, header, payload: &mut Vec<u8>| {
            messages += 1;
            self.deliver(process, header, payload);
        };
        match self.transport.progress_but(leave, &mut deliver) {
            Ok(moved) => {
                if moved > messages {
                    keep_looking();
                }
                moved
            }
            Err(error) => {
                self.broken(error);
                0
            }
        }
    }

    /// Messages that have not left this process.
    pub(crate) fn under_way(&self) -> usize {
        self.transport.under_way()
    }

    /// The transport has lost a process, or fails.
    fn broken(&self, error: TransportError) {
        match error {
            TransportError::Lost { process, reason } => self.lost(process, reason),
            TransportError::Failed { reason } => self.end(EarlyEnd::Transport { reason }),
        }
    }

    /// A message has come.
    pub(crate) fn deliver(&self, process: usize, header: Header, payload: &mut Vec<u8>) {
        if run_of(&header) != self.run {
            let payload = std::mem::take(payload);
            return self.control.keep_for_later(process, header, payload);
        }
        let (what, communicator) = ((header.context >> 40) as u8, header.context as u32);
        match what {
            CONTROL => return self.told(process, header, payload),
            CROSSING => {
                let (number, step) = (header.source, header.tag);
                let site = CrossingSite {
                    communicator,
                    started: (header.destination != 0).then_some(number),
                };
                let came = self.parts_came(process, site, (number, step), payload);
                if came.is_none() {
                    return self.strange(process);
                }
            }
            VECTOR => self.vector_came(communicator, &header, payload),
            CALL => self.call_came(process, communicator, &header, payload),
            RECEIPT => {
                let kept = payload.as_slice().try_into().map(u64::from_le_bytes);
                let receipt = kept.ok().and_then(|kept| self.receipts.take(kept));
                if let Some(receipt) = receipt {
                    self.sign(&receipt);
                }
            }
            kind => self.arrived(process, header, kind, communicator, payload),
        }
        // After what was brought can be seen: whoever counts it as received finds its receiver
        // awake.
        self.received.fetch_add(1, Ordering::Release);
    }

    fn strange(&self, process: usize) {
        let reason =
            format!("process {process} has sent bytes that are no message of this version");
        self.end(EarlyEnd::Transport { reason });
    }

    /// Wakes ranks that live here, after something was brought to all of them.
    fn wake_all(&self, ranks: &[usize]) {
        fence(Ordering::SeqCst);
        for place in ranks.iter().filter_map(|&rank| self.place_of(rank)) {
            self.local.slot(place).wake_if_sleeping();
        }
    }

    /// Wakes a rank that lives here, after something was brought to it.
    fn wake(&self, rank: usize) {
        if let Some(place) = self.place_of(rank) {
            fence(Ordering::SeqCst);
            self.local.slot(place).wake_if_sleeping();
        }
    }
}

/// Every process has numbers of its own for the communicators that its ranks make.
fn first_number(process: usize, processes: usize) -> u32 {
    let share = u64::from(u32::MAX) / processes as u64;
    (process as u64 * share) as u32 + 1
}

/// A rank as it stands on a message.
fn number(rank: usize) -> u32 {
    u32::try_from(rank).expect("there are fewer than 2^32 ranks")
}

#[cfg(all(test, not(motet_loom)))]
pub(crate) mod tests {
    use super::*;
    use motet_sync::{Mutex, Parker};
    use std::collections::VecDeque;

    /// The first of two; the other says nothing by itself. What lies here has come from it and was
    /// not taken in.
    #[derive(Default)]
    pub(crate) struct FirstProcess(pub(crate) Mutex<VecDeque<(Header, Vec<u8>)>>);

    impl Transport for FirstProcess {
        fn process(&self) -> usize {
            0
        }

        fn processes(&self) -> usize {
            2
        }

        fn send(&self, _: usize, _: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
            Ok(())
        }

        fn progress(
            &self,
            _: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
        ) -> Result<usize, TransportError> {
            Ok(0)
        }

        fn read_next(
            &self,
            _: usize,
            header: &Header,
            wanted: &mut dyn FnMut() -> bool,
            read: &mut dyn FnMut(&[u8], usize),
        ) -> bool {
            let mut lies = self.0.lock();
            let Some((_, payload)) = lies.pop_front_if(|(of, _)| of == header && wanted()) else {
                return false;
            };
            let (block, rest) = payload.split_at(payload.len().min(64));
            read(block, rest.len());
            if !rest.is_empty() {
                read(rest, 0);
            }
            true
        }
    }

    /// The first of two processes with one rank each, in run 1.
    pub(crate) fn first_of_two(first: Arc<FirstProcess>) -> Arc<RunProcesses> {
        first_over(first)
    }

    /// The same, over any transport of the first process.
    pub(crate) fn first_over(first: Arc<dyn Transport>) -> Arc<RunProcesses> {
        let (local, limit) = (Arc::new(LocalRanks::new(1, 1)), Duration::from_secs(60));
        let told = RunListeners {
            caller: Parker::new().unparker(),
            asks: Arc::default(),
        };
        let (firsts, later) = (Box::new([0, 1, 2]), Later::default());
        let made = RunProcesses::new(local, first, 1, firsts, later, told, limit);
        Arc::new(made)
    }
}
