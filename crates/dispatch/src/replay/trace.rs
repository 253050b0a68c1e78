//! What a replay did.

use std::fmt;
use std::time::Duration;

/// The steps of a replay, in order. Two traces are equal when the same tasks ran at the same times.
/// `{}` shows them, one a line.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Trace {
    queues: Vec<String>,
    steps: Vec<Packed>,
}

/// A task that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayStep<'a> {
    /// The virtual time.
    pub at: Duration,
    /// The name of the task's queue.
    pub queue: &'a str,
    /// Which task of that queue, in the order in which they were queued, from 1. An async task
    /// counts anew each time it is woken.
    pub task: u32,
}

/// A step in 16 bytes: replays are long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packed {
    at_ns: u64,
    queue: u32,
    task: u32,
}

impl Trace {
    /// The steps, first to last.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = ReplayStep<'_>> {
        self.steps.iter().map(|step| ReplayStep {
            at: Duration::from_nanos(step.at_ns),
            queue: &self.queues[step.queue as usize],
            task: step.task,
        })
    }

    /// A number that equal traces share, and different ones hardly ever (FNV-1a over the steps). It
    /// is the same on every machine.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mix = |hash, word: u64| {
            word.to_le_bytes().iter().fold(hash, |hash: u64, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        self.steps.iter().fold(0xcbf2_9ce4_8422_2325, |hash, step| {
            let which = u64::from(step.queue) << 32 | u64::from(step.task);
            mix(mix(hash, step.at_ns), which)
        })
    }

    /// Names the next queue.
    pub(super) fn name_queue(&mut self, name: &str) {
        self.queues.push(name.to_owned());
    }

    pub(super) fn push(&mut self, at: Duration, queue: usize, task: u32) {
        self.steps.push(Packed {
            at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            queue: u32::try_from(queue).unwrap_or(u32::MAX),
            task,
        });
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps()
            .try_for_each(|step| writeln!(f, "{:?} {}#{}", step.at, step.queue, step.task))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("steps", &self.steps.len())
            .field("hash", &format_args!("{:#018x}", self.hash()))
            .finish_non_exhaustive()
    }
}
