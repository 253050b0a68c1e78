//! How the processes of a run end together, and find out that all of them wait.
//!
//! A process is idle when all its ranks wait for messages or have ended. Each tells process 0 when it becomes idle,
//! with the number of messages it has sent and received. When all are idle and as many were received as sent,
//! process 0 asks them all once more: if nothing has moved, nothing ever will (the four-counter method: F. Mattern,
//! Algorithms for distributed termination detection, 1987). The run then ends with one report for all ranks.

use super::{CONTROL, Processes, number, run_of};
use crate::WaitReport;
use crate::report::written;
use crate::transport::Header;
use motet_dispatch::IdleWatch;
use motet_sync::atomic::Ordering;
use motet_sync::{Mutex, Unparker};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long process 0 waits for answers.
const PATIENCE: Duration = Duration::from_millis(300);

/// Why a run ends early, if not by a rank of this process.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    /// A rank of another process has failed.
    Elsewhere { process: usize, message: String },
    /// A process is gone.
    Lost { process: usize, reason: String },
    /// Processes have not come within the limit.
    Silent {
        processes: Vec<usize>,
        waited: Duration,
    },
    /// The transport has failed.
    Transport { reason: String },
    /// All ranks of all processes wait.
    Stuck(WaitReport),
}

/// A message, the process it is from, and what stands on it.
pub(crate) type Parcel = (usize, Header, Vec<u8>);

/// Messages that came before the run they are for.
pub(crate) type Later = Arc<Mutex<Vec<Parcel>>>;

/// What control messages say; their tag.
pub(super) const HELLO: u32 = 1;
const DONE: u32 = 2;
pub(super) const ENDED: u32 = 3;
const IDLE: u32 = 4;
const CHECK: u32 = 5;
const STILL: u32 = 6;
const STUCK: u32 = 7;
pub(super) const ALIVE: u32 = 8;
const LOSS: u32 = 9;

/// How far a process is with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Running,
    /// Its ranks have ended well. It carries messages on, and may leave when this is so of all processes.
    Done,
    /// It has ended the run early, or is lost.
    Gone,
}

/// Messages that a process's ranks have sent to others and received from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traffic {
    sent: u64,
    received: u64,
}

pub(super) struct Control {
    state: Mutex<State>,
    later: Later,
    /// The thread that has started the run.
    caller: Unparker,
}

struct State {
    /// By process.
    standing: Vec<Standing>,
    ending: Option<Ending>,
    /// What was last told to process 0.
    told: Option<Traffic>,
    /// The look that found this process idle, and the traffic then.
    found: Option<(usize, Traffic)>,
    /// On process 0, by process: what it told when it became idle.
    idle: Vec<Option<Traffic>>,
    /// On process 0: the number of times that all were asked, and when they were last.
    wave: u32,
    asked: Option<Instant>,
    /// On process 0, by process: the reports of those that have answered and are still idle.
    still: Vec<Option<WaitReport>>,
}

impl Control {
    pub(super) fn new(processes: usize, later: Later, caller: Unparker) -> Self {
        Control {
            state: Mutex::new(State {
                standing: vec![Standing::Running; processes],
                ending: None,
                told: None,
                found: None,
                idle: vec![None; processes],
                wave: 0,
                asked: None,
                still: vec![None; processes],
            }),
            later,
            caller,
        }
    }

    pub(super) fn keep_for_later(&self, process: usize, header: Header, payload: Vec<u8>) {
        self.later.lock().push((process, header, payload));
    }

    /// Whether the process has ended the run early, or is lost.
    pub(super) fn is_gone(&self, process: usize) -> bool {
        self.state.lock().standing[process] == Standing::Gone
    }
}

impl Processes {
    /// Delivers the messages of this run that came before it; forgets those of earlier ones.
    pub(crate) fn deliver_early(&self) {
        let mut early = Vec::new();
        self.control
            .later
            .lock()
            .retain_mut(|(process, header, payload)| {
                let ahead = run_of(header).wrapping_sub(self.run);
                if ahead == 0 {
                    early.push((*process, *header, std::mem::take(payload)));
                }
                (1..u16::MAX / 2).contains(&ahead)
            });
        early
            .into_iter()
            .for_each(|(process, header, payload)| self.deliver(process, header, payload));
    }

    /// A process tells something about the run.
    pub(super) fn told(&self, process: usize, header: Header, payload: &[u8]) {
        let control = &self.control;
        match header.tag {
            DONE => {
                control.state.lock().is_done(process);
                control.caller.unpark();
            }
            LOSS => {
                let state = control.state.lock();
                // Where the ranks have ended others may leave; and who says it may not have heard of that.
                if state.standing[self.own()] == Standing::Running {
                    drop(state);
                    let (process, reason) =
                        (header.source as usize, String::from_utf8_lossy(payload));
                    self.end(Ending::Lost {
                        process,
                        reason: reason.into_owned(),
                    });
                }
            }
            ENDED => {
                control.state.lock().standing[process] = Standing::Gone;
                let message = String::from_utf8_lossy(payload).into_owned();
                self.end(Ending::Elsewhere { process, message });
            }
            IDLE => control.state.lock().idle[process] = Traffic::read(payload),
            ALIVE => self.pulse.heard(process),
            CHECK => self.answer(header.source),
            STILL => self.answered(process, header.source, payload),
            STUCK => match written::read(payload) {
                Some(report) => self.end(Ending::Stuck(report)),
                None => self.end(Ending::Transport {
                    reason: format!("process {process} has sent a report that cannot be read"),
                }),
            },
            // A hello that was said twice says nothing new.
            _ => {}
        }
    }

    pub(super) fn tell(&self, process: usize, tag: u32, source: u32, payload: Vec<u8>) {
        let header = self.header(CONTROL, source, 0, tag);
        self.pass(process, header, payload);
    }

    fn tell_all(&self, tag: u32, payload: &[u8]) {
        for process in self.others() {
            if !self.control.is_gone(process) {
                self.tell(process, tag, 0, payload.to_vec());
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.own();
        (0..self.transport.processes()).filter(move |&process| process != own)
    }

    /// A process is lost. If its ranks had ended well, and all others have, it has only left; and that they have may
    /// not be known here yet.
    pub(super) fn lost(&self, process: usize, reason: String) {
        let running: Vec<usize> = {
            let mut state = self.control.state.lock();
            let standing = std::mem::replace(&mut state.standing[process], Standing::Gone);
            let may_leave = state.standing[self.own()] == Standing::Done;
            match (standing, may_leave) {
                (Standing::Gone, _) => return,
                (Standing::Done, true) => self
                    .others()
                    .filter(|&other| state.standing[other] == Standing::Running)
                    .collect(),
                _ => {
                    drop(state);
                    return self.end(Ending::Lost { process, reason });
                }
            }
        };
        // One of them whose ranks go on needs it.
        for other in running {
            self.tell(other, LOSS, number(process), reason.clone().into_bytes());
        }
        self.control.caller.unpark();
    }

    /// The run ends early; the first reason is kept.
    pub(super) fn end(&self, ending: Ending) {
        let found_here = match &ending {
            Ending::Lost { process, reason } => {
                Some(format!("process {process} is lost: {reason}"))
            }
            Ending::Transport { reason } => Some(reason.clone()),
            Ending::Elsewhere { .. } | Ending::Silent { .. } | Ending::Stuck(_) => None,
        };
        {
            let mut state = self.control.state.lock();
            if state.ending.is_some() {
                return;
            }
            if let Ending::Lost { process, .. } = &ending {
                state.standing[*process] = Standing::Gone;
            }
            state.ending = Some(ending);
        }
        self.hall.end_early();
        self.control.caller.unpark();
        if let Some(reason) = found_here {
            // Others may be unable to see it.
            self.tell_all(ENDED, reason.as_bytes());
        }
    }

    /// Why the run ends early, if it does and no rank here is to blame.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.control.state.lock().ending.clone()
    }

    /// A rank here has failed: the other processes are told.
    pub(crate) fn failed(&self, message: &str) {
        self.tell_all(ENDED, message.as_bytes());
    }

    /// All ranks here have ended well: the other processes are told.
    pub(crate) fn done(&self) {
        self.control.state.lock().is_done(self.own());
        self.tell_all(DONE, &[]);
    }

    /// Whether all processes have ended the run, or it ends early.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.control.state.lock();
        state.ending.is_some() || !state.someone_runs()
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.sent.load(Ordering::Acquire),
            received: self.received.load(Ordering::Acquire),
        }
    }

    /// The traffic, if all ranks here wait or have ended. Where they wait is kept.
    fn idle(&self, watch: &IdleWatch) -> Option<Traffic> {
        let (traffic, before) = (self.traffic(), watch.look()?);
        if self.control.state.lock().found == Some((before, traffic)) {
            return Some(traffic);
        }
        let report = self.hall.hopeless()?;
        if watch.look() != Some(before) || self.traffic() != traffic {
            return None;
        }
        let mut state = self.control.state.lock();
        state.still[self.own()] = Some(report);
        state.found = Some((before, traffic));
        Some(traffic)
    }

    /// Looks whether this process is idle, and on process 0 whether all are. Called from time to time.
    pub(crate) fn look_for_idleness(&self, watch: &IdleWatch) {
        let Some(traffic) = self.idle(watch) else {
            return;
        };
        let own = self.own();
        let news = self.control.state.lock().told.replace(traffic) != Some(traffic);
        if own != 0 {
            if news {
                self.tell(0, IDLE, 0, traffic.write());
            }
            return;
        }
        let wave = {
            let mut state = self.control.state.lock();
            state.idle[0] = Some(traffic);
            let told: Option<Vec<Traffic>> = state.idle.iter().copied().collect();
            let sum = |of: fn(&Traffic) -> u64| told.iter().flatten().map(of).sum::<u64>();
            let balanced = sum(|traffic| traffic.sent) == sum(|traffic| traffic.received);
            // An answer may take its time: it is waited for before they are asked again.
            let asked = state.asked.is_some_and(|asked| asked.elapsed() < PATIENCE);
            if told.is_none() || !balanced || !state.someone_runs() || asked {
                return;
            }
            state.wave += 1;
            state.asked = Some(Instant::now());
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

    /// Process 0 asks whether this one is still idle, as it has told: the answer says so, or nothing.
    fn answer(&self, wave: u32) {
        let (told, report) = {
            let state = self.control.state.lock();
            (state.told, state.still[self.own()].clone())
        };
        if let (Some(told), Some(report)) = (told, report)
            && told == self.traffic()
        {
            let mut payload = written::write(&report);
            payload.extend(told.write());
            self.tell(0, STILL, wave, payload);
        }
    }

    /// On process 0: another one is still idle.
    fn answered(&self, process: usize, wave: u32, payload: &[u8]) {
        let Some((report, traffic)) = payload.split_last_chunk::<16>() else {
            return;
        };
        {
            let mut state = self.control.state.lock();
            if state.wave != wave || Traffic::read(traffic) != state.idle[process] {
                return;
            }
            state.still[process] = written::read(report);
        }
        self.conclude();
    }

    /// On process 0: if all are still idle, the run ends.
    fn conclude(&self) {
        let report = {
            let state = self.control.state.lock();
            let all: Option<Vec<WaitReport>> = state.still.iter().cloned().collect();
            let (Some(all), true) = (all, state.idle[0] == Some(self.traffic())) else {
                return;
            };
            all.into_iter().reduce(WaitReport::followed_by)
        };
        // Their ranks may all have finished, and processes not have come to say so.
        if let Some(report) = report.filter(WaitReport::has_waiting) {
            self.tell_all(STUCK, &written::write(&report));
            self.end(Ending::Stuck(report));
        }
    }
}

impl State {
    /// A process's ranks have ended well.
    fn is_done(&mut self, process: usize) {
        if self.standing[process] == Standing::Running {
            self.standing[process] = Standing::Done;
        }
    }

    /// Whether there are ranks that have not ended.
    fn someone_runs(&self) -> bool {
        self.standing.contains(&Standing::Running)
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
    use crate::fabric::Hall;
    use crate::report::RankState;
    use crate::transport::{Transport, TransportError};
    use motet_sync::Parker;

    /// The first of two processes; the other says nothing by itself.
    struct First;

    impl Transport for First {
        fn process(&self) -> usize {
            0
        }

        fn processes(&self) -> usize {
            2
        }

        fn send(&self, _: usize, _: Header, _: Vec<u8>) -> Result<(), TransportError> {
            Ok(())
        }

        fn progress(
            &self,
            _: &mut dyn FnMut(usize, Header, Vec<u8>),
        ) -> Result<usize, TransportError> {
            Ok(0)
        }
    }

    /// How a run ends whose processes have one rank each, when both say that they are idle.
    fn ending_of(here: RankState, there: RankState) -> Option<Ending> {
        let (hall, caller) = (Arc::new(Hall::new(1, 1)), Parker::new());
        let limit = Duration::from_secs(60);
        let processes = Processes::new(
            hall,
            Arc::new(First),
            1,
            Box::new([0, 1, 2]),
            Later::default(),
            caller.unparker(),
            limit,
        );
        let quiet = Traffic {
            sent: 0,
            received: 0,
        };
        let report = |rank| WaitReport {
            ranks: vec![rank],
            unmatched: vec![],
        };
        {
            let mut state = processes.control.state.lock();
            state.idle = vec![Some(quiet); 2];
            state.still[0] = Some(report(here));
            state.wave = 1;
        }
        let mut answer = written::write(&report(there));
        answer.extend(quiet.write());
        processes.answered(1, 1, &answer);
        processes.ending()
    }

    #[test]
    fn a_run_whose_ranks_have_all_finished_is_not_stuck() {
        let ending = ending_of(RankState::Finished, RankState::Finished);
        assert!(ending.is_none(), "{ending:?}");
        let waiting = RankState::Waiting(vec![]);
        let ending = ending_of(RankState::Finished, waiting);
        assert!(matches!(ending, Some(Ending::Stuck(_))), "{ending:?}");
    }
}
