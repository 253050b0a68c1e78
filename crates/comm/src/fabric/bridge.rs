//! Where the ranks of a communicator meet that live in several processes.
//!
//! Those of one process meet as on the fabric `threads`. When all are here, what they have brought goes to the other
//! processes: whoever waits for the total takes the crossing a step further when it can. Between processes that is recursive
//! doubling (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH,
//! 2005): in step s a process exchanges what it has with the one whose number differs in bit s. If the number of
//! processes is no power of two, the first few pair up before and after.
//!
//! Ranks need not be numbered process by process: what is on the way are runs of neighbouring ranks, which are
//! combined when they meet. So the operator need not commute.

use super::call::Call;
use super::meeting::Meeting;
use super::processes::{Key, Processes};
use crate::wire::{Tail, decode, encode, known, put_number, put_text};
use crate::{CommError, Value};
use motet_sync::Mutex;
use motet_sync::atomic::{Ordering, fence};
use std::any::Any;
use std::sync::Arc;

pub(crate) struct Bridge {
    meeting: Meeting,
    processes: Arc<Processes>,
    communicator: u32,
    /// The ranks here, in their order.
    here: Box<[usize]>,
    /// Whether this is the place of one started collective; then its number.
    started: Option<u32>,
    /// What the process does in a meeting, in this order.
    steps: Box<[Step]>,
    /// The [`Crossing`] that is under way. Whoever waits for the meeting may take it further.
    crossing: Mutex<Option<Box<dyn Any + Send>>>,
}

/// One message to another process or from it, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    process: usize,
    sends: bool,
    receives: Receives,
    tag: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receives {
    Nothing,
    /// What is combined with what is here.
    Part,
    /// What takes its place.
    All,
}

/// The tag of the message that brings the total to those that stood aside.
const RESULT: u32 = u32::MAX;

/// What neighbouring ranks have brought, combined.
struct Run<V> {
    first: usize,
    ranks: usize,
    value: V,
}

/// In the order of ranks; no two runs are neighbours.
pub(super) struct Runs<V>(Vec<Run<V>>);

/// One meeting between processes.
struct Crossing<V> {
    call: Call,
    number: u32,
    /// What has come together, or why it cannot.
    runs: Result<Runs<V>, Box<CommError>>,
    /// The step that comes next, and whether its message has been sent.
    step: usize,
    sent: bool,
}

impl Bridge {
    /// A place for the members of a communicator, given as ranks of the world; `None` when none lives here.
    pub(crate) fn new(
        processes: &Arc<Processes>,
        communicator: u32,
        members: impl Iterator<Item = usize>,
        started: Option<u32>,
    ) -> Option<Self> {
        let (mut here, mut hosts) = (Vec::new(), Vec::new());
        for (rank, member) in members.enumerate() {
            let host = processes.process_of(member);
            if host == processes.own() {
                here.push(rank);
            }
            if hosts.last() != Some(&host) {
                hosts.push(host);
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        let own = hosts.iter().position(|&host| host == processes.own())?;
        let here = here.into_boxed_slice();
        Some(Bridge {
            meeting: Meeting::of(here.clone()),
            processes: Arc::clone(processes),
            communicator,
            here,
            started,
            steps: steps(own, hosts.len())
                .into_iter()
                .map(|step| Step {
                    process: hosts[step.process],
                    ..step
                })
                .collect(),
            crossing: Mutex::new(None),
        })
    }

    /// The number of ranks here.
    pub(super) fn ranks_here(&self) -> usize {
        self.here.len()
    }

    /// A rank comes to meeting `number` of the communicator.
    ///
    /// # Safety
    /// As [`Meeting::arrive`].
    pub(crate) unsafe fn arrive<V: Value>(
        &self,
        rank: usize,
        call: Call,
        value: V,
        number: u32,
        combine: impl Fn(V, V) -> V,
    ) {
        let runs = Runs(vec![Run {
            first: rank,
            ranks: 1,
            value,
        }]);
        let join = |left: Runs<V>, right| left.join(right, &combine);
        // SAFETY: the caller promises it.
        if unsafe { self.meeting.come(self.place(rank), call, runs, join) } {
            let crossing = Crossing::<V> {
                call,
                number: self.started.unwrap_or(number),
                // SAFETY: this rank was the last to come.
                runs: unsafe { self.meeting.combined() },
                step: 0,
                sent: false,
            };
            *self.crossing.lock() = Some(Box::new(crossing));
        }
    }

    /// Takes the crossing further, if one is under way and nobody else is at it. When it has come to its end the
    /// total, which `finish` makes of the combined value, is published; the ranks that sleep until
    /// then are to be woken.
    pub(crate) fn go_on<V: Value, S: Send + Sync + 'static>(
        &self,
        combine: impl Fn(V, V) -> V,
        finish: impl FnOnce(V) -> S,
    ) -> Vec<usize> {
        let Some(mut crossing) = self.crossing.try_lock() else {
            return Vec::new();
        };
        let under_way = crossing
            .as_mut()
            .and_then(|any| any.downcast_mut::<Crossing<V>>());
        let Some(combined) = under_way.and_then(|crossing| crossing.go_on(self, combine)) else {
            return Vec::new();
        };
        *crossing = None;
        // SAFETY: all ranks have come, and only who takes the crossing away publishes.
        unsafe { self.meeting.publish(combined.map(finish)) };
        fence(Ordering::SeqCst);
        let places = self.meeting.sleepers().into_iter();
        places.map(|place| self.here[place]).collect()
    }

    fn place(&self, rank: usize) -> usize {
        let place = self.here.binary_search(&rank);
        place.expect("the rank lives here")
    }

    /// Rank `rank`, `world_rank` of the world, is about to sleep until the meeting takes place, or a message brings
    /// its crossing further.
    pub(crate) fn add_sleeper<V: Value>(&self, rank: usize, world_rank: usize) {
        self.meeting.add_sleeper(self.place(rank));
        let crossing = self.crossing.lock();
        let under_way = crossing
            .as_ref()
            .and_then(|any| any.downcast_ref::<Crossing<V>>());
        if let Some(crossing) = under_way
            && let Some(step) = self.steps.get(crossing.step)
        {
            self.processes
                .crossings
                .await_for(self.key(crossing.number, step), world_rank);
        }
    }

    #[inline]
    pub(super) fn has_taken_place(&self, number: u32) -> bool {
        self.meeting.has_taken_place(number) || {
            self.processes.poll();
            self.meeting.has_taken_place(number)
        }
    }

    /// # Safety
    /// As [`Meeting::read`].
    pub(super) unsafe fn read<S: Send + Sync + 'static, R>(
        &self,
        read: impl FnOnce(&S) -> R,
    ) -> Result<R, CommError> {
        // SAFETY: the caller promises it.
        unsafe { self.meeting.read(read) }
    }

    fn key(&self, number: u32, step: &Step) -> Key {
        Key {
            communicator: self.communicator,
            started: self.started.is_some(),
            number,
            step: step.tag,
            process: step.process,
        }
    }
}

impl<V: Value> Crossing<V> {
    /// Goes on as far as it can; the combined value of all ranks when it has come to the end.
    fn go_on(
        &mut self,
        bridge: &Bridge,
        combine: impl Fn(V, V) -> V,
    ) -> Option<Result<V, Box<CommError>>> {
        while let Some(step) = bridge.steps.get(self.step) {
            let key = bridge.key(self.number, step);
            if step.sends && !self.sent {
                bridge.processes.cross(key, self.write());
                self.sent = true;
            }
            if step.receives != Receives::Nothing {
                let crossings = &bridge.processes.crossings;
                let payload = crossings.take(&key).or_else(|| {
                    bridge.processes.poll();
                    crossings.take(&key)
                })?;
                let came = self.read(&payload);
                let mine = std::mem::replace(&mut self.runs, Ok(Runs(Vec::new())));
                self.runs = match (step.receives, mine, came) {
                    (Receives::All, _, came) => came,
                    (_, Ok(mine), Ok(came)) => Ok(mine.join(came, &combine)),
                    (_, Err(failed), _) | (_, _, Err(failed)) => Err(failed),
                };
            }
            self.step += 1;
            self.sent = false;
        }
        let runs = std::mem::replace(&mut self.runs, Ok(Runs(Vec::new())));
        Some(runs.map(|mut runs| {
            let whole = runs.0.pop().expect("the ranks have brought something");
            debug_assert!(runs.0.is_empty(), "all ranks are neighbours");
            whole.value
        }))
    }

    /// What goes to another process. A value that cannot be written fails the meeting everywhere.
    fn write(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = match &self.runs {
            Ok(runs) => runs.write(&mut bytes),
            Err(failed) => {
                write_failure(failed, &mut bytes);
                return bytes;
            }
        };
        if let Err(reason) = written {
            let type_name = std::any::type_name::<V>();
            let failed = CommError::Unportable { type_name, reason };
            bytes.clear();
            write_failure(&failed, &mut bytes);
            self.runs = Err(Box::new(failed));
            return bytes;
        }
        self.call.write(&mut bytes);
        put_number(&mut bytes, self.first() as u64);
        put_number(&mut bytes, FINE);
        bytes
    }

    /// What has come from another process.
    fn read(&self, bytes: &[u8]) -> Result<Runs<V>, Box<CommError>> {
        let mut tail = Tail(bytes);
        match tail.number() {
            Some(FINE) => {}
            kind => return Err(Box::new(read_failure(kind, &mut tail))),
        }
        let unreadable = |reason: String| {
            let type_name = std::any::type_name::<V>();
            Box::new(CommError::Unportable { type_name, reason })
        };
        let ranks = [self.first(), tail.number().unwrap_or(0) as usize];
        self.call
            .compare(ranks, &mut tail)
            .unwrap_or_else(|| Err(unreadable(CUT_OFF.to_owned())))?;
        Runs::read(&mut tail).map_err(unreadable)
    }

    /// The first rank of those that have come together.
    fn first(&self) -> usize {
        let first = self.runs.as_ref().ok().and_then(|runs| runs.0.first());
        first.map_or(0, |run| run.first)
    }
}

impl<V: Value> Runs<V> {
    /// These and those, neighbours combined.
    fn join(self, other: Runs<V>, combine: &impl Fn(V, V) -> V) -> Runs<V> {
        let mut all = self.0;
        all.extend(other.0);
        all.sort_unstable_by_key(|run| run.first);
        let mut joined: Vec<Run<V>> = Vec::with_capacity(all.len());
        for run in all {
            match joined.pop() {
                Some(last) if last.first + last.ranks == run.first => joined.push(Run {
                    first: last.first,
                    ranks: last.ranks + run.ranks,
                    value: combine(last.value, run.value),
                }),
                last => {
                    joined.extend(last);
                    joined.push(run);
                }
            }
        }
        Runs(joined)
    }

    /// Appends them, for [`Runs::read`].
    fn write(&self, to: &mut Vec<u8>) -> Result<(), String> {
        for run in &self.0 {
            let begin = to.len();
            encode(&run.value, to)?;
            let length = to.len() - begin;
            for number in [run.first, run.ranks, length] {
                put_number(to, number as u64);
            }
        }
        put_number(to, self.0.len() as u64);
        Ok(())
    }

    /// Reads them off the end.
    fn read(tail: &mut Tail<'_>) -> Result<Self, String> {
        let number = |tail: &mut Tail<'_>| tail.number().and_then(|n| usize::try_from(n).ok());
        let count = number(tail).ok_or(CUT_OFF)?;
        let mut runs = Vec::new();
        for _ in 0..count {
            let [length, ranks, first] = [(); 3].map(|()| number(tail));
            let (length, ranks, first) = (
                length.ok_or(CUT_OFF)?,
                ranks.ok_or(CUT_OFF)?,
                first.ok_or(CUT_OFF)?,
            );
            let begin = tail.0.len().checked_sub(length).ok_or(CUT_OFF)?;
            let (rest, body) = tail.0.split_at(begin);
            tail.0 = rest;
            let value = decode(body)?;
            runs.push(Run {
                first,
                ranks,
                value,
            });
        }
        runs.reverse();
        Ok(Runs(runs))
    }
}

const CUT_OFF: &str = "the message is cut off";

/// What ends a message between processes: whether ranks have come together, or why they cannot.
const FINE: u64 = 0;
const MISMATCH: u64 = 1;
const UNPORTABLE: u64 = 2;
const OTHER: u64 = 3;

fn write_failure(failed: &CommError, to: &mut Vec<u8>) {
    let (texts, kind) = match failed {
        CommError::Mismatch { one, other } => ([one.clone(), other.clone()], MISMATCH),
        CommError::Unportable { type_name, reason } => {
            ([(*type_name).to_owned(), reason.clone()], UNPORTABLE)
        }
        other => ([String::new(), other.to_string()], OTHER),
    };
    texts.iter().for_each(|text| put_text(to, text));
    put_number(to, kind);
}

fn read_failure(kind: Option<u64>, tail: &mut Tail<'_>) -> CommError {
    let mut text = || tail.text().unwrap_or(CUT_OFF).to_owned();
    let (second, first) = (text(), text());
    match kind {
        Some(MISMATCH) => CommError::Mismatch {
            one: first,
            other: second,
        },
        Some(UNPORTABLE) => CommError::Unportable {
            type_name: known(&first),
            reason: second,
        },
        _ => CommError::Arguments { problem: second },
    }
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
            step(own - 1, true, Receives::Nothing, 0),
            step(own - 1, false, Receives::All, RESULT),
        ];
    }
    let mut steps = Vec::new();
    if own < 2 * pairs {
        steps.push(step(own + 1, false, Receives::Part, 0));
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
        steps.push(step(process, true, Receives::Part, level + 1));
    }
    if own < 2 * pairs {
        steps.push(step(own + 1, true, Receives::Nothing, RESULT));
    }
    steps
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    /// Every process ends with the parts of all, whoever goes first.
    #[test]
    fn everybody_gets_everything() {
        for processes in 1..40 {
            let plans: Vec<Vec<Step>> = (0..processes).map(|own| steps(own, processes)).collect();
            let mut known: Vec<HashSet<usize>> =
                (0..processes).map(|own| HashSet::from([own])).collect();
            let mut at = vec![(0, false); processes];
            let mut mail: HashMap<(usize, usize, u32), HashSet<usize>> = HashMap::new();
            let mut moved = true;
            while std::mem::take(&mut moved) {
                for own in 0..processes {
                    while let Some(step) = plans[own].get(at[own].0) {
                        if step.sends && !at[own].1 {
                            let sent =
                                mail.insert((own, step.process, step.tag), known[own].clone());
                            assert!(sent.is_none(), "two messages of one name");
                            at[own].1 = true;
                        }
                        if step.receives != Receives::Nothing {
                            let Some(came) = mail.remove(&(step.process, own, step.tag)) else {
                                break;
                            };
                            if step.receives == Receives::Part {
                                assert!(known[own].is_disjoint(&came), "nothing is counted twice");
                            }
                            known[own].extend(came);
                        }
                        at[own] = (at[own].0 + 1, false);
                        moved = true;
                    }
                }
            }
            assert!(mail.is_empty(), "{processes} processes: {mail:?}");
            assert!(
                known.iter().all(|known| known.len() == processes),
                "{processes}"
            );
        }
    }

    #[test]
    fn runs_are_joined_in_the_order_of_ranks() {
        let run = |first: usize, text: &str| Run {
            first,
            ranks: text.len(),
            value: text.to_owned(),
        };
        let join = |a: String, b: String| a + &b;
        let (one, other) = (
            Runs(vec![run(0, "ab"), run(5, "f")]),
            Runs(vec![run(2, "c"), run(4, "e")]),
        );
        let all = one.join(other, &join);
        let texts: Vec<&str> = all.0.iter().map(|run| run.value.as_str()).collect();
        assert_eq!(texts, ["abc", "ef"]);
        let mut bytes = Vec::new();
        all.write(&mut bytes).unwrap();
        let read = Runs::<String>::read(&mut Tail(&bytes)).unwrap();
        let whole = read.join(Runs(vec![run(3, "d")]), &join);
        assert_eq!((whole.0.len(), whole.0[0].value.as_str()), (1, "abcdef"));
        assert!(Runs::<String>::read(&mut Tail(&bytes[1..])).is_err());
    }
}
