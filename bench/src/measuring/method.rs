//! How every case is measured: once for all experiments.
//!
//! Measuring goes round after round through all experiments of a run, and in each round through all
//! their cases. In a case motet's program and the peers' run in turn. So what a machine does in
//! seconds and in minutes hits all of them alike. The runs of a row lie as far apart as the run
//! lasts. So its least and most hold what would be found at another moment. A program runs once for
//! nothing before its first round, unless it runs for so long that this counts. A row is the median
//! of the rounds with the least and the most. An experiment has a budget of time, after which it
//! has no more rounds. What the other processes and the host had of the processors is read before
//! and after each case. When it was too much, the case's round is measured again if there is time
//! left. When it is too much over all rounds, the rows say so.

use super::case::{Case, Series};
use super::effort::Effort;
use super::load::{Elapsed, Reading, System, Watch};
use super::plan::{CasePlan, PlannedCase, Run};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuringMethod {
    /// All rounds of an experiment together, about, without what is set up before the first.
    pub budget: Duration,
    /// After so long no round begins but each experiment's first.
    pub limit: Duration,
    /// Rounds at least, unless they would take more than twice the budget.
    pub least: usize,
    /// Rounds at most.
    pub most: usize,
    /// So many series of each case, the first ones, run once for nothing. What a program or its
    /// library sets up the first time is so not measured.
    pub warm: usize,
    /// When the runs of all series for nothing take so long, they count as the first round. Nothing
    /// shows in them that is set up the first time.
    pub long: Duration,
    /// The load of others is looked at.
    pub watched: bool,
}

/// Nothing that is set up the first time shows in runs of this length.
const LONG: Duration = Duration::from_secs(10);

/// Measures the cases of experiments.
#[derive(Debug)]
pub struct Measurer {
    method: MeasuringMethod,
    watch: Box<dyn Watch>,
}

/// What is told while cases are measured; by itself it hears nothing and goes on.
pub trait Listener {
    /// A case begins: its place from 0, how many there are, and what it is.
    fn case(&mut self, _at: usize, _of: usize, _case: &Case) {}

    /// Others had this share of the processors.
    fn disturbed(&mut self, _case: &Case, _share: f64, _again: bool) {}

    /// Whether to stop: asked between runs.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Measuring has ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Stop {
    /// Somebody asked for it.
    #[error("it was cancelled")]
    Cancelled,
    /// A row cannot be kept.
    #[error("{0}")]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl MeasuringMethod {
    /// What belongs to an effort.
    #[must_use]
    pub fn of(effort: Effort) -> MeasuringMethod {
        // Five minutes for all experiments of a quick run, with the round that is under way.
        let quick = Duration::from_secs(270);
        let (seconds, limit, least, most) = effort.pick(
            (0, Duration::ZERO, 1, 1),
            (24, quick, 3, 7),
            (600, Duration::MAX, 7, 21),
        );
        MeasuringMethod {
            budget: Duration::from_secs(seconds),
            limit,
            least,
            most,
            warm: effort.pick(0, usize::MAX, usize::MAX),
            long: LONG,
            watched: effort != Effort::Trial,
        }
    }

    /// So many rounds, as long as they take.
    #[must_use]
    pub fn rounds(rounds: usize, warm: usize) -> MeasuringMethod {
        MeasuringMethod {
            budget: Duration::MAX,
            limit: Duration::MAX,
            least: 1,
            most: rounds,
            warm,
            long: LONG,
            watched: rounds > 1,
        }
    }
}

impl Measurer {
    /// By this method, with the system's own word on its load.
    #[must_use]
    pub fn new(method: MeasuringMethod) -> Measurer {
        Measurer {
            method,
            watch: Box::new(System::new()),
        }
    }

    /// Whether there is to be one more round.
    #[must_use]
    pub fn wants(&self, plan: &CasePlan) -> bool {
        let method = &self.method;
        match plan.rounds {
            0 => true,
            // The least is worth some more time, but not any: the next round takes what the others
            // took.
            rounds if rounds < method.least => plan.next() <= method.budget * 2,
            rounds => rounds < method.most && plan.next() <= method.budget,
        }
    }

    /// One more round through all cases, in order.
    ///
    /// # Errors
    /// [`Stop::Cancelled`], after a whole run of a program.
    pub fn round(&mut self, plan: &mut CasePlan, listener: &mut dyn Listener) -> Result<(), Stop> {
        let of = plan.places.len();
        plan.last = Duration::ZERO;
        for at in 0..of {
            let place = &mut plan.places[at];
            listener.case(at, of, &place.case);
            let mut begun = Instant::now();
            let cold = plan.rounds == 0 && self.method.warm > 0;
            if !cold || !self.warmed(place, listener)? {
                begun = Instant::now();
                let time_left = plan.spent < self.method.budget;
                self.settled(place, time_left, listener)?;
            }
            let elapsed = begun.elapsed();
            plan.spent += elapsed;
            plan.last += elapsed;
        }
        plan.rounds += 1;
        Ok(())
    }

    /// Runs what is to run for nothing, and says whether it counts.
    fn warmed(
        &mut self,
        place: &mut PlannedCase,
        listener: &mut dyn Listener,
    ) -> Result<bool, Stop> {
        let (begun, warm) = (Instant::now(), self.method.warm);
        let first = self.attempt(place, warm, listener)?;
        let all = warm >= place.case.series.len() && first.1.disturbed().is_none();
        let counts = all && begun.elapsed() >= self.method.long;
        match counts {
            true => place.keep(first),
            false => place.reasons(first.0),
        }
        Ok(counts)
    }

    /// A round of a case, once more if others disturbed the first attempt; the one that is less
    /// disturbed counts.
    fn settled(
        &mut self,
        place: &mut PlannedCase,
        time_left: bool,
        listener: &mut dyn Listener,
    ) -> Result<(), Stop> {
        let first = self.attempt(place, usize::MAX, listener)?;
        let Some(share) = first.1.disturbed() else {
            place.keep(first);
            return Ok(());
        };
        listener.disturbed(&place.case, share, time_left);
        if !time_left {
            place.keep(first);
            return Ok(());
        }
        let second = self.attempt(place, usize::MAX, listener)?;
        let again = second.1.disturbed();
        if let Some(share) = again {
            listener.disturbed(&place.case, share, false);
        }
        place.keep(match again.is_some_and(|again| again >= share) {
            true => first,
            false => second,
        });
        Ok(())
    }

    /// A run of each of the first `most` series, and what went by meanwhile.
    fn attempt(
        &mut self,
        place: &mut PlannedCase,
        most: usize,
        listener: &mut dyn Listener,
    ) -> Result<(Vec<Run>, Elapsed), Stop> {
        let before = self.reading();
        let runs = run_all(place, most, listener)?;
        let after = self.reading();
        let elapsed = before.zip(after);
        Ok((
            runs,
            elapsed.map_or_else(Elapsed::default, |(then, now)| now.since(&then)),
        ))
    }

    fn reading(&mut self) -> Option<Reading> {
        self.watch.read().filter(|_| self.method.watched)
    }
}

/// Measures cases by themselves, and tells after each round how many there were. It ends early when
/// the first series can run in no case.
#[must_use]
pub(crate) fn measured(
    method: MeasuringMethod,
    cases: Vec<Case>,
    mut progress: impl FnMut(usize),
) -> CasePlan {
    let mut measurer = Measurer::new(method);
    let mut plan = CasePlan::new("", cases);
    while measurer.wants(&plan) && !plan.is_hopeless() {
        // Nobody cancels it.
        let _ = measurer.round(&mut plan, &mut ());
        progress(plan.rounds);
    }
    plan
}

/// Nobody listens.
impl Listener for () {}

fn go_on(listener: &dyn Listener) -> Result<(), Stop> {
    match listener.cancelled() {
        true => Err(Stop::Cancelled),
        false => Ok(()),
    }
}

/// One run of each of the first `most` series, if it can run here.
fn run_all(
    place: &mut PlannedCase,
    most: usize,
    listener: &mut dyn Listener,
) -> Result<Vec<Run>, Stop> {
    let values = place.case.told().len();
    let mut runs = Vec::new();
    for (series, kept) in place.case.series.iter_mut().zip(&place.runs).take(most) {
        if kept.is_err() {
            runs.push(None);
            continue;
        }
        go_on(listener)?;
        let run = once(series, values);
        if run.is_err() {
            // An interrupt ends the programs of others too: that is no reason of theirs.
            go_on(listener)?;
        }
        runs.push(Some(run));
    }
    Ok(runs)
}

/// One run, whose values are what they must be.
fn once(series: &mut Series, wanted: usize) -> Result<Vec<f64>, String> {
    let values = (series.program)()?;
    if values.len() != wanted {
        let given = values.len();
        return Err(format!("it gives {given} values, not {wanted}"));
    }
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("it gives {value}, which is no number")),
        None => Ok(values),
    }
}

#[cfg(test)]
#[path = "method/tests.rs"]
mod tests;
