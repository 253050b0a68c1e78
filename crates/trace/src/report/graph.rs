//! Who waits for whom in a world that runs.

mod knots;
mod text;
mod written;

use super::{Members, Unmatched, Wait, WaitOperation, Why};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// What all ranks of a running world do, and who waits for whom: the answer of `Watch::why`.
///
/// It is looked at from outside, while the ranks go on. Each rank is shown as it was at one moment,
/// and different ranks at moments that lie a little apart. A rank that has waited for less than
/// some tens of microseconds is shown as running.
///
/// Printed, it names every rank, the collectives with who has come and who has not, and the knots:
/// see [`cycles`](WaitGraph::cycles), [`stuck`](WaitGraph::stuck) and
/// [`unawaited`](WaitGraph::unawaited).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitGraph {
    /// How long the run has lasted.
    pub after: Duration,
    /// One entry per rank of the world, in rank order.
    pub ranks: Vec<RankNow>,
    /// Messages that have come and that nobody has received, the oldest few of each rank.
    pub unmatched: Vec<Unmatched>,
    /// Processes that have not answered within the time, each with its ranks.
    pub silent: Vec<(usize, Range<usize>)>,
    /// The members of communicators in which ranks wait, as ranks of the world, if these are not
    /// numbered alike.
    members: BTreeMap<u32, Arc<[usize]>>,
}

/// What a rank does now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankNow {
    /// It computes, or has begun to wait a moment ago.
    Running {
        /// How long it has not slept for a message; since the run began if it never has.
        lasted: Duration,
        /// The last call in which it has.
        after: Option<Wait>,
    },
    /// It sleeps in these calls.
    Waiting {
        /// One entry for each thing that it waits for.
        waits: Vec<WaitNow>,
        /// It has been woken, and its thread has not come to it: another rank or task runs there.
        woken: bool,
    },
    /// It waits for something that is no message of a rank: a timer, a port, a thread.
    Elsewhere {
        /// How long it has not slept for a message.
        lasted: Duration,
        /// The last call in which it has.
        after: Option<Wait>,
    },
    /// It has returned its result.
    Finished,
    /// Its process has not answered.
    Unknown,
}

/// A call in which a rank sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitNow {
    /// What was called.
    pub wait: Wait,
    /// How long the rank has slept in it.
    pub waited: Duration,
    /// What has the same number is waited for by one call, which ends when one of it has come. The
    /// rank waits for all its calls.
    pub call: u64,
    /// The open entrances whose messages would end it, in words.
    pub entrances: Vec<String>,
    peers: Option<Vec<usize>>,
    started: bool,
}

/// A collective in which ranks wait.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectiveNow {
    /// What the first of them has called, and where.
    pub wait: Wait,
    /// The ranks of the world that wait in it.
    pub come: Vec<usize>,
    /// Those that do not, of its communicator.
    pub missing: Vec<usize>,
    /// Whether it was started to be waited for later: who does not wait in it may have come all the
    /// same.
    pub started: bool,
}

impl WaitNow {
    /// What is said of a wait, as so many calls have been made before it.
    #[must_use]
    pub fn new(call: u64, why: &Why, waited: Duration) -> Self {
        WaitNow {
            wait: why.wait,
            waited,
            call,
            entrances: Vec::new(),
            peers: why.peers.clone(),
            started: why.started,
        }
    }
}

impl WaitGraph {
    /// What some ranks do, next to each other in number.
    #[must_use]
    pub fn of(after: Duration, ranks: Vec<RankNow>, unmatched: Vec<Unmatched>) -> Self {
        WaitGraph {
            after,
            ranks,
            unmatched,
            silent: Vec::new(),
            members: BTreeMap::new(),
        }
    }

    /// Notes the members of a communicator in which a rank waits.
    pub fn note(&mut self, communicator: u32, members: &Members) {
        if let Some(members) = members {
            let noted = self.members.entry(communicator);
            noted.or_insert_with(|| Arc::clone(members));
        }
    }

    /// Adds what the ranks of the next process do.
    pub fn append(&mut self, next: WaitGraph) {
        self.after = self.after.max(next.after);
        self.ranks.extend(next.ranks);
        self.unmatched.extend(next.unmatched);
        self.silent.extend(next.silent);
        self.members.extend(next.members);
    }

    /// The ranks of process `process`, which has not answered, are added.
    pub fn append_silent(&mut self, process: usize, ranks: usize) {
        let first = self.ranks.len();
        self.ranks.resize(first + ranks, RankNow::Unknown);
        self.silent.push((process, first..first + ranks));
    }

    /// The graph as bytes, for other processes; which have not answered is not in them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        written::write(self)
    }

    /// The graph of such bytes; `None` if they are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<WaitGraph> {
        written::read(bytes)
    }

    /// The collectives in which ranks wait: who has come, and who has not.
    #[must_use]
    pub fn collectives(&self) -> Vec<CollectiveNow> {
        let mut all: BTreeMap<_, (Wait, Vec<usize>)> = BTreeMap::new();
        for (rank, wait) in self.waits() {
            if let Some(key) = wait.collective() {
                let (_, come) = all.entry(key).or_insert((wait.wait, Vec::new()));
                if come.last() != Some(&rank) {
                    come.push(rank);
                }
            }
        }
        let now = all.into_iter().map(|(key, (wait, come))| CollectiveNow {
            missing: self.missing(key.communicator, &come),
            wait,
            come,
            started: key.started,
        });
        now.collect()
    }

    /// All waits, by rank.
    fn waits(&self) -> impl Iterator<Item = (usize, &WaitNow)> {
        let ranks = self.ranks.iter().enumerate();
        ranks.flat_map(|(rank, now)| now.waits().iter().map(move |wait| (rank, wait)))
    }

    /// The rank in the world of a rank of a communicator.
    fn world(&self, communicator: u32, rank: usize) -> usize {
        let members = self.members.get(&communicator);
        members.map_or(rank, |members| members.get(rank).copied().unwrap_or(rank))
    }

    /// The members of a communicator, in ascending order.
    fn members(&self, communicator: u32) -> Vec<usize> {
        match self.members.get(&communicator) {
            None => (0..self.ranks.len()).collect(),
            Some(members) => {
                let mut members = members.to_vec();
                members.sort_unstable();
                members
            }
        }
    }

    fn missing(&self, communicator: u32, come: &[usize]) -> Vec<usize> {
        let mut members = self.members(communicator);
        members.retain(|rank| come.binary_search(rank).is_err());
        members
    }
}

/// Which collective of which communicator: ranks that wait in the same one have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Collective {
    communicator: u32,
    name: &'static str,
    root: Option<usize>,
    started: bool,
}

impl WaitNow {
    /// The collective, if it is one of all ranks.
    fn collective(&self) -> Option<Collective> {
        match self.wait.operation {
            WaitOperation::Collective { name, root } if self.peers.is_none() => Some(Collective {
                communicator: self.wait.communicator,
                name,
                root,
                started: self.started,
            }),
            _ => None,
        }
    }
}

impl CollectiveNow {
    fn key(&self) -> Option<Collective> {
        match self.wait.operation {
            WaitOperation::Collective { name, root } => Some(Collective {
                communicator: self.wait.communicator,
                name,
                root,
                started: self.started,
            }),
            _ => None,
        }
    }
}

impl RankNow {
    /// What the rank sleeps for.
    #[must_use]
    pub fn waits(&self) -> &[WaitNow] {
        match self {
            RankNow::Waiting { waits, .. } => waits,
            _ => &[],
        }
    }
}
