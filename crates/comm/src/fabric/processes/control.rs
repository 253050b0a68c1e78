//! What the processes of a run tell each other about it, and how they end it together.

use super::profiles::PROFILE;
use super::{CONTROL, RunProcesses, number, run_of};
use crate::WaitReport;
use crate::transport::Header;
use motet_sync::{Mutex, Unparker};
use std::sync::Arc;
use std::time::Duration;

/// Why a run ends early, if not by a rank of this process.
#[derive(Debug, Clone)]
pub(crate) enum EarlyEnd {
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
pub(crate) type IncomingMessage = (usize, Header, Vec<u8>);

/// Messages that came before the run they are for.
pub(crate) type Later = Arc<Mutex<Vec<IncomingMessage>>>;

/// What control messages say; their tag.
pub(super) const HELLO: u32 = 1;
const DONE: u32 = 2;
pub(super) const ENDED: u32 = 3;
pub(super) const IDLE: u32 = 4;
pub(super) const CHECK: u32 = 5;
pub(super) const STILL: u32 = 6;
pub(super) const STUCK: u32 = 7;
pub(super) const ALIVE: u32 = 8;
const LOSS: u32 = 9;

/// How far a process is with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Running,
    /// Its ranks have ended well. It carries messages on, and may leave when this is so of all
    /// processes.
    Done,
    /// It has ended the run early, or is lost.
    Gone,
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
    ending: Option<EarlyEnd>,
    /// A thread tells the others why the run ends.
    telling: bool,
}

/// This thread tells the others why the run ends. Dropped, it has told them, or panics.
struct EndTelling<'a>(&'a Control);

impl Control {
    pub(super) fn new(processes: usize, later: Later, caller: Unparker) -> Self {
        Control {
            state: Mutex::new(State {
                standing: vec![Standing::Running; processes],
                ending: None,
                telling: false,
            }),
            later,
            caller,
        }
    }

    pub(super) fn keep_for_later(&self, process: usize, header: Header, payload: Vec<u8>) {
        self.later.lock().push((process, header, payload));
    }

    /// Whether the ranks of the process have all ended, well or not.
    fn has_left(&self, process: usize) -> bool {
        self.state.lock().standing[process] != Standing::Running
    }

    /// Whether there are ranks that have not ended.
    pub(super) fn someone_runs(&self) -> bool {
        self.state.lock().someone_runs()
    }

    /// Whether the process has ended the run early, or is lost.
    pub(super) fn is_gone(&self, process: usize) -> bool {
        self.state.lock().standing[process] == Standing::Gone
    }
}

impl RunProcesses {
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
            .for_each(|(process, header, mut payload)| self.deliver(process, header, &mut payload));
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
                // Where the ranks have ended others may leave; and who says it may not have heard
                // of that.
                if state.standing[self.own()] == Standing::Running {
                    drop(state);
                    let (process, reason) =
                        (header.source as usize, String::from_utf8_lossy(payload));
                    self.end(EarlyEnd::Lost {
                        process,
                        reason: reason.into_owned(),
                    });
                }
            }
            ENDED => {
                control.state.lock().standing[process] = Standing::Gone;
                let message = String::from_utf8_lossy(payload).into_owned();
                self.end(EarlyEnd::Elsewhere { process, message });
            }
            IDLE => self.became_idle(process, payload),
            ALIVE => self.heartbeat.heard(process),
            CHECK => self.answer(header.source),
            STILL => self.answered(process, header.source, payload),
            STUCK => match WaitReport::from_bytes(payload) {
                Some(report) => self.end(EarlyEnd::Stuck(report)),
                None => self.end(EarlyEnd::Transport {
                    reason: format!("process {process} has sent a report that cannot be read"),
                }),
            },
            PROFILE => self.profile_came(process, payload),
            tag => self.told_why(process, tag, header.source, payload),
        }
    }

    pub(super) fn tell(&self, process: usize, tag: u32, source: u32, mut payload: Vec<u8>) {
        let header = self.header(CONTROL, source, 0, tag);
        self.pass(process, header, &mut payload);
    }

    pub(super) fn tell_all(&self, tag: u32, payload: &[u8]) {
        for process in self.others() {
            if !self.control.is_gone(process) {
                self.tell(process, tag, 0, payload.to_vec());
            }
        }
    }

    /// Whether the ranks of a process have all ended.
    pub(super) fn has_left(&self, process: usize) -> bool {
        self.control.has_left(process)
    }

    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.own();
        (0..self.transport.processes()).filter(move |&process| process != own)
    }

    /// A process is lost. If its ranks had ended well, and all others have, it has only left; and
    /// that they have may not be known here yet.
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
                    return self.end(EarlyEnd::Lost { process, reason });
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
    pub(super) fn end(&self, ending: EarlyEnd) {
        let found_here = match &ending {
            EarlyEnd::Lost { process, reason } => {
                Some(format!("process {process} is lost: {reason}"))
            }
            EarlyEnd::Transport { reason } => Some(reason.clone()),
            EarlyEnd::Elsewhere { .. } | EarlyEnd::Silent { .. } | EarlyEnd::Stuck(_) => None,
        };
        {
            let mut state = self.control.state.lock();
            if state.ending.is_some() {
                return;
            }
            if let EarlyEnd::Lost { process, .. } = &ending {
                state.standing[*process] = Standing::Gone;
            }
            state.ending = Some(ending);
            state.telling = found_here.is_some();
        }
        let told = found_here.map(|reason| (reason, EndTelling(&self.control)));
        self.local.end_early();
        self.control.caller.unpark();
        if let Some((reason, _telling)) = told {
            // Others may be unable to see it.
            self.tell_all(ENDED, reason.as_bytes());
        }
    }

    /// Whether a thread is telling the others why the run ends. This process should not leave
    /// before: they would take it for the one that is lost.
    pub(crate) fn is_telling(&self) -> bool {
        self.control.state.lock().telling
    }

    /// Why the run ends early, if it does and no rank here is to blame.
    pub(crate) fn ending(&self) -> Option<EarlyEnd> {
        self.control.state.lock().ending.clone()
    }

    /// A rank here has failed: the other processes are told.
    pub(crate) fn failed(&self, message: &str) {
        self.tell_all(ENDED, message.as_bytes());
    }

    /// Somebody here who is no rank ends the run, in all processes.
    pub(crate) fn give_up(&self, reason: &str) {
        // First: from the end on this process may leave.
        self.failed(reason);
        self.end(EarlyEnd::Elsewhere {
            process: self.own(),
            message: reason.to_owned(),
        });
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
}

impl Drop for EndTelling<'_> {
    fn drop(&mut self) {
        self.0.state.lock().telling = false;
        self.0.caller.unpark();
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

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::fabric::processes::tests::first_over;
    use crate::transport::{Transport, TransportError};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The first of two. It can send nothing.
    struct SendsPanic;

    impl Transport for SendsPanic {
        fn process(&self) -> usize {
            0
        }

        fn processes(&self) -> usize {
            2
        }

        fn send(&self, _: usize, _: Header, _: &mut Vec<u8>) -> Result<(), TransportError> {
            panic!("of the test")
        }

        fn progress(
            &self,
            _: &mut dyn FnMut(usize, Header, &mut Vec<u8>),
        ) -> Result<usize, TransportError> {
            Ok(0)
        }
    }

    #[test]
    fn who_panics_while_it_tells_the_others_tells_them_no_longer() {
        let processes = first_over(Arc::new(SendsPanic));
        let reason = "it has failed".to_owned();
        let end = || processes.end(EarlyEnd::Transport { reason });
        let ended = catch_unwind(AssertUnwindSafe(end));
        assert!(ended.is_err(), "it is told");
        assert!(!processes.is_telling());
        assert!(processes.ending().is_some());
    }
}
