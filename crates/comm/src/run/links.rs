//! What joins the ranks of a run.

use super::process_run::{self, NotBegun, ProcessRoute, ProcessRun};
use crate::fabric::{
    AnyFabric, InReplay, LocalRanks, MeetingPointKind, Ports, RemoteFabric, Team, Threads,
};
use crate::limit::{Outstanding, SendLimit};
use crate::profile::Recorder;
use crate::watch::{WatchedRanks, WatchedRuns};
use crate::{Communicator, Profile};
use motet_dispatch::{Dispatcher, SpinWait};
use motet_sync::Parker;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What carries the messages of the ranks.
pub(crate) enum On {
    Threads,
    Ports,
    /// Shared memory here, and a transport to the ranks of other processes.
    Processes(ProcessRoute),
}

/// What joins the ranks.
pub(super) enum Links {
    Memory,
    Ports,
    Replay,
    Processes(ProcessRun),
}

impl On {
    /// What it costs to wake a rank that sleeps.
    pub(super) fn wake_cost(&self) -> Duration {
        match self {
            On::Threads | On::Ports => SpinWait::WAKE_COST,
            On::Processes(_) => process_run::WAKE_COST,
        }
    }
}

impl Links {
    /// Joins `ranks` ranks on so many workers: where they meet, and how.
    ///
    /// # Errors
    /// Other processes do not come.
    pub(super) fn new(
        on: On,
        ranks: usize,
        workers: usize,
        dispatcher: &Dispatcher,
        caller: &Parker,
        runs: &WatchedRuns,
    ) -> Result<(Arc<LocalRanks>, Links), NotBegun> {
        Ok(match on {
            On::Threads => (Arc::new(LocalRanks::new(ranks, workers)), Links::Memory),
            On::Ports => (
                Arc::new(LocalRanks::with_ports(ranks, workers)),
                Links::Ports,
            ),
            On::Processes(way) => {
                let watch = dispatcher.idle_watch();
                let between = way.begin(ranks, workers, watch, caller.unparker(), runs)?;
                let local = Arc::clone(&between.processes.local);
                (local, Links::Processes(between))
            }
        })
    }

    /// Ends the run when all its ranks wait for each other.
    pub(super) fn watch_over(&self, local: &Arc<LocalRanks>, dispatcher: &Dispatcher) {
        // Between processes it takes more to know that a run is stuck: `between` does it.
        if !matches!(self, Links::Processes(_)) {
            let (watch, watched) = (dispatcher.idle_watch(), Arc::clone(local));
            dispatcher.on_idle(move || {
                if let Some(before) = watch.look() {
                    watched.check_stuck(|| watch.look() == Some(before));
                }
            });
        }
    }

    /// The profile of all ranks, given that of the ranks here; `None` where another process has it.
    pub(super) fn all_profiles(&self, here: Profile) -> Option<Profile> {
        match self {
            Links::Memory | Links::Ports | Links::Replay => Some(here),
            Links::Processes(between) => between.all_profiles(here),
        }
    }

    /// The world of `ranks` ranks here, and those of other processes.
    pub(super) fn world(&self, ranks: usize) -> Team {
        match self {
            Links::Memory | Links::Replay => Team::world(ranks, MeetingPointKind::Tree),
            Links::Ports => Team::world(ranks, MeetingPointKind::Port),
            Links::Processes(between) => {
                let processes = Arc::clone(&between.processes);
                Team::world(processes.size(), MeetingPointKind::ProcessLevel(processes))
            }
        }
    }

    /// The ranks, for whoever looks at them.
    pub(super) fn ranks(&self, local: &Arc<LocalRanks>) -> WatchedRanks {
        match self {
            Links::Memory | Links::Ports | Links::Replay => WatchedRanks::Here(Arc::clone(local)),
            Links::Processes(between) => WatchedRanks::Everywhere(Arc::clone(&between.processes)),
        }
    }

    /// The endpoint of the rank at this place here.
    pub(super) fn endpoint(
        &self,
        local: &Arc<LocalRanks>,
        team: &Arc<Team>,
        place: usize,
        limit: Option<SendLimit>,
    ) -> Endpoint {
        let there = || Arc::clone(local);
        let over = match self {
            Links::Memory => Over::Threads(Threads::new(there(), place)),
            Links::Ports => Over::Ports(Ports::new(there(), place)),
            Links::Replay => Over::Replay(InReplay::new(there(), place)),
            Links::Processes(between) => {
                let processes = Arc::clone(&between.processes);
                Over::Remote(RemoteFabric::new(processes, place))
            }
        };
        Endpoint {
            over,
            team: Arc::clone(team),
            rank: local.first + place,
            limit,
        }
    }
}

/// What one rank talks over, before its communicator is made on the thread where the rank is. There
/// is one of each rank, and it is not cloned: so one thread alone has the rank's communicators.
pub(super) struct Endpoint {
    over: Over,
    team: Arc<Team>,
    rank: usize,
    limit: Option<SendLimit>,
}

enum Over {
    Threads(Threads),
    Ports(Ports),
    Replay(InReplay),
    Remote(RemoteFabric),
}

impl Endpoint {
    /// The rank's communicator, which stays on this thread, with what notes the rank's time.
    pub(super) fn communicator(self, recorder: Option<Rc<Recorder>>) -> Communicator {
        let fabric = match self.over {
            Over::Threads(threads) => AnyFabric::Threads(threads),
            Over::Ports(ports) => AnyFabric::Ports(ports),
            Over::Replay(replayed) => AnyFabric::InReplay(replayed),
            Over::Remote(remote) => AnyFabric::Remote(Rc::new(remote)),
        };
        let outstanding = self.limit.map(Outstanding::new);
        Communicator::new(fabric, self.team, self.rank).with(recorder, outstanding)
    }
}
