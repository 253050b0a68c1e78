//! Runs in parts: what a part leaves, and what the next begins with.

use crate::event::KeyedEvent;
use crate::outcome::{Outcome, Report};
use crate::rules::Rules;
use crate::share::{LogicalProcess, Share};
use crate::{EventKey, Logical, ModelError, SimError, Tie, Time};
use motet_comm::{Communicator, Value};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a part of a run has left on one rank: its processes, what they have drawn, and the events
/// that wait for them. [`Model::run_part`](crate::Model::run_part) makes it and goes on from it.
///
/// It is written by any format of serde, if the state of a process can be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: DeserializeOwned"))]
pub struct Saved<P: Logical> {
    run: Run,
    time: Time,
    first: usize,
    processes: Vec<LogicalProcess<P>>,
    pending: Vec<KeyedEvent<P::Event>>,
}

/// What has to be the same in all parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    processes: usize,
    seed: u64,
    end: Time,
    tie: Tie,
}

/// What a rank begins with.
pub(crate) struct RankStart<P: Logical> {
    pub(crate) share: Share<P>,
    /// Events that wait; at the start of a run also for processes of other ranks.
    pub(crate) sent: Vec<KeyedEvent<P::Event>>,
    pub(crate) done: Result<(), ModelError>,
    /// All events before this time have been handled.
    pub(crate) time: Time,
}

/// What a rank ends with.
pub(crate) struct RankEnd<P: Logical> {
    pub(crate) share: Share<P>,
    /// What waits for the processes of this rank, for the time at which the part ends or later.
    pub(crate) pending: Vec<KeyedEvent<P::Event>>,
    pub(crate) report: Report,
    pub(crate) trace: Vec<EventKey>,
}

/// What a rank has for another.
#[derive(Serialize, Deserialize)]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: DeserializeOwned"))]
struct SavedShare<P: Logical> {
    processes: Vec<(usize, LogicalProcess<P>)>,
    pending: Vec<KeyedEvent<P::Event>>,
    /// When the sender's parts were saved, if it has any.
    time: Option<Time>,
    failed: Option<ModelError>,
}

impl<P: Logical> Saved<P> {
    /// All events before this time have been handled.
    #[must_use]
    pub fn time(&self) -> Time {
        self.time
    }

    /// How many events wait for the processes of this part.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The processes of this part, with their numbers.
    pub fn processes(&self) -> impl Iterator<Item = (usize, &P)> {
        let states = self.processes.iter().map(|process| &process.state);
        (self.first..).zip(states)
    }
}

impl Run {
    fn of(rules: &Rules) -> Self {
        Run {
            processes: rules.processes,
            seed: rules.seed,
            end: rules.end,
            tie: rules.tie,
        }
    }

    /// What differs in another run, if something does.
    fn differs(&self, saved: &Run) -> Option<String> {
        let pairs = [
            ("processes", self.processes as u64, saved.processes as u64),
            ("seed", self.seed, saved.seed),
            ("end", self.end, saved.end),
        ];
        let differs = pairs.into_iter().find(|(_, own, saved)| own != saved);
        let said = differs.map(|(what, own, saved)| format!("{what}: {saved}, here {own}"));
        let ties = || format!("tie: {:?}, here {:?}", saved.tie, self.tie);
        said.or_else(|| (self.tie != saved.tie).then(ties))
    }
}

impl<P: Logical> RankStart<P> {
    /// The processes with these numbers start.
    pub(crate) fn start(rules: &Rules, own: Range<usize>, make: impl Fn(usize) -> P) -> Self {
        let (mut share, mut sent) = (Share::new(own, make), Vec::new());
        let done = share.start(rules, &mut sent);
        RankStart {
            share,
            sent,
            done,
            time: 0,
        }
    }
}

impl<P: Logical> RankEnd<P> {
    /// Looks at what all ranks have done together: each has looked at its own part only.
    ///
    /// # Errors
    /// More events than the limit, the same on every rank.
    pub(crate) fn within_limits(self, rules: &Rules) -> Result<Self, ModelError> {
        let (most, time) = (rules.most_events, rules.stop);
        match self.report.committed > most {
            true => Err(ModelError::TooManyEvents { most, time }),
            false => Ok(self),
        }
    }

    pub(crate) fn outcome(mut self) -> Outcome<P> {
        self.trace.sort_unstable();
        Outcome {
            first: self.share.first,
            processes: self.share.into_states(),
            report: self.report,
            trace: self.trace,
        }
    }

    /// What is left when all events before this time have been handled.
    pub(crate) fn saved(&mut self, rules: &Rules, time: Time) -> Saved<P>
    where
        P: Clone,
    {
        Saved {
            run: Run::of(rules),
            time,
            first: self.share.first,
            processes: self.share.processes.clone(),
            pending: std::mem::take(&mut self.pending),
        }
    }
}

/// What this rank begins with after the parts that all ranks have; they start if nobody has one.
///
/// # Errors
/// [`ModelError::NotSaved`], for every rank, if the parts are of another run. Whether this rank has
/// all of its processes is said by [`RankStart::done`].
pub(crate) async fn go_on<P: Logical + Value>(
    comm: &Communicator,
    rules: &Rules,
    saved: Vec<Saved<P>>,
    (own, rank_of): (Range<usize>, impl Fn(usize) -> usize),
    make: impl Fn(usize) -> P,
) -> Result<RankStart<P>, SimError> {
    let failed = refused(rules, &saved).map(|reason| ModelError::NotSaved { reason });
    let time = saved.iter().map(Saved::time).max();
    let empty = |_| SavedShare {
        processes: Vec::new(),
        pending: Vec::new(),
        time,
        failed: failed.clone(),
    };
    let mut parcels: Vec<SavedShare<P>> = (0..comm.size()).map(empty).collect();
    // What is of another run may name processes that nobody has.
    for part in saved.into_iter().filter(|_| failed.is_none()) {
        for (number, process) in (part.first..).zip(part.processes) {
            parcels[rank_of(number)].processes.push((number, process));
        }
        for event in part.pending {
            parcels[rank_of(event.key.to as usize)].pending.push(event);
        }
    }
    let (mut processes, mut sent) = (Vec::new(), Vec::new());
    let (mut times, mut failed) = (Vec::new(), None);
    for parcel in comm.alltoall(parcels).await? {
        failed = failed.or(parcel.failed);
        times.extend(parcel.time);
        processes.extend(parcel.processes);
        sent.extend(parcel.pending);
    }
    let range = times.iter().min().zip(times.iter().max());
    match (failed, range) {
        (Some(failed), _) => Err(failed.into()),
        (None, None) => Ok(RankStart::start(rules, own, make)),
        (None, Some((first, last))) if first != last => {
            let reason = format!("parts were saved at time {first} and at time {last}");
            Err(ModelError::NotSaved { reason }.into())
        }
        (None, Some((time, _))) => {
            processes.sort_by_key(|(number, _)| *number);
            let done = complete(&own, processes.iter().map(|(number, _)| *number));
            let done = done.map_err(|reason| ModelError::NotSaved { reason });
            let share = Share {
                first: own.start,
                processes: processes.into_iter().map(|(_, process)| process).collect(),
            };
            // Processes that are missing cannot handle what waits for them.
            sent.retain(|_| done.is_ok());
            Ok(RankStart {
                share,
                sent,
                done,
                time: *time,
            })
        }
    }
}

/// Why these parts are not of the run with these rules.
fn refused<P: Logical>(rules: &Rules, saved: &[Saved<P>]) -> Option<String> {
    let run = Run::of(rules);
    let outside = |part: &Saved<P>| {
        let last = part.first.checked_add(part.processes.len());
        let events = part.pending.iter().map(|event| event.key.to as usize);
        last.is_none_or(|last| last > run.processes) || events.max() >= Some(run.processes)
    };
    let times = |part: &&Saved<P>| part.time != saved[0].time;
    let differs = saved.iter().find_map(|part| run.differs(&part.run));
    let said = differs.map(|differs| format!("the part is of a run with another {differs}"));
    let damaged = "a part names processes that its run does not have".to_owned();
    let said = said.or_else(|| saved.iter().any(outside).then_some(damaged));
    said.or_else(|| {
        let (one, other) = (saved.first()?, saved.iter().find(times)?);
        let (first, last) = (one.time.min(other.time), one.time.max(other.time));
        Some(format!(
            "parts were saved at time {first} and at time {last}"
        ))
    })
}

/// Whether these numbers, in their order, are those of the range.
fn complete(own: &Range<usize>, mut numbers: impl Iterator<Item = usize>) -> Result<(), String> {
    for process in own.clone() {
        match numbers.next() {
            Some(number) if number == process => {}
            Some(number) if number < process => {
                return Err(format!("process {number} was saved in two parts"));
            }
            _ => return Err(format!("no rank has the part with process {process}")),
        }
    }
    match numbers.next() {
        Some(number) => Err(format!("process {number} was saved in two parts")),
        None => Ok(()),
    }
}
