//! Linearizability: whether what threads saw could have happened one call after the other.
//!
//! The check is that of Wing and Gong (1993) with Lowe's memory of states that led nowhere. It
//! looks for an order of the calls that keeps those apart which did not overlap. A sequential twin
//! must give the same answers in it.

use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::collections::HashSet;
use std::fmt::{self, Debug};
use std::hash::Hash;

/// The sequential twin of what is tested.
pub trait Sequential: Clone + Eq + Hash {
    /// What may be asked of it.
    type Call: Debug;
    /// What it answers.
    type Answer: PartialEq + Debug;

    /// Does the call.
    fn answer(&mut self, call: &Self::Call) -> Self::Answer;
}

/// The calls that threads made, and when.
pub struct History<S: Sequential> {
    clock: AtomicU64,
    calls: Mutex<Vec<Record<S>>>,
}

struct Record<S: Sequential> {
    from: u64,
    to: u64,
    call: S::Call,
    answer: S::Answer,
}

/// The longest history that [`History::check`] takes.
const MOST: usize = 64;

impl<S: Sequential> History<S> {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new() -> Self {
        History {
            clock: AtomicU64::new(0),
            calls: Mutex::new(Vec::new()),
        }
    }

    /// Makes a call to the real thing, by `act`, and records it.
    pub fn call(&self, call: S::Call, act: impl FnOnce(&S::Call) -> S::Answer) {
        let from = self.begins();
        let answer = act(&call);
        self.ended(from, call, answer);
    }

    /// A call begins, to something that is awaited: what [`History::ended`] is to be given.
    pub fn begins(&self) -> u64 {
        // SeqCst: the numbers must not say that calls were apart which were not.
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Records a call, which has just got its answer.
    pub fn ended(&self, from: u64, call: S::Call, answer: S::Answer) {
        // SeqCst: as above.
        let to = self.clock.fetch_add(1, Ordering::SeqCst);
        self.calls.lock().push(Record {
            from,
            to,
            call,
            answer,
        });
    }

    /// Whether some order of the calls explains all answers, when all began with `start`.
    ///
    /// # Errors
    /// The history, a line per call, when there is none.
    ///
    /// # Panics
    /// When there are more than 64 calls.
    pub fn check(&self, start: &S) -> Result<(), String> {
        let mut calls = self.calls.lock();
        assert!(calls.len() <= MOST, "a history of at most {MOST} calls");
        calls.sort_by_key(|record| record.from);
        if explain(&calls, 0, start, &mut HashSet::new()) {
            return Ok(());
        }
        let lines = calls.iter().map(|record| {
            let Record {
                from,
                to,
                call,
                answer,
            } = record;
            format!("\n  {from:>3} to {to:>3}: {call:?} -> {answer:?}")
        });
        Err(format!("no order explains{}", lines.collect::<String>()))
    }
}

/// Whether the calls that are not in `done` can follow, one after the other, on `state`.
fn explain<S: Sequential>(
    calls: &[Record<S>],
    done: u64,
    state: &S,
    hopeless: &mut HashSet<(u64, S)>,
) -> bool {
    let open = |at: &usize| done & 1 << at == 0;
    // Whatever began after some open call had ended comes after that one.
    let Some(first_end) = (0..calls.len()).filter(open).map(|at| calls[at].to).min() else {
        return true;
    };
    if !hopeless.insert((done, state.clone())) {
        return false;
    }
    (0..calls.len())
        .filter(open)
        .filter(|&at| calls[at].from < first_end)
        .any(|at| {
            let mut next = state.clone();
            next.answer(&calls[at].call) == calls[at].answer
                && explain(calls, done | 1 << at, &next, hopeless)
        })
}

impl<S: Sequential> fmt::Debug for History<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("calls", &self.calls.lock().len())
            .finish_non_exhaustive()
    }
}

impl<S: Sequential> Default for History<S> {
    fn default() -> Self {
        History::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register.
    #[derive(Clone, PartialEq, Eq, Hash, Default)]
    struct Register(u32);

    #[derive(Debug)]
    enum Call {
        Write(u32),
        Read,
    }

    impl Sequential for Register {
        type Call = Call;
        type Answer = u32;

        fn answer(&mut self, call: &Call) -> u32 {
            if let Call::Write(value) = call {
                self.0 = *value;
            }
            self.0
        }
    }

    fn of(calls: Vec<(u64, u64, Call, u32)>) -> Result<(), String> {
        let history = History::<Register>::new();
        *history.calls.lock() = calls
            .into_iter()
            .map(|(from, to, call, answer)| Record {
                from,
                to,
                call,
                answer,
            })
            .collect();
        history.check(&Register::default())
    }

    #[test]
    fn overlapping_calls_may_come_in_any_order() {
        let write = || (0, 9, Call::Write(1), 1);
        assert!(of(vec![write(), (1, 2, Call::Read, 0), (3, 4, Call::Read, 1)]).is_ok());
        assert!(of(vec![write(), (1, 2, Call::Read, 1), (3, 4, Call::Read, 1)]).is_ok());
        let back = of(vec![write(), (1, 2, Call::Read, 1), (3, 4, Call::Read, 0)]);
        assert!(back.unwrap_err().contains("Read -> 0"));
    }

    #[test]
    fn what_did_not_overlap_keeps_its_order() {
        assert!(of(vec![(0, 1, Call::Write(1), 1), (2, 3, Call::Read, 1)]).is_ok());
        assert!(of(vec![(0, 1, Call::Write(1), 1), (2, 3, Call::Read, 0)]).is_err());
    }
}
