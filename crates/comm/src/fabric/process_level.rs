//! Where the ranks of a communicator meet that live in several processes.
//!
//! Those of one process meet as on the fabric `threads`. The last to come writes what they have
//! brought, which then goes to all other processes and theirs comes here (`processes/crossing.rs`).
//! Whoever waits for the collective, or comes to read, puts the parts together for its process.
//!
//! Ranks need not be numbered process by process: parts are runs of neighbouring ranks, which are
//! combined in the order of ranks. So the operator need not commute.

mod beside;
mod part;
mod runs;
mod send;

use super::any_cell::AnyCell;
use super::call::{CollectiveArrival, RankCall};
use super::combining_tree::CombiningTree;
use super::operators::Operators;
use super::processes::{
    Crossing, CrossingSite, DirectCrossing, OwnPart, ProcessPart, ProcessParts, Route,
    RunProcesses, keep_spare,
};
use crate::CommError;
use motet_sync::Mutex;
use motet_sync::atomic::{Ordering, fence};
use part::Calls;
use runs::WatchedRuns;
use std::sync::{Arc, OnceLock};

pub(crate) use beside::Beside;

pub(crate) struct ProcessLevel {
    collective: CombiningTree,
    processes: Arc<RunProcesses>,
    site: CrossingSite,
    /// The number of all ranks.
    all: u32,
    /// The number of their processes.
    processes_there: usize,
    /// The ranks here, in their order.
    here: Box<[usize]>,
    route: Arc<Route>,
    /// Since the first collective.
    crossing: OnceLock<Arc<Crossing>>,
    between: Mutex<Between>,
}

/// What the ranks that come share with whoever takes a collective further.
struct Between {
    /// There is a collective to which all ranks here have come, and which has not taken place: this
    /// one.
    under_way: Option<u32>,
    /// The one rank here looks itself for what comes to it.
    direct: Option<DirectCrossing>,
    /// What they have brought to it, as it is.
    mine: Option<Brought>,
    /// What has been called in all collectives.
    calls: Calls,
    /// Memory for parts.
    spare: Vec<Vec<u8>>,
}

/// What the ranks here have brought, the parts of all processes, and whether all have called the
/// same.
type Taken = (Brought, ProcessParts, Result<(), Box<CommError>>);

/// What the ranks here have brought, or why they cannot go on.
type Brought = Result<WatchedRuns, Box<CommError>>;

impl ProcessLevel {
    /// A place for the members of a communicator, given as ranks of the world; `None` when none
    /// lives here.
    pub(crate) fn new(
        processes: &Arc<RunProcesses>,
        communicator: u32,
        members: impl Iterator<Item = usize>,
        started: Option<u32>,
    ) -> Option<Self> {
        let (mut here, mut world, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = 0;
        for (rank, member) in members.enumerate() {
            all = rank + 1;
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
        Some(ProcessLevel {
            collective: CombiningTree::of(here.clone()),
            processes: Arc::clone(processes),
            site: CrossingSite {
                communicator,
                started,
            },
            all: u32::try_from(all).expect("there are fewer than 2^32 ranks"),
            processes_there: hosts.len(),
            here,
            route: Arc::new(route),
            crossing: OnceLock::new(),
            between: Mutex::new(Between {
                under_way: None,
                direct: None,
                mine: None,
                calls: Calls::default(),
                spare: Vec::new(),
            }),
        })
    }

    /// The number of ranks here.
    pub(super) fn ranks_here(&self) -> usize {
        self.here.len()
    }

    /// Whether each rank lives in a process of its own.
    pub(crate) fn is_spread(&self) -> bool {
        self.here.len() == 1 && self.processes_there == self.all as usize
    }

    /// A rank comes to a collective of the communicator.
    ///
    /// # Safety
    /// As [`CombiningTree::arrive`].
    pub(crate) unsafe fn arrive(
        &self,
        arrival: &CollectiveArrival,
        value: AnyCell,
        operators: &dyn Operators,
    ) {
        let &CollectiveArrival { rank, number, call } = arrival;
        let called = (call, operators.kind());
        let runs = WatchedRuns::one(rank, value);
        let mine = if self.here.len() == 1 {
            // There is nobody here to meet.
            Ok(runs)
        } else {
            let combine = |left: &mut AnyCell, right: &mut AnyCell| operators.combine(left, right);
            let join = |left: &mut AnyCell, right: &mut AnyCell| {
                if let (Some(mine), Some(theirs)) = (left.take::<WatchedRuns>(), right.take()) {
                    left.put(mine.join(theirs, self.all, &combine));
                }
            };
            let runs = AnyCell::with(runs);
            // SAFETY: the caller promises it.
            if !unsafe { self.collective.come(self.place(rank), called, runs, &join) } {
                return;
            }
            // SAFETY: this rank was the last to come.
            let combined = unsafe { self.collective.combined() };
            combined.map(|mut runs| runs.take().expect("ranks have brought runs"))
        };
        self.cross(called, mine, number);
    }

    /// The part of the ranks here, which have called this, alike or not, is ended and sent.
    fn send_first(
        &self,
        calls: &mut Calls,
        (call, alike): (RankCall, bool),
        number: u32,
        (begun, mut bytes): (part::Begun<'_>, Vec<u8>),
    ) -> OwnPart {
        if alike {
            calls.end_with_one(self.here[0], call, (&mut bytes, begun.kind));
        } else {
            // SAFETY: this rank was the last to come.
            let calls = unsafe { self.collective.calls() };
            part::end_with_all(&calls, (&mut bytes, begun.kind));
        }
        let at = (self.site, self.crossing_number(number));
        self.processes
            .send_first(at, &self.route, (begun.values, bytes))
    }

    /// Looks for messages. If what all processes have brought is here, publishes the total of the
    /// combined value. The ranks that sleep until then are to be woken.
    #[inline]
    pub(crate) fn go_on(&self, operators: &mut dyn Operators) -> Vec<usize> {
        match self.take() {
            Some(taken) => self.publish(taken, operators),
            None => Vec::new(),
        }
    }

    /// Combines and publishes what all have brought, without the lock: that runs the program's
    /// code. Who is to be woken; the memory of the parts is kept.
    fn publish(
        &self,
        (mine, mut parts, agreed): Taken,
        operators: &mut dyn Operators,
    ) -> Vec<usize> {
        let combined = agreed.and_then(|()| self.combine(mine, &mut parts, operators));
        let total = combined.map(|combined| operators.finish(combined));
        // SAFETY: all ranks have come, and only who has taken what they brought publishes.
        unsafe { self.collective.published().publish_next(total) };
        if self.here.len() > 1 {
            fence(Ordering::SeqCst);
        }
        keep_spare(&mut self.between.lock().spare, parts);
        let places = self.collective.sleepers().into_iter();
        places.map(|place| self.here[place]).collect()
    }

    /// What the ranks here have brought and the parts of all processes, unless somebody has taken
    /// them; and whether all have called the same.
    fn take(&self) -> Option<Taken> {
        if !self.looks_itself() && !self.is_here() {
            return None;
        }
        let mut between = self.between.lock();
        let Between {
            under_way,
            direct,
            mine,
            calls,
            spare,
        } = &mut *between;
        let (number, crossing) = ((*under_way)?, self.crossing.get()?);
        let parts = if let Some(looking) = direct {
            let (at, to) = ((self.site, number), (&**crossing, &*self.route));
            let Some(parts) = self.processes.look_for_parts(at, to, looking, spare) else {
                let is_due = looking.is_due();
                drop(between);
                if is_due {
                    self.processes.poll();
                }
                return None;
            };
            *direct = None;
            parts
        } else if self.is_here() {
            crossing.take_parts(&self.route)
        } else {
            return None;
        };
        *under_way = None;
        let mine = mine.take()?;
        let agreed = calls.check(&parts);
        Some((mine, parts, agreed))
    }

    /// Whether what all processes have brought is here, where it has crossed.
    #[inline]
    fn is_here(&self) -> bool {
        self.route.all_here() || {
            self.processes.poll();
            self.route.all_here()
        }
    }

    /// Whether the one rank here looks itself for what comes in the one exchange of the crossing,
    /// as long as it waits. (For what was started nobody may wait.)
    #[inline]
    fn looks_itself(&self) -> bool {
        self.here.len() == 1 && self.route.exchanges_once() && self.site.started.is_none()
    }

    /// Puts together what all processes have brought, in calls that are the same. The outcome is
    /// the same on each of them, error or not, but for values that cannot be read where they have
    /// come to.
    fn combine(
        &self,
        mine: Brought,
        parts: &mut [ProcessPart],
        operators: &dyn Operators,
    ) -> Result<AnyCell, Box<CommError>> {
        let kind = operators.kind();
        let combine = |left: &mut AnyCell, right: &mut AnyCell| operators.combine(left, right);
        // The first failure of all, on every process.
        for part in &*parts {
            part::body(&part.bytes)?;
        }
        let mine = mine?;
        // All of the others before the first is combined: nothing is, if one of them cannot be
        // read.
        let own = self.processes.own();
        let others = parts.iter_mut().filter(|part| part.process != own);
        let mut others = others
            .map(|part| WatchedRuns::read(kind, &mut part.bytes))
            .peekable();
        let runs = match (others.next(), others.peek()) {
            (Some(other), None) => mine.join(other?, self.all, &combine),
            (first, _) => {
                let mut all = Vec::new();
                for other in first.into_iter().chain(others) {
                    all.append(&mut other?.into_vec());
                }
                mine.join(WatchedRuns::Several(all), self.all, &combine)
            }
        };
        runs.whole().ok_or_else(|| part::ranks_missing(kind))
    }

    fn place(&self, rank: usize) -> usize {
        let place = self.here.binary_search(&rank);
        place.expect("the rank lives here")
    }

    /// A rank is about to sleep until the collective takes place.
    pub(super) fn add_sleeper(&self, rank: usize) {
        self.collective.add_sleeper(self.place(rank));
        self.look_no_more();
    }

    #[inline]
    pub(super) fn has_taken_place(&self, number: u32) -> bool {
        self.collective.published().is(number)
    }

    /// # Safety
    /// As [`PublishedTotal::read`](super::published::Published::read).
    pub(super) unsafe fn read(&self, read: &mut dyn FnMut(&AnyCell)) -> Result<(), CommError> {
        // SAFETY: the caller promises it.
        unsafe { self.collective.published().read(read) }
    }
}

impl Drop for ProcessLevel {
    fn drop(&mut self) {
        self.look_no_more();
        if let Some(crossing) = self.crossing.take() {
            self.processes.crossings.leave(self.site, crossing);
        }
    }
}
