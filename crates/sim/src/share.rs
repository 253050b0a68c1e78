//! The processes of one rank.

use crate::event::{EventKey, KeyedEvent};
use crate::out::ProcessCounters;
use crate::rules::Rules;
use crate::{Logical, ModelError, Out};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How the processes of a model lie on ranks: in blocks of neighbours whose sizes differ by one at
/// most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessLayout {
    processes: usize,
    ranks: usize,
}

/// A process, and what it has counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LogicalProcess<P> {
    pub(crate) state: P,
    pub(crate) counters: ProcessCounters,
}

/// The processes of one rank, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct Share<P> {
    pub(crate) first: usize,
    pub(crate) processes: Vec<LogicalProcess<P>>,
}

impl ProcessLayout {
    pub(crate) fn new(processes: usize, ranks: usize) -> Self {
        ProcessLayout { processes, ranks }
    }

    /// The processes of a rank.
    pub(crate) fn of(self, rank: usize) -> Range<usize> {
        let (each, more) = (self.processes / self.ranks, self.processes % self.ranks);
        let begin = |rank: usize| rank * each + rank.min(more);
        begin(rank)..begin(rank + 1)
    }

    /// The rank of a process.
    #[inline]
    pub(crate) fn rank_of(self, process: usize) -> usize {
        let (each, more) = (self.processes / self.ranks, self.processes % self.ranks);
        let in_larger = more * (each + 1);
        match process < in_larger {
            true => process / (each + 1),
            // There are such processes only if `each` is not 0.
            false => more + (process - in_larger) / each,
        }
    }
}

impl<P: Logical> Share<P> {
    pub(crate) fn new(numbers: Range<usize>, make: impl Fn(usize) -> P) -> Self {
        let process = |number| LogicalProcess {
            state: make(number),
            counters: ProcessCounters::default(),
        };
        Share {
            first: numbers.start,
            processes: numbers.map(process).collect(),
        }
    }

    /// Starts all processes; what they schedule comes into `sent`.
    ///
    /// # Errors
    /// What the first of them does that the model does not allow.
    pub(crate) fn start(
        &mut self,
        rules: &Rules,
        sent: &mut Vec<KeyedEvent<P::Event>>,
    ) -> Result<(), ModelError> {
        for (at, process) in self.processes.iter_mut().enumerate() {
            let cause = EventKey {
                time: 0,
                step: 0,
                to: (self.first + at) as u32,
                tie: 0,
                from: 0,
                number: 0,
            };
            process
                .act(rules, &cause, sent, |state, out| state.start(out))
                .1?;
        }
        Ok(())
    }

    /// Handles an event of one of the processes; what that schedules comes into `sent`.
    ///
    /// # Errors
    /// What the handler does that the model does not allow.
    #[inline]
    pub(crate) fn handle(
        &mut self,
        rules: &Rules,
        event: KeyedEvent<P::Event>,
        sent: &mut Vec<KeyedEvent<P::Event>>,
    ) -> Result<(), ModelError> {
        let KeyedEvent { key, body } = event;
        let process = &mut self.processes[key.to as usize - self.first];
        let handle = |state: &mut P, out: &mut Out<'_, P::Event>| state.handle(key.time, body, out);
        process.act(rules, &key, sent, handle).1
    }

    /// The states, without what was counted.
    pub(crate) fn into_states(self) -> Vec<P> {
        let processes = self.processes.into_iter();
        processes.map(|process| process.state).collect()
    }
}

impl<P: Logical> LogicalProcess<P> {
    /// Has the process do something at the event that `cause` names.
    #[inline]
    pub(crate) fn act<R>(
        &mut self,
        rules: &Rules,
        cause: &EventKey,
        sent: &mut Vec<KeyedEvent<P::Event>>,
        act: impl FnOnce(&mut P, &mut Out<'_, P::Event>) -> R,
    ) -> (R, Result<(), ModelError>) {
        let mut out = Out::new(rules, cause, &mut self.counters, sent);
        let result = act(&mut self.state, &mut out);
        (result, out.refused().map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_one_rank() {
        for (processes, ranks) in [
            (0, 1),
            (0, 3),
            (1, 1),
            (1, 4),
            (7, 3),
            (8, 8),
            (9, 8),
            (100, 7),
        ] {
            let layout = ProcessLayout::new(processes, ranks);
            let mut all = Vec::new();
            for rank in 0..ranks {
                let own = layout.of(rank);
                assert!(own.clone().all(|process| layout.rank_of(process) == rank));
                all.extend(own);
            }
            assert!(all.into_iter().eq(0..processes), "{processes} on {ranks}");
        }
    }
}
