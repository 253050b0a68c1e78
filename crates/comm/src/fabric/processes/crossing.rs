//! How what the ranks of each process have brought to a meeting comes to all processes.
//!
//! Recursive doubling (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in
//! MPICH, 2005): in step s a process gives all that it has to the one whose number differs in bit s, and gets all that
//! that one has. If the number of processes is no power of two, the first few pair up before and after.
//!
//! Nothing of it depends on the ranks: a message that comes takes the crossing as far as it goes, whoever takes it in.
//! So a collective that was started takes place whether somebody waits for it or not.

use super::Processes;
use crate::wire::{Tail, put_number};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use smallvec::SmallVec;
use std::mem;
use std::sync::Arc;

/// Which meeting a crossing belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) communicator: u32,
    /// Whether the collective was started beside others; such are counted on their own.
    pub(crate) started: bool,
    /// Which meeting of the communicator.
    pub(crate) number: u32,
}

/// Those that are under way here, or elsewhere already.
#[derive(Default)]
pub(crate) struct Crossings(Mutex<All>);

#[derive(Default)]
struct All {
    /// A list: mostly there is one.
    under_way: Vec<(Key, Arc<Crossing>)>,
    /// Those that are over, whose memory is used again; and memory for parts.
    spare: Vec<Arc<Crossing>>,
    bytes: Vec<Vec<u8>>,
}

#[derive(Default)]
pub(crate) struct Crossing {
    state: Mutex<State>,
    done: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Once the ranks here have come.
    begun: Option<Begun>,
    /// What has come, of which processes; ours first.
    parts: Parts,
    /// Messages for later steps.
    early: Vec<(usize, u32, Parts)>,
    /// Whether nobody here wants to know the outcome.
    abandoned: bool,
    /// For the next message.
    memory: Vec<u8>,
}

struct Begun {
    route: Arc<Route>,
    /// Who waits for the parts of all processes looks here.
    here: Arc<AtomicBool>,
    /// The step that comes next, and whether its message has been sent.
    step: usize,
    sent: bool,
}

/// What the ranks of one process have brought.
pub(crate) struct Part {
    pub(crate) process: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Of two processes, most often.
pub(crate) type Parts = SmallVec<[Part; 2]>;

/// What a crossing does next.
enum Next {
    /// A message to a process, with the step's tag.
    Send(usize, u32, Vec<u8>),
    /// Nothing, before a message comes.
    Wait,
    Over(Begun),
}

/// How the meetings of a communicator cross.
pub(crate) struct Route {
    steps: Vec<Step>,
    /// The ranks of the world that take part here.
    here: Vec<usize>,
}

/// One message to another process or from it, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    process: usize,
    sends: bool,
    receives: bool,
    tag: u32,
}

/// So many crossings that are over are kept for others, and so much memory for parts: each of so many bytes at most.
const SPARE: usize = 8;
const KEPT: usize = 64 * 1024;

/// The tag of the message that brings everything to those that stood aside.
const RESULT: u32 = u32::MAX;

impl Route {
    /// The route of process `own` of these, in ascending order, whose ranks `here` take part; `None` if it is not
    /// among them.
    pub(crate) fn new(own: usize, hosts: &[usize], here: Vec<usize>) -> Option<Self> {
        let place = hosts.iter().position(|&host| host == own)?;
        let mut steps = steps(place, hosts.len());
        for step in &mut steps {
            step.process = hosts[step.process];
        }
        Some(Route { steps, here })
    }
}

impl Crossing {
    /// Whether the parts of all processes are here.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// The parts of all processes, in their order.
    pub(crate) fn take_parts(&self) -> Parts {
        let mut parts = mem::take(&mut self.state.lock().parts);
        parts.sort_unstable_by_key(|part| part.process);
        parts
    }
}

impl Crossings {
    /// Empty bytes with room for a few.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let spare = self.0.lock().bytes.pop();
        spare.unwrap_or_else(|| Vec::with_capacity(128))
    }

    fn of(&self, key: Key) -> Arc<Crossing> {
        let mut all = self.0.lock();
        let mut under_way = all.under_way.iter();
        if let Some((_, known)) = under_way.find(|(other, _)| *other == key) {
            return Arc::clone(known);
        }
        let new = all.spare.pop().unwrap_or_default();
        all.under_way.push((key, Arc::clone(&new)));
        new
    }

    /// Nobody here wants to know the crossing's outcome; it goes on for the others.
    pub(crate) fn abandon(&self, key: Key, crossing: &Crossing) {
        let mut state = crossing.state.lock();
        state.abandoned = true;
        if crossing.is_done() {
            drop(state);
            self.forget(key, Parts::new());
        }
    }

    /// The crossing's outcome is taken care of.
    pub(crate) fn forget(&self, key: Key, mut parts: Parts) {
        let mut all = self.0.lock();
        for Part { bytes, .. } in &mut parts {
            if bytes.capacity() <= KEPT && all.bytes.len() < SPARE {
                bytes.clear();
                all.bytes.push(mem::take(bytes));
            }
        }
        let mut under_way = all.under_way.iter();
        if let Some(at) = under_way.position(|(other, _)| *other == key) {
            let (_, mut over) = all.under_way.swap_remove(at);
            // Who still has it is done with it, and lets go of it.
            if all.spare.len() < SPARE
                && let Some(over) = Arc::get_mut(&mut over)
            {
                over.clear();
            } else {
                return;
            }
            all.spare.push(over);
        }
    }
}

impl Processes {
    /// The ranks here have come to a meeting with `bytes`.
    pub(crate) fn begin_crossing(
        &self,
        key: Key,
        route: &Arc<Route>,
        bytes: Vec<u8>,
        here: &Arc<AtomicBool>,
    ) -> Arc<Crossing> {
        let crossing = self.crossings.of(key);
        self.go_on(key, &crossing, |state| {
            let process = self.own();
            state.parts.push(Part { process, bytes });
            state.begun = Some(Begun {
                route: Arc::clone(route),
                here: Arc::clone(here),
                step: 0,
                sent: false,
            });
        });
        crossing
    }

    /// Parts of a crossing have come from another process.
    pub(super) fn parts_came(
        &self,
        process: usize,
        key: Key,
        step: u32,
        payload: &mut Vec<u8>,
    ) -> Option<()> {
        let parts = read_parts(mem::replace(payload, self.crossings.bytes()))?;
        let crossing = self.crossings.of(key);
        self.go_on(key, &crossing, |state| {
            state.early.push((process, step, parts));
        });
        Some(())
    }

    /// After this change takes the crossing as far as it goes.
    fn go_on(&self, key: Key, crossing: &Crossing, change: impl FnOnce(&mut State)) {
        let mut state = crossing.state.lock();
        change(&mut state);
        loop {
            match state.next() {
                Next::Wait => return,
                Next::Send(process, step, mut message) => {
                    drop(state);
                    self.cross(process, key, step, &mut message);
                    state = crossing.state.lock();
                    state.memory = message;
                }
                Next::Over(Begun { route, here, .. }) => {
                    // Under the lock: whoever abandons it sees this, or is seen here.
                    crossing.done.store(true, Ordering::Release);
                    here.store(true, Ordering::Release);
                    let abandoned = state.abandoned;
                    drop(state);
                    if abandoned {
                        self.crossings.forget(key, Parts::new());
                    }
                    return route.here.iter().for_each(|&rank| self.wake(rank));
                }
            }
        }
    }
}

impl Crossing {
    /// As a new one, but for the memory.
    fn clear(&mut self) {
        let mut state = self.state.lock();
        state.parts.clear();
        state.early.clear();
        state.memory.clear();
        state.memory.shrink_to(KEPT);
        (state.begun, state.abandoned) = (None, false);
        self.done.store(false, Ordering::Relaxed);
    }
}

impl State {
    /// Takes the steps that can be taken up to the next message that is to be sent.
    fn next(&mut self) -> Next {
        let Some(begun) = self.begun.as_mut() else {
            return Next::Wait;
        };
        while let Some(step) = begun.route.steps.get(begun.step) {
            if step.sends && !begun.sent {
                begun.sent = true;
                let mut message = mem::take(&mut self.memory);
                write_parts(&self.parts, &mut message);
                return Next::Send(step.process, step.tag, message);
            }
            if step.receives {
                let fits = |(process, tag, _): &(usize, u32, _)| {
                    (*process, *tag) == (step.process, step.tag)
                };
                let Some(at) = self.early.iter().position(fits) else {
                    return Next::Wait;
                };
                let (_, _, parts) = self.early.swap_remove(at);
                for part in parts {
                    if self.parts.iter().all(|known| known.process != part.process) {
                        self.parts.push(part);
                    }
                }
            }
            begun.step += 1;
            begun.sent = false;
        }
        self.begun.take().map_or(Next::Wait, Next::Over)
    }
}

fn write_parts(parts: &[Part], to: &mut Vec<u8>) {
    let bytes: usize = parts.iter().map(|part| part.bytes.len() + 8).sum();
    to.clear();
    // With room for what a transport may append.
    to.reserve(bytes + 64);
    for Part { process, bytes } in parts {
        to.extend_from_slice(bytes);
        assert!(bytes.len() < 1 << LENGTH, "{} bytes", bytes.len());
        put_number(to, (*process as u64) << LENGTH | bytes.len() as u64);
    }
}

/// Behind each part stand its process and below it, in so many bits, its length.
const LENGTH: u32 = 40;

fn read_parts(mut message: Vec<u8>) -> Option<Parts> {
    let (mut rest, mut parts) = (&message[..], Parts::new());
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
            parts.push(Part { process, bytes });
            break;
        }
        let bytes = tail.0[begin..].to_vec();
        parts.push(Part { process, bytes });
        rest = &rest[..begin];
    }
    Some(parts)
}

/// What process `own` of `processes` does in a meeting; processes are numbered as they take part.
fn steps(own: usize, processes: usize) -> Vec<Step> {
    let step = |process, sends, receives, tag| Step {
        process,
        sends,
        receives,
        tag,
    };
    let levels = processes.ilog2();
    // So many pairs send one of them ahead.
    let pairs = processes - (1 << levels);
    if own < 2 * pairs && own % 2 == 1 {
        return vec![
            step(own - 1, true, false, 0),
            step(own - 1, false, true, RESULT),
        ];
    }
    let mut steps = Vec::new();
    if own < 2 * pairs {
        steps.push(step(own + 1, false, true, 0));
    }
    let place = if own < 2 * pairs {
        own / 2
    } else {
        own - pairs
    };
    for level in 0..levels {
        let other = place ^ (1 << level);
        let process = if other < pairs {
            2 * other
        } else {
            other + pairs
        };
        steps.push(step(process, true, true, level + 1));
    }
    if own < 2 * pairs {
        steps.push(step(own + 1, true, false, RESULT));
    }
    steps
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
                    route: Arc::new(route),
                    here: Arc::default(),
                    step: 0,
                    sent: false,
                }),
                parts: smallvec![Part {
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
                            Next::Send(process, step, payload) => {
                                let parts = read_parts(payload).unwrap();
                                states[process / 3].early.push((hosts[own], step, parts));
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
