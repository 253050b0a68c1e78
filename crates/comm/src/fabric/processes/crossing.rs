//! How what the ranks of each process have brought to a collective comes to all processes.
//!
//! This is recursive doubling (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective
//! communication operations in MPICH, 2005). In step s two processes whose numbers differ
//! in bit s give each other all that they have. If the number of processes is no power of two, the
//! first few pair up before and after.
//!
//! Nothing of it depends on the ranks: a message that comes takes the crossing as far as it goes,
//! whoever takes it in. So a collective that was started takes place whether somebody waits for it
//! or not.

mod direct;
mod route;
mod sites;

pub(crate) use direct::DirectCrossing;
pub(crate) use route::Route;
pub(crate) use sites::Crossings;

use super::vectors::Pieces;
use super::{CROSSING, RunProcesses, context_of};
use crate::transport::Header;
use crate::wire::{Tail, put_number};
use motet_sync::atomic::Ordering;
use motet_sync::{Mutex, MutexGuard};
use route::Step;
use smallvec::SmallVec;
use std::mem;
use std::sync::Arc;

/// Where collectives cross: the place of a communicator, or that of one started collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CrossingSite {
    pub(crate) communicator: u32,
    /// The number of the collective, if it was started beside others; such are counted on their
    /// own.
    pub(crate) started: Option<u32>,
}

/// The collectives of a site, one after the other.
#[derive(Default)]
pub(crate) struct Crossing(Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    /// Once the ranks here have come, until everything is here.
    begun: Option<Begun>,
    /// What has come to that collective, of which processes; ours first.
    parts: ProcessParts,
    /// Messages for later steps, and for the next collective.
    early: Vec<Early>,
    /// Whether nobody here wants to know the outcome.
    abandoned: bool,
    /// For the next message.
    memory: Vec<u8>,
    /// For further parts.
    spare: Vec<Vec<u8>>,
    /// Of vectors that go beside the collectives.
    pub(super) pieces: Pieces,
}

struct Begun {
    number: u32,
    route: Arc<Route>,
    /// The step that comes next, and whether its message has been sent.
    step: usize,
    sent: bool,
}

/// What has come before it is its turn.
struct Early {
    number: u32,
    process: usize,
    step: u32,
    parts: ProcessParts,
}

/// What the ranks of one process have brought. Of this process, what another one may have to be
/// sent by it: see [`Route::passes_on`].
pub(crate) struct ProcessPart {
    pub(crate) process: usize,
    pub(crate) bytes: Vec<u8>,
}

/// What the ranks here have brought, and whether the first message of the crossing has gone.
pub(crate) struct OwnPart {
    part: ProcessPart,
    sent: bool,
}

/// Of two processes, most often.
pub(crate) type ProcessParts = SmallVec<[ProcessPart; 2]>;

/// What a crossing does next.
enum Next {
    /// A message to a process, with the number of the collective and the step's tag.
    Send(usize, (u32, u32), Vec<u8>),
    /// Nothing, before a message comes.
    Wait,
    Over(Arc<Route>),
}

/// A crossing keeps so much memory for further parts, of so many bytes each at most.
const SPARE_PARTS: usize = 4;
const KEPT: usize = 64 * 1024;

impl Crossing {
    /// The parts of all processes, in their order, when all are here: for the one that takes them.
    pub(crate) fn take_parts(&self, route: &Route) -> ProcessParts {
        route.begin_anew();
        let mut parts = mem::take(&mut self.0.lock().parts);
        parts.sort_unstable_by_key(|part| part.process);
        parts
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl RunProcesses {
    /// The ranks here come to collective `number` of a site with `values` and behind them `bytes`.
    /// The first message of the crossing goes, which needs nothing of what has come. What
    /// [`RunProcesses::begin_crossing`] is then to be told.
    pub(crate) fn send_first(
        &self,
        (site, number): (CrossingSite, u32),
        route: &Route,
        (values, bytes): (&[u8], Vec<u8>),
    ) -> OwnPart {
        let process = self.own();
        let first = route.steps().first().filter(|step| step.sends);
        if let Some(step) = first {
            let last = behind_part(process, values.len() + bytes.len()).to_le_bytes();
            let pieces = [values, &bytes, &last];
            self.cross(step.process, site, (number, step.tag), &pieces);
        }
        OwnPart {
            part: ProcessPart { process, bytes },
            sent: first.is_some(),
        }
    }

    /// The ranks here have come to collective `number` of a site; `spare` is memory for parts.
    pub(crate) fn begin_crossing(
        &self,
        (site, number): (CrossingSite, u32),
        (crossing, route): (&Crossing, &Arc<Route>),
        OwnPart { part, sent }: OwnPart,
        spare: &mut Vec<Vec<u8>>,
    ) {
        self.go_on(site, crossing, |state| {
            state.spare.append(spare);
            state.parts.push(part);
            state.begun = Some(Begun {
                number,
                route: Arc::clone(route),
                step: 0,
                sent,
            });
        });
    }

    /// Parts have come to collective `number` of a site from another process.
    pub(super) fn parts_came(
        &self,
        process: usize,
        site: CrossingSite,
        (number, step): (u32, u32),
        payload: &mut Vec<u8>,
    ) -> Option<()> {
        let crossing = self.crossings.of(site);
        let mut whole = None;
        self.go_on(site, &crossing, |state| {
            let memory = state.spare.pop().unwrap_or_else(|| Vec::with_capacity(128));
            if let Some(parts) = read_parts(mem::replace(payload, memory)) {
                whole = Some(());
                state.early.push(Early {
                    number,
                    process,
                    step,
                    parts,
                });
            }
        });
        whole
    }

    /// Sends what has been brought to collective `number` of a site to another process, in this
    /// step of the crossing.
    fn cross(
        &self,
        process: usize,
        site: CrossingSite,
        (number, step): (u32, u32),
        pieces: &[&[u8]],
    ) {
        let header = self.crossing_header(site, (number, step));
        self.sent.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.transport.send_pieces(process, header, pieces) {
            self.broken(error);
        }
    }

    fn crossing_header(&self, site: CrossingSite, (number, step): (u32, u32)) -> Header {
        Header {
            context: context_of(self.run, CROSSING, site.communicator),
            source: number,
            destination: u32::from(site.started.is_some()),
            tag: step,
        }
    }

    /// After this change takes the crossing as far as it goes.
    fn go_on(&self, site: CrossingSite, crossing: &Crossing, change: impl FnOnce(&mut State)) {
        let mut state = crossing.0.lock();
        change(&mut state);
        loop {
            match state.next() {
                Next::Wait => return,
                Next::Send(process, number_and_step, message) => {
                    drop(state);
                    self.cross(process, site, number_and_step, &[&message]);
                    state = crossing.0.lock();
                    state.memory = message;
                }
                Next::Over(route) => {
                    // Under the lock: whoever leaves sees that it is over, or is seen here.
                    route.end();
                    let abandoned = state.abandoned;
                    drop(state);
                    if abandoned {
                        self.crossings.forget(site);
                    }
                    return self.wake_all(route.here());
                }
            }
        }
    }
}

impl State {
    /// As a new one, but for the memory.
    fn clear(&mut self) {
        self.parts.clear();
        self.early.clear();
        self.pieces.clear();
        self.memory.clear();
        self.memory.shrink_to(KEPT);
        (self.begun, self.abandoned) = (None, false);
    }
}

/// Keeps memory of parts that nobody needs any more.
pub(crate) fn keep_spare(spare: &mut Vec<Vec<u8>>, parts: ProcessParts) {
    for ProcessPart { mut bytes, .. } in parts {
        if bytes.capacity() <= KEPT && spare.len() < SPARE_PARTS {
            bytes.clear();
            spare.push(bytes);
        }
    }
}

impl State {
    /// Takes the steps that can be taken up to the next message that is to be sent.
    fn next(&mut self) -> Next {
        let Some(begun) = self.begun.as_mut() else {
            return Next::Wait;
        };
        while let Some(step) = begun.route.steps().get(begun.step) {
            if step.sends && !begun.sent {
                begun.sent = true;
                let mut message = mem::take(&mut self.memory);
                write_parts(&self.parts, &mut message);
                return Next::Send(step.process, (begun.number, step.tag), message);
            }
            if step.receives {
                let Some(parts) = take_early(&mut self.early, begun.number, step) else {
                    return Next::Wait;
                };
                for part in parts {
                    if self.parts.iter().all(|known| known.process != part.process) {
                        self.parts.push(part);
                    }
                }
            }
            begun.step += 1;
            begun.sent = false;
        }
        let begun = self.begun.take();
        begun.map_or(Next::Wait, |begun| Next::Over(begun.route))
    }
}

/// What has come for this step of a collective.
fn take_early(early: &mut Vec<Early>, number: u32, step: &Step) -> Option<ProcessParts> {
    let is_it = |early: &Early| {
        (early.number, early.process, early.step) == (number, step.process, step.tag)
    };
    let at = early.iter().position(is_it)?;
    Some(early.swap_remove(at).parts)
}

fn write_parts(parts: &[ProcessPart], to: &mut Vec<u8>) {
    let bytes: usize = parts.iter().map(|part| part.bytes.len() + 8).sum();
    to.clear();
    // With room for what a transport may append.
    to.reserve(bytes + 64);
    for ProcessPart { process, bytes } in parts {
        to.extend_from_slice(bytes);
        put_number(to, behind_part(*process, bytes.len()));
    }
}

/// What stands behind a part of so many bytes.
fn behind_part(process: usize, bytes: usize) -> u64 {
    assert!(bytes < 1 << LENGTH, "{bytes} bytes");
    (process as u64) << LENGTH | bytes as u64
}

/// Behind each part stand its process and below it, in so many bits, its length.
const LENGTH: u32 = 40;

fn read_parts(mut message: Vec<u8>) -> Option<ProcessParts> {
    let (mut rest, mut parts) = (&message[..], ProcessParts::new());
    while !rest.is_empty() {
        let mut tail = Tail(rest);
        let last = tail.number()?;
        let process = (last >> LENGTH) as usize;
        let length = usize::try_from(last & ((1 << LENGTH) - 1)).ok()?;
        let begin = tail.0.len().checked_sub(length)?;
        if begin == 0 {
            // The first in the message, and often the only one, stays where it is.
            message.truncate(length);
            let bytes = message;
            parts.push(ProcessPart { process, bytes });
            break;
        }
        let bytes = tail.0[begin..].to_vec();
        parts.push(ProcessPart { process, bytes });
        rest = &rest[..begin];
    }
    Some(parts)
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use smallvec::smallvec;

    /// Every process ends with the parts of all, whoever goes first.
    #[test]
    fn everybody_gets_everything() {
        for processes in 1..40 {
            let hosts: Vec<usize> = (0..processes).map(|host| 3 * host).collect();
            let begin = |&own: &usize| State {
                begun: Route::new(own, &hosts, vec![]).map(|route| Begun {
                    number: 7,
                    route: Arc::new(route),
                    step: 0,
                    sent: false,
                }),
                parts: smallvec![ProcessPart {
                    process: own,
                    bytes: vec![own as u8; own],
                }],
                ..State::default()
            };
            let mut states: Vec<State> = hosts.iter().map(begin).collect();
            let (mut over, mut moved) = (0, true);
            while mem::take(&mut moved) {
                for own in 0..processes {
                    loop {
                        match states[own].next() {
                            Next::Wait => break,
                            Next::Over(_) => over += 1,
                            Next::Send(process, (number, step), payload) => {
                                states[process / 3].early.push(Early {
                                    number,
                                    process: hosts[own],
                                    step,
                                    parts: read_parts(payload).unwrap(),
                                });
                                moved = true;
                            }
                        }
                    }
                }
            }
            assert_eq!(over, processes, "all are done");
            for state in &mut states {
                state.parts.sort_unstable_by_key(|part| part.process);
                let known: Vec<usize> = state.parts.iter().map(|part| part.process).collect();
                assert_eq!(known, hosts);
                assert!(
                    state
                        .parts
                        .iter()
                        .all(|part| part.bytes.len() == part.process)
                );
                assert!(state.early.is_empty());
            }
        }
    }

    #[test]
    fn other_bytes_are_no_parts() {
        assert!(read_parts(vec![1, 2, 3]).is_none());
        assert!(read_parts(vec![255; 16]).is_none());
        assert_eq!(read_parts(vec![]).map(|parts| parts.len()), Some(0));
    }
}
