//! How processes find out that all of them wait.
//!
//! A process is idle when all its ranks wait for messages or have ended. Each tells process 0 when
//! it becomes idle, with the number of messages it has sent and received. When all are idle and as
//! many were received as sent, process 0 asks them all once more. If nothing has moved, nothing
//! ever will. This is the four-counter method (F. Mattern, Algorithms for distributed termination
//! detection, 1987). The run then ends with one report for all ranks.

use super::RunProcesses;
use super::control::{CHECK, EarlyEnd, IDLE, STILL, STUCK};
use crate::{RankState, WaitReport};
use motet_dispatch::IdleWatch;
use motet_sync::Mutex;
use motet_sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What is known of who waits.
pub(super) struct Stuck(Mutex<State>);

struct State {
    /// What was last told to process 0.
    told: Option<Traffic>,
    /// The look that found this process idle, and the traffic then.
    found: Option<(Still, Traffic)>,
    /// On process 0, by process: what it told when it became idle.
    idle: Vec<Option<Traffic>>,
    /// On process 0: the number of times that all were asked, and the last of them.
    wave: u32,
    asked: Option<Asked>,
    /// On process 0, by process: the reports of those that have answered and are still idle.
    still: Vec<Option<WaitReport>>,
}

/// All were asked whether they are still idle.
struct Asked {
    when: Instant,
    /// What they had told, by process.
    told: Vec<Traffic>,
    /// So many times in a row with this.
    times: u32,
}

/// What changes when something runs here: on a worker, or a rank that is a thread.
type Still = (usize, usize);

/// Messages that a process's ranks have sent to others and received from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traffic {
    sent: u64,
    received: u64,
}

/// How long process 0 waits for the first answers.
const PATIENCE: Duration = Duration::from_millis(300);
/// For later ones at most so many times as long.
const LONGEST: u32 = 30;

impl Stuck {
    pub(super) fn new(processes: usize) -> Self {
        Stuck(Mutex::new(State {
            told: None,
            found: None,
            idle: vec![None; processes],
            wave: 0,
            asked: None,
            still: vec![None; processes],
        }))
    }
}

impl RunProcesses {
    /// On process 0: another one has become idle.
    pub(super) fn became_idle(&self, process: usize, payload: &[u8]) {
        self.stuck.0.lock().idle[process] = Traffic::read(payload);
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.sent.load(Ordering::Acquire),
            received: self.received.load(Ordering::Acquire),
        }
    }

    /// The traffic, if all ranks here wait or have ended. Where they wait is kept.
    fn idle(&self, watch: &IdleWatch) -> Option<Traffic> {
        if self.waits_for_room() {
            return None;
        }
        let look = || Some((watch.look()?, self.local.thread_changes()));
        let (traffic, before) = (self.traffic(), look()?);
        if self.stuck.0.lock().found == Some((before, traffic)) {
            return Some(traffic);
        }
        let report = self.local.hopeless()?;
        // A rank that has failed here has ended before the others are told: they are not stuck.
        if look() != Some(before) || self.traffic() != traffic || self.local.is_over() {
            return None;
        }
        let mut state = self.stuck.0.lock();
        state.still[self.own()] = Some(report);
        state.found = Some((before, traffic));
        Some(traffic)
    }

    /// Looks whether this process is idle, and on process 0 whether all are. Called from time to
    /// time.
    pub(crate) fn look_for_idleness(&self, watch: &IdleWatch) {
        let Some(traffic) = self.idle(watch) else {
            return;
        };
        let own = self.own();
        let news = self.stuck.0.lock().told.replace(traffic) != Some(traffic);
        if own != 0 {
            if news {
                self.tell(0, IDLE, 0, traffic.write());
            }
            return;
        }
        let wave = {
            let mut state = self.stuck.0.lock();
            state.idle[0] = Some(traffic);
            let told: Option<Vec<Traffic>> = state.idle.iter().copied().collect();
            let sum = |of: fn(&Traffic) -> u64| told.iter().flatten().map(of).sum::<u64>();
            let balanced = sum(|traffic| traffic.sent) == sum(|traffic| traffic.received);
            let Some(told) = told.filter(|_| balanced && self.control.someone_runs()) else {
                return;
            };
            let Some(asked) = Asked::again(state.asked.as_ref(), told, Instant::now()) else {
                return;
            };
            state.wave += 1;
            state.asked = Some(asked);
            for process in 1..state.still.len() {
                state.still[process] = None;
            }
            state.wave
        };
        self.others()
            .for_each(|process| self.tell(process, CHECK, wave, Vec::new()));
        // Without others there is nobody to answer.
        self.conclude();
    }

    /// Process 0 asks whether this one is still idle, as it has told: the answer says so, or
    /// nothing.
    pub(super) fn answer(&self, wave: u32) {
        let changes = self.local.thread_changes();
        // A thread that was woken after it was found asleep may not have gone on yet.
        let sleeps = (changes == 0 || self.local.hopeless().is_some()) && !self.local.is_over();
        let (told, report) = {
            let state = self.stuck.0.lock();
            let found = state.found.filter(|_| sleeps);
            let same = found.filter(|((_, before), _)| *before == changes);
            (
                state.told.filter(|_| same.is_some()),
                state.still[self.own()].clone(),
            )
        };
        if let (Some(told), Some(report)) = (told, report)
            && told == self.traffic()
        {
            let mut payload = report.to_bytes();
            payload.extend(told.write());
            self.tell(0, STILL, wave, payload);
        }
    }

    /// On process 0: another one is still idle.
    pub(super) fn answered(&self, process: usize, wave: u32, payload: &[u8]) {
        let Some((report, traffic)) = payload.split_last_chunk::<16>() else {
            return;
        };
        {
            let mut state = self.stuck.0.lock();
            if state.wave != wave || Traffic::read(traffic) != state.idle[process] {
                return;
            }
            state.still[process] = WaitReport::from_bytes(report);
        }
        self.conclude();
    }

    /// On process 0: if all are still idle, the run ends.
    fn conclude(&self) {
        let report = {
            let state = self.stuck.0.lock();
            let all: Option<Vec<WaitReport>> = state.still.iter().cloned().collect();
            let (Some(all), true) = (all, state.idle[0] == Some(self.traffic())) else {
                return;
            };
            all.into_iter().reduce(WaitReport::followed_by)
        };
        let Some(report) = report else { return };
        // A program whose ranks are threads may still do something by signals. What will not come
        // for certain is that of a rank that has ended.
        let ended = report.ranks.contains(&RankState::Finished);
        // Their ranks may all have finished, and processes not have come to say so.
        if report.has_waiting() && (ended || self.local.thread_changes() == 0) {
            self.tell_all(STUCK, &report.to_bytes());
            self.end(EarlyEnd::Stuck(report));
        }
    }
}

impl Asked {
    /// That all are asked now; `None` while answers to the last time are waited for. Those that
    /// come later are thrown away, so each time is longer: messages may take any time.
    fn again(last: Option<&Asked>, told: Vec<Traffic>, now: Instant) -> Option<Asked> {
        let same = last.filter(|last| last.told == told);
        let before = same.map_or(0, |last| last.times);
        let patience = PATIENCE * before.clamp(1, LONGEST);
        if last.is_some_and(|last| now.saturating_duration_since(last.when) < patience) {
            return None;
        }
        Some(Asked {
            when: now,
            told,
            times: before.saturating_add(1),
        })
    }
}

impl Traffic {
    fn write(self) -> Vec<u8> {
        [self.sent.to_le_bytes(), self.received.to_le_bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (sent, received) = bytes.split_first_chunk()?;
        Some(Traffic {
            sent: u64::from_le_bytes(*sent),
            received: u64::from_le_bytes(received.try_into().ok()?),
        })
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::fabric::processes::tests::first_of_two;
    use crate::report::RankState;
    use motet_dispatch::Dispatcher;
    use motet_sync::thread;

    /// How a run ends whose processes have one rank each, when both say that they are idle.
    fn ending_of(here: RankState, there: RankState) -> Option<EarlyEnd> {
        ending_with(here, there, false)
    }

    /// The same; the rank here may be a thread.
    fn ending_with(here: RankState, there: RankState, is_thread: bool) -> Option<EarlyEnd> {
        let processes = first_of_two(std::sync::Arc::default());
        if is_thread {
            processes.local.thread_blocks();
        }
        let quiet = Traffic {
            sent: 0,
            received: 0,
        };
        let report = |rank| WaitReport {
            ranks: vec![rank],
            unmatched: vec![],
        };
        {
            let mut state = processes.stuck.0.lock();
            state.idle = vec![Some(quiet); 2];
            state.still[0] = Some(report(here));
            state.wave = 1;
        }
        let mut answer = report(there).to_bytes();
        answer.extend(quiet.write());
        processes.answered(1, 1, &answer);
        processes.ending()
    }

    #[test]
    fn a_process_whose_rank_has_failed_is_not_idle() {
        let dispatcher = Dispatcher::new(1);
        let watch = dispatcher.idle_watch();
        let ended = |fails: bool| {
            let processes = first_of_two(std::sync::Arc::default());
            if fails {
                processes.local.end_early();
            }
            processes.local.slot(0).set_finished();
            processes
        };
        let well = ended(false);
        while well.idle(&watch).is_none() {
            // The worker does not sleep yet.
            thread::yield_now();
        }
        assert!(ended(true).idle(&watch).is_none());
    }

    #[test]
    fn answers_are_waited_for_longer_from_time_to_time_while_nothing_moves() {
        let told = |sent| vec![Traffic { sent, received: 0 }; 2];
        let begun = Instant::now();
        let mut asked = Asked::again(None, told(1), begun).expect("nobody was asked");
        for times in [1, 2, 3, 4] {
            let early = asked.when + PATIENCE * times - Duration::from_millis(1);
            assert!(Asked::again(Some(&asked), told(1), early).is_none());
            let late = asked.when + PATIENCE * times;
            asked = Asked::again(Some(&asked), told(1), late).expect("it has waited");
        }
        // Something has moved: these answers are not wanted any more.
        let moved = Asked::again(Some(&asked), told(2), asked.when + PATIENCE).unwrap();
        assert_eq!(moved.times, 1);
        asked.times = u32::MAX;
        let late = asked.when + PATIENCE * LONGEST;
        assert!(Asked::again(Some(&asked), told(1), late).is_some());
    }

    #[test]
    fn a_run_whose_ranks_have_all_finished_is_not_stuck() {
        let ending = ending_of(RankState::Finished, RankState::Finished);
        assert!(ending.is_none(), "{ending:?}");
        let waiting = RankState::Waiting(vec![]);
        let ending = ending_of(RankState::Finished, waiting);
        assert!(matches!(ending, Some(EarlyEnd::Stuck(_))), "{ending:?}");
    }

    #[test]
    fn ranks_that_are_threads_are_stuck_when_one_has_ended() {
        let waiting = || RankState::Waiting(vec![]);
        let ending = ending_with(waiting(), waiting(), true);
        assert!(ending.is_none(), "{ending:?}");
        let ending = ending_with(waiting(), RankState::Finished, true);
        assert!(matches!(ending, Some(EarlyEnd::Stuck(_))), "{ending:?}");
    }
}
