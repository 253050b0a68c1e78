//! Where the ranks of a communicator meet that live in several processes.
//!
//! Those of one process meet as on the fabric `threads`. The last to come writes what they have brought, which then
//! goes to all other processes and theirs comes here (`processes/crossing.rs`). Whoever waits for the meeting, or
//! comes to read, puts the parts together for its process.
//!
//! Ranks need not be numbered process by process: parts are runs of neighbouring ranks, which are combined in the
//! order of ranks. So the operator need not commute.

use super::call::{Call, WrittenCall};
use super::meeting::Meeting;
use super::processes::{Crossing, Key, Part, Processes, Route};
use crate::wire::{Tail, decode, encode, known, put_number, put_text};
use crate::{CommError, Value};
use motet_sync::Mutex;
use motet_sync::atomic::{Ordering, fence};
use smallvec::{SmallVec, smallvec};
use std::any::{Any, type_name};
use std::sync::Arc;

pub(crate) struct Bridge {
    meeting: Meeting,
    processes: Arc<Processes>,
    communicator: u32,
    /// The ranks here, in their order.
    here: Box<[usize]>,
    /// Whether this is the place of one started collective; then its number.
    started: Option<u32>,
    route: Arc<Route>,
    between: Mutex<Between>,
}

/// What lies between the coming of all ranks here and the meeting's taking place.
#[derive(Default)]
struct Between {
    /// The meeting to which all ranks here have come.
    under_way: Option<UnderWay>,
    /// What was called last, and its bytes.
    written: Option<(Call, Vec<u8>)>,
}

struct UnderWay {
    key: Key,
    crossing: Arc<Crossing>,
    /// What the ranks here have brought, as it is.
    mine: Box<dyn Any + Send>,
}

/// What neighbouring ranks have brought, combined.
struct Run<V> {
    first: usize,
    ranks: usize,
    value: V,
}

/// In the order of ranks; no two runs are neighbours. Most often there is one, and then that of another process.
struct Runs<V>(SmallVec<[Run<V>; 2]>);

impl Bridge {
    /// A place for the members of a communicator, given as ranks of the world; `None` when none lives here.
    pub(crate) fn new(
        processes: &Arc<Processes>,
        communicator: u32,
        members: impl Iterator<Item = usize>,
        started: Option<u32>,
    ) -> Option<Self> {
        let (mut here, mut world, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
        for (rank, member) in members.enumerate() {
            let host = processes.process_of(member);
            if host == processes.own() {
                here.push(rank);
                world.push(member);
            }
            if hosts.last() != Some(&host) {
                hosts.push(host);
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        let route = Route::new(processes.own(), &hosts, world)?;
        let here = here.into_boxed_slice();
        Some(Bridge {
            meeting: Meeting::of(here.clone()),
            processes: Arc::clone(processes),
            communicator,
            here,
            started,
            route: Arc::new(route),
            between: Mutex::default(),
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
        let runs = Runs(smallvec![Run {
            first: rank,
            ranks: 1,
            value,
        }]);
        let join = |left: Runs<V>, right| left.join(right, &combine);
        // SAFETY: the caller promises it.
        if !unsafe { self.meeting.come(self.place(rank), call, runs, join) } {
            return;
        }
        // SAFETY: this rank was the last to come.
        let mine: Result<Runs<V>, _> = unsafe { self.meeting.combined() };
        let key = Key {
            communicator: self.communicator,
            started: self.started.is_some(),
            number: self.started.unwrap_or(number),
        };
        let mut between = self.between.lock();
        let bytes = match &mine {
            Ok(_) => write(between.one_call(self.here[0], call), 1, &mine),
            Err(_) => {
                let (mut all, mut calls) = (Vec::new(), 0);
                // SAFETY: as above.
                for (rank, call) in unsafe { self.meeting.calls() } {
                    call.write(rank, &mut all);
                    calls += 1;
                }
                write(&all, calls, &mine)
            }
        };
        between.under_way = Some(UnderWay {
            key,
            crossing: self.processes.begin_crossing(key, &self.route, bytes),
            mine: Box::new(mine),
        });
    }

    /// If what all processes have brought is here, publishes the total, which `finish` makes of the combined value;
    /// the ranks that sleep until then are to be woken.
    pub(crate) fn go_on<V: Value, S: Send + Sync + 'static>(
        &self,
        combine: impl Fn(V, V) -> V,
        finish: impl FnOnce(V) -> S,
    ) -> Vec<usize> {
        // Who has it combines and publishes without the lock: that runs the program's code.
        let taken = {
            let mut between = self.between.lock();
            let under_way = &mut between.under_way;
            under_way.take_if(|under_way| under_way.crossing.is_done())
        };
        let Some(UnderWay {
            key,
            crossing,
            mine,
        }) = taken
        else {
            return Vec::new();
        };
        let parts = crossing.take_parts();
        drop(crossing);
        self.processes.crossings.forget(key);
        let combined = self.combine(mine, &parts, combine);
        // SAFETY: all ranks have come, and only who takes the crossing away publishes.
        unsafe { self.meeting.publish(combined.map(finish)) };
        fence(Ordering::SeqCst);
        let places = self.meeting.sleepers().into_iter();
        places.map(|place| self.here[place]).collect()
    }

    /// Puts together what all processes have brought; the same on each of them, error or not. What this one's ranks
    /// have brought are values of this rank's type, unless a part says that they have not called the same.
    fn combine<V: Value>(
        &self,
        mine: Box<dyn Any + Send>,
        parts: &[Part],
        combine: impl Fn(V, V) -> V,
    ) -> Result<V, Box<CommError>> {
        let read = |part| Ok((read(part)?, part.process));
        let parts = parts
            .iter()
            .map(read)
            .collect::<Result<SmallVec<[_; 2]>, Box<CommError>>>()?;
        let mut calls = parts.iter().flat_map(|((calls, _), _)| calls);
        if let Some(first) = calls.next() {
            calls.try_for_each(|call| first.compare(call))?;
        }
        let mut bodies = SmallVec::<[_; 2]>::new();
        for ((_, body), process) in parts {
            bodies.push((body?, process));
        }
        let mine = mine.downcast::<Result<Runs<V>, Box<CommError>>>();
        let mut runs = (*mine.expect("ranks that have called the same have brought the same"))?;
        for (mut body, process) in bodies {
            if process != self.processes.own() {
                let came = Runs::read(&mut body).map_err(unreadable::<V>)?;
                runs = runs.join(came, &combine);
            }
        }
        let whole = runs.0.pop().filter(|_| runs.0.is_empty());
        Ok(whole.expect("all ranks are neighbours").value)
    }

    fn place(&self, rank: usize) -> usize {
        let place = self.here.binary_search(&rank);
        place.expect("the rank lives here")
    }

    /// A rank is about to sleep until the meeting takes place.
    pub(super) fn add_sleeper(&self, rank: usize) {
        self.meeting.add_sleeper(self.place(rank));
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
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let Some(UnderWay { key, crossing, .. }) = self.between.lock().under_way.take() {
            self.processes.crossings.abandon(key, &crossing);
        }
    }
}

impl Between {
    /// The bytes of what a rank has called.
    fn one_call(&mut self, rank: usize, call: Call) -> &[u8] {
        let written = self.written.take().filter(|(last, _)| last.is(&call));
        let written = written.unwrap_or_else(|| {
            let mut bytes = Vec::new();
            call.write(rank, &mut bytes);
            (call, bytes)
        });
        &self.written.insert(written).1
    }
}

/// What the ranks of a process have brought, or why they cannot go on; and the bytes of what they have called: that of the
/// first, if the others have called the same.
fn write<V: Value>(calls: &[u8], count: u64, mine: &Result<Runs<V>, Box<CommError>>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    let written = match mine {
        Ok(runs) => runs.write(&mut bytes).map_err(unreadable::<V>),
        Err(failed) => Err(failed.clone()),
    };
    let kind = match &written {
        Ok(()) => FINE,
        Err(failed) => {
            bytes.clear();
            write_failure(failed, &mut bytes)
        }
    };
    bytes.extend_from_slice(calls);
    put_number(&mut bytes, count);
    put_number(&mut bytes, kind);
    bytes
}

type Calls<'a> = SmallVec<[WrittenCall<'a>; 1]>;
type Body<'a> = Result<Tail<'a>, Box<CommError>>;

/// What a process's ranks have called, and the bytes of what they have brought, or why they cannot go on.
fn read(part: &Part) -> Result<(Calls<'_>, Body<'_>), Box<CommError>> {
    let mut tail = Tail(&part.bytes);
    let (kind, count) = (tail.number(), tail.number());
    let call = |_| WrittenCall::read(&mut tail);
    let calls = (0..count.unwrap_or(0))
        .map(call)
        .collect::<Option<Calls<'_>>>();
    let mut calls = calls.ok_or_else(|| unreadable::<()>(CUT_OFF.to_owned()))?;
    calls.reverse();
    let body = match kind {
        Some(FINE) => Ok(tail),
        kind => Err(Box::new(read_failure(kind, &mut tail))),
    };
    Ok((calls, body))
}

fn unreadable<V>(reason: String) -> Box<CommError> {
    let type_name = type_name::<V>();
    Box::new(CommError::Unportable { type_name, reason })
}

impl<V: Value> Runs<V> {
    /// These and those, neighbours combined.
    fn join(self, other: Runs<V>, combine: &impl Fn(V, V) -> V) -> Runs<V> {
        let mut all = self.0;
        all.extend(other.0);
        all.sort_unstable_by_key(|run| run.first);
        let mut joined: SmallVec<[Run<V>; 2]> = SmallVec::new();
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
        let mut runs = SmallVec::new();
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

/// Appends a failure; its kind, for [`read_failure`].
fn write_failure(failed: &CommError, to: &mut Vec<u8>) -> u64 {
    let (texts, kind) = match failed {
        CommError::Mismatch { one, other } => ([one.clone(), other.clone()], MISMATCH),
        CommError::Unportable { type_name, reason } => {
            ([(*type_name).to_owned(), reason.clone()], UNPORTABLE)
        }
        other => ([String::new(), other.to_string()], OTHER),
    };
    texts.iter().for_each(|text| put_text(to, text));
    kind
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

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_in_the_order_of_ranks() {
        let run = |first: usize, text: &str| Run {
            first,
            ranks: text.len(),
            value: text.to_owned(),
        };
        let join = |a: String, b: String| a + &b;
        let (one, other) = (
            Runs(smallvec![run(0, "ab"), run(5, "f")]),
            Runs(smallvec![run(2, "c"), run(4, "e")]),
        );
        let all = one.join(other, &join);
        let texts: Vec<&str> = all.0.iter().map(|run| run.value.as_str()).collect();
        assert_eq!(texts, ["abc", "ef"]);
        let mut bytes = Vec::new();
        all.write(&mut bytes).unwrap();
        let read = Runs::<String>::read(&mut Tail(&bytes)).unwrap();
        let whole = read.join(Runs(smallvec![run(3, "d")]), &join);
        assert_eq!((whole.0.len(), whole.0[0].value.as_str()), (1, "abcdef"));
        assert!(Runs::<String>::read(&mut Tail(&bytes[1..])).is_err());
    }
}
