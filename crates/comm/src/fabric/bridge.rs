//! Where the ranks of a communicator meet that live in several processes.
//!
//! Those of one process meet as on the fabric `threads`. The last to come writes what they have brought, which then
//! goes to all other processes and theirs comes here (`processes/crossing.rs`). Whoever waits for the meeting, or
//! comes to read, puts the parts together for its process.
//!
//! Ranks need not be numbered process by process: parts are runs of neighbouring ranks, which are combined in the
//! order of ranks. So the operator need not commute.

mod part;

use super::call::{Call, WrittenCall};
use super::meeting::Meeting;
use super::processes::{Crossing, Key, Part, Processes, Route};
use crate::{CommError, Value};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering, fence};
use part::Calls;
use smallvec::{SmallVec, smallvec};
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
    route: Arc<Route>,
    between: Mutex<Between>,
    /// What all processes have brought to that meeting is here.
    all_here: Arc<AtomicBool>,
}

/// What the ranks that come share with whoever takes a meeting further.
#[derive(Default)]
struct Between {
    /// The meeting to which all ranks here have come, until it takes place.
    under_way: Option<UnderWay>,
    /// What has been called in all meetings.
    calls: Calls,
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
            all_here: Arc::default(),
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
        let mut bytes = self.processes.crossings.bytes();
        let kind = part::begin(&mine, &mut bytes);
        // Writing has run the program's code: that was under no lock.
        let mut between = self.between.lock();
        match &mine {
            Ok(_) => {
                let calls = &mut between.calls;
                calls.end_with_one(self.here[0], call, (&mut bytes, kind));
            }
            Err(_) => {
                // SAFETY: as above.
                let calls = unsafe { self.meeting.calls() };
                part::end_with_all(&calls, (&mut bytes, kind));
            }
        }
        between.under_way = Some(UnderWay {
            key,
            crossing: self
                .processes
                .begin_crossing(key, &self.route, bytes, &self.all_here),
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
        if !self.all_here.load(Ordering::Acquire) {
            return Vec::new();
        }
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
        // The next meeting begins when this one has been published.
        self.all_here.store(false, Ordering::Relaxed);
        let parts = crossing.take_parts();
        drop(crossing);
        let combined = self.combine(mine, &parts, combine);
        self.processes.crossings.forget(key, parts);
        // SAFETY: all ranks have come, and only who takes the crossing away publishes.
        unsafe { self.meeting.publish(combined.map(finish)) };
        fence(Ordering::SeqCst);
        let places = self.meeting.sleepers().into_iter();
        places.map(|place| self.here[place]).collect()
    }

    /// Puts together what all processes have brought; the same on each of them, error or not, but for values that cannot be
    /// read where they have come to. What this one's ranks have brought are values of this rank's type, unless a part says
    /// that they have not called the same.
    fn combine<V: Value>(
        &self,
        mine: Box<dyn Any + Send>,
        parts: &[Part],
        combine: impl Fn(V, V) -> V,
    ) -> Result<V, Box<CommError>> {
        let mut bodies = SmallVec::<[_; 2]>::new();
        {
            let mut between = self.between.lock();
            let calls = &mut between.calls;
            for (place, part) in parts.iter().enumerate() {
                calls.learn(place, &part.bytes)?;
            }
            let mut first: Option<WrittenCall<'_>> = None;
            for (place, part) in parts.iter().enumerate() {
                let read = calls.read(place, &part.bytes)?;
                for call in read.calls {
                    match &first {
                        Some(first) => first.compare(&call)?,
                        None => first = Some(call),
                    }
                }
                bodies.push((read.body, part.process));
            }
        }
        // The first failure of all, on every process.
        let bodies = bodies
            .into_iter()
            .map(|(body, process)| Ok((body?, process)));
        let bodies = bodies.collect::<Result<SmallVec<[_; 2]>, Box<CommError>>>()?;
        let mine = mine.downcast::<Result<Runs<V>, Box<CommError>>>();
        let mine = (*mine.expect("ranks that have called the same have brought the same"))?;
        // All of the others before the first is combined: so every process combines in the same order, from the left.
        let mut others = Runs(SmallVec::new());
        for (body, process) in bodies {
            if process != self.processes.own() {
                others.0.extend(Runs::read(body)?.0);
            }
        }
        let mut runs = mine.join(others, &combine);
        let whole = runs.0.pop().filter(|_| runs.0.is_empty());
        Ok(whole.ok_or_else(part::ranks_missing::<V>)?.value)
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

impl<V: Value> Runs<V> {
    /// These and those, neighbours combined.
    fn join(self, other: Runs<V>, combine: &impl Fn(V, V) -> V) -> Runs<V> {
        let (mut mine, mut others) = (self.0, other.0);
        if mine.len() == 1 && others.len() == 1 {
            // As most often: nothing to sort.
            return match (mine.pop(), others.pop()) {
                (Some(one), Some(other)) if one.first < other.first => one.join(other, combine),
                (Some(one), Some(other)) => other.join(one, combine),
                (one, other) => Runs(one.into_iter().chain(other).collect()),
            };
        }
        mine.extend(others);
        mine.sort_unstable_by_key(|run| run.first);
        let mut joined = Runs(SmallVec::new());
        for run in mine {
            match joined.0.pop() {
                Some(last) => joined.0.extend(last.join(run, combine).0),
                None => joined.0.push(run),
            }
        }
        joined
    }
}

impl<V: Value> Run<V> {
    /// This and the one behind it: one if they are neighbours.
    #[inline]
    fn join(self, next: Run<V>, combine: &impl Fn(V, V) -> V) -> Runs<V> {
        if self.first + self.ranks != next.first {
            return Runs(SmallVec::from_buf([self, next]));
        }
        let mut joined = SmallVec::new();
        joined.push(Run {
            first: self.first,
            ranks: self.ranks + next.ranks,
            value: combine(self.value, next.value),
        });
        Runs(joined)
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
        let kind = part::begin(&Ok(all), &mut bytes);
        part::end_with_all(&[], (&mut bytes, kind));
        let (calls, whole) = (Calls::default(), bytes.len());
        let read = |bytes| Runs::<String>::read(calls.read(0, bytes)?.body?);
        let joined = read(&bytes)
            .unwrap()
            .join(Runs(smallvec![run(3, "d")]), &join);
        assert_eq!((joined.0.len(), joined.0[0].value.as_str()), (1, "abcdef"));
        assert!(read(&bytes[1..whole]).is_err());
    }
}
