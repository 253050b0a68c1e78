//! The computations on a ring that each peer runs: what a message does, whoever carries it.

use crate::program::{Pattern, WorkProgram};
use crate::unit::Units;
use motet_patterns::Work;
use motet_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use motet_sync::{CachePadded, Mutex};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// `parallel` computations; each stage needs one message or two, and sends as many on.
#[derive(Debug)]
pub(crate) struct ComputationRing {
    computations: Box<[CachePadded<Computation>]>,
    pub(crate) messages: u64,
    /// Where the messages of a stage go, from the sender on.
    by: &'static [isize],
    stages: u64,
    work: Units,
    unfinished: AtomicUsize,
    end: mpsc::Sender<()>,
}

#[derive(Debug, Default)]
struct Computation {
    begun: AtomicU64,
    /// Messages that wait for the second one. They carry nothing, as motet's.
    waiting: Mutex<Vec<()>>,
}

impl ComputationRing {
    pub(crate) fn new(program: &WorkProgram) -> (Arc<ComputationRing>, mpsc::Receiver<()>) {
        let (end, ended) = mpsc::channel();
        let by: &[isize] = match program.pattern {
            Pattern::Pipeline => &[0],
            Pattern::Shift => &[1],
            Pattern::TwoShifts => &[1, 1],
            Pattern::Exchange | Pattern::ExchangeTwoShifts => &[-1, 1],
        };
        let ring = ComputationRing {
            computations: (0..program.parallel)
                .map(|_| CachePadded::default())
                .collect(),
            messages: by.len() as u64,
            by,
            stages: program.stages,
            work: program.work,
            unfinished: AtomicUsize::new(program.parallel),
            end,
        };
        (Arc::new(ring), ended)
    }

    /// The number of computations.
    pub(crate) fn len(&self) -> usize {
        self.computations.len()
    }

    /// A message has come to computation `at`; `true` when a stage has what it needs, and has taken
    /// it.
    #[inline]
    pub(crate) fn arrives(&self, at: usize) -> bool {
        if self.messages == 1 {
            return true;
        }
        let mut waiting = self.computations[at].waiting.lock();
        waiting.push(());
        let enough = waiting.len() as u64 == self.messages;
        if enough {
            waiting.clear();
        }
        enough
    }

    /// One stage of computation `at`: sends its messages, or ends after the last one.
    #[inline]
    pub(crate) fn stage(&self, at: usize, mut send: impl FnMut(usize)) {
        let stage = self.computations[at].begun.fetch_add(1, Ordering::Relaxed) + 1;
        self.work.stage();
        if stage < self.stages {
            for by in self.by {
                send((at + self.len()).wrapping_add_signed(*by) % self.len());
            }
        } else if stage == self.stages && self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _ = self.end.send(());
        }
    }

    /// Sends each computation its first messages; the time until all have ended.
    pub(crate) fn time(
        &self,
        ended: &mpsc::Receiver<()>,
        mut send: impl FnMut(usize),
    ) -> Result<Duration, String> {
        let started = Instant::now();
        for at in 0..self.len() {
            (0..self.messages).for_each(|_| send(at));
        }
        ended
            .recv()
            .map_err(|_| "the peer's threads have ended".to_owned())?;
        Ok(started.elapsed())
    }
}
