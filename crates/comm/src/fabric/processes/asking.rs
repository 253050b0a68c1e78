//! What the ranks of all processes do: one process asks, the others answer without their ranks'
//! help.

use super::RunProcesses;
use crate::asks::Asks;
use crate::report::{RankNow, WaitGraph};
use motet_sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What control messages say, beside those of `control`; their tag.
const WHY: u32 = 20;
const BECAUSE: u32 = 21;
const ASK: u32 = 22;

/// How long an asker waits before it looks again whether those that have not answered have left.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub(super) struct Asking {
    /// One asks at a time.
    turn: Mutex<()>,
    state: Mutex<State>,
    answered: Condvar,
    /// Of process 0: who prints reports.
    asks: Arc<Asks>,
}

#[derive(Default)]
struct State {
    /// The number of the question.
    number: u32,
    /// By process.
    answers: Vec<Option<WaitGraph>>,
    /// The run is over: nobody waits for answers any more.
    over: bool,
}

impl Asking {
    pub(super) fn new(asks: Arc<Asks>) -> Self {
        Asking {
            turn: Mutex::default(),
            state: Mutex::default(),
            answered: Condvar::new(),
            asks,
        }
    }
}

impl RunProcesses {
    /// Has process 0 make a report, for whoever waits for one there.
    pub(crate) fn ask(&self) {
        match self.own() {
            0 => self.asking.asks.ask(),
            _ => self.tell(0, ASK, 0, Vec::new()),
        }
    }

    /// What the ranks of all processes do. Who does not answer within the limit is named.
    pub(crate) fn why(&self, limit: Duration) -> WaitGraph {
        let _turn = self.asking.turn.lock();
        let (own, begun) = (self.own(), Instant::now());
        let number = {
            let mut state = self.asking.state.lock();
            state.number = state.number.wrapping_add(1);
            state.answers = vec![None; self.firsts.len() - 1];
            state.number
        };
        let others = self.others().filter(|&process| !self.has_left(process));
        others.for_each(|process| self.tell(process, WHY, number, Vec::new()));
        let here = self.local.look();
        let mut state = self.asking.state.lock();
        state.answers[own] = Some(here);
        loop {
            let missing =
                |process: usize, answer: &Option<_>| answer.is_none() && !self.has_left(process);
            let mut answers = state.answers.iter().enumerate();
            let all = !answers.any(|(process, answer)| missing(process, answer));
            let left = limit.saturating_sub(begun.elapsed());
            if all || state.over || left.is_zero() {
                break;
            }
            let slice = left.min(LOOK_AGAIN);
            state = self.asking.answered.wait_timeout(state, slice).0;
        }
        let answers = std::mem::take(&mut state.answers);
        drop(state);
        self.put_together(answers)
    }

    fn put_together(&self, answers: Vec<Option<WaitGraph>>) -> WaitGraph {
        let mut graph = WaitGraph::of(Duration::ZERO, Vec::new(), Vec::new());
        for (process, answer) in answers.into_iter().enumerate() {
            let ranks = self.firsts[process + 1] - self.firsts[process];
            match answer {
                Some(answer) => graph.append(answer),
                None if self.has_left(process) => {
                    let finished = vec![RankNow::Finished; ranks];
                    graph.append(WaitGraph::of(Duration::ZERO, finished, Vec::new()));
                }
                None => graph.append_silent(process, ranks),
            }
        }
        graph
    }

    /// The run is over: whoever waits for answers gives up.
    pub(crate) fn stop_asking(&self) {
        self.asking.state.lock().over = true;
        self.asking.answered.notify_all();
    }

    /// A process asks or answers.
    pub(super) fn told_why(&self, process: usize, tag: u32, number: u32, payload: &[u8]) {
        match tag {
            WHY => self.tell(process, BECAUSE, number, self.local.look().to_bytes()),
            BECAUSE => {
                let mut state = self.asking.state.lock();
                let fits = state.number == number;
                if let Some(answer) = state.answers.get_mut(process).filter(|_| fits) {
                    *answer = WaitGraph::from_bytes(payload);
                    self.asking.answered.notify_all();
                }
            }
            ASK => self.asking.asks.ask(),
            // A hello that was said twice says nothing new.
            _ => {}
        }
    }
}
