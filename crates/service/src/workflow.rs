//! Workflows: operations of services in an order, with what the one gives to the other.
//!
//! ```text
//!   flow (TOML, JSON) ──► run ──► steps that need nothing more ──► call, key run/step/try ──► recorded ──► next steps
//!                                                                       └─ fault: again, if its retry says so
//!                                                                          └─ for good: undo, the last step first
//! ```
//!
//! A flow is itself run by a service, [`Workflow`], whose state is what has been done. With a store
//! each step is committed when it has ended, so that a run which was interrupted
//! [goes on](WorkflowsClient::resume) where it was.
//!
//! A step with `for_each` is carried out for each value of a list, some of them at once. When a
//! step fails for good, what was done before is undone by the steps that have an `undo`.
//!
//! - `flow.rs`: what is to be done, and what is wrong with it; `run.rs`: how a run is carried out.
//! - `carry.rs`: how a step is; `undo.rs`: how it is undone; `scope.rs`: what its texts stand for.
//!
//! ```
//! use motet_service::workflow::Flow;
//!
//! let flow = Flow::read(r#"
//!     [[step]]
//!     name = "fetch"
//!     call = "/source:scatter"
//!     with = 50
//!
//!     [[step]]
//!     name = "cluster"
//!     call = "/clustering:cluster"
//!     with = { clusters = 4, points = "${fetch.out}" }
//!     retry = { times = 3, backoff_ms = 100, on = ["Unavailable"] }
//! "#)?;
//! assert_eq!(flow.steps[1].needs(), ["fetch"]);
//! let flow = Flow::read(r#"
//!     [[step]]
//!     name = "rooms"
//!     call = "/hotels:book"
//!     for_each = ["Rome", "Oslo"]
//!     with = { town = "${item}", nights = 2 }
//!     undo = { call = "/hotels:cancel", with = { number = "${rooms.out/number}" } }
//!
//!     [[step]]
//!     name = "flight"
//!     call = "/flights:book"
//!     after = ["rooms"]
//! "#)?;
//! assert!(flow.steps[0].undo.is_some());
//! let wrong = Flow::read(r#"{"step": [{"name": "a", "call": "/x:y", "after": ["b"]}]}"#);
//! assert!(wrong.unwrap_err().reason().contains("\"b\""));
//! # Ok::<(), motet_service::Fault>(())
//! ```

mod call;
mod carry;
mod failure;
mod flow;
mod reference;
mod run;
mod runs;
mod scope;
mod undo;

pub use flow::{Flow, Retry, Step, Undo};
pub use runs::{CallDone, Done, Run, RunStatus, Runs, Undone};

use crate::{Cx, Fault, FaultCode, Service, State, contract, data};
use std::collections::BTreeMap;

/// A run that is to begin.
#[data]
pub struct Begin {
    /// Its name, of which there is one.
    pub name: String,
    /// What is to be done.
    pub flow: Flow,
}

/// What has become of a step.
#[data]
pub struct StepDone {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// What is known of it now.
    pub done: Done,
}

/// What has become of a call for one value of a list.
#[data]
pub struct ItemDone {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// Which value, from 0.
    pub at: usize,
    /// What is known of the call now.
    pub done: CallDone,
}

/// What has become of the undo of a step.
#[data]
pub struct StepUndone {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// What is known of it now.
    pub undo: Undone,
}

/// How a run has ended, or goes on.
#[data]
pub struct RunEnded {
    /// The run.
    pub run: String,
    /// How it stands.
    pub status: RunStatus,
    /// Why what it has done is undone from now on.
    pub fault: Option<Fault>,
}

/// Runs flows.
#[contract(uri = "motet:workflow/1", state = Runs)]
pub trait Workflows {
    /// Begins a run, and goes on with it to its end.
    #[submit(job)]
    async fn run(cx: Cx, begin: Begin) -> Result<Run, Fault>;
    /// Goes on with a run that was interrupted or has failed. The job has the fault
    /// `DuplicateEntry` while another carries the run out, and `PreconditionFailed` when the run
    /// was undone.
    #[submit(job)]
    async fn resume(cx: Cx, name: String) -> Result<Run, Fault>;
    /// How a run stands.
    #[query]
    fn look(&self, name: String) -> Result<Run, Fault>;
    /// Notes that a run begins.
    #[insert]
    fn enter(&mut self, begin: Begin) -> Result<(), Fault>;
    /// Notes what has become of a step.
    #[update]
    fn record(&mut self, step: StepDone) -> Result<(), Fault>;
    /// Notes what has become of a call for one value of a list.
    #[update]
    fn record_item(&mut self, item: ItemDone) -> Result<(), Fault>;
    /// Notes what has become of the undo of a step.
    #[update]
    fn record_undo(&mut self, step: StepUndone) -> Result<(), Fault>;
    /// Notes how a run stands.
    #[update]
    fn set_status(&mut self, ended: RunEnded) -> Result<(), Fault>;
}

/// The service that runs flows. Create it with `persist`, so that its runs outlive their process.
#[derive(Service)]
#[service(contract = Workflows, start = begin)]
pub struct Workflow {
    #[state]
    runs: State<Runs>,
}

impl Workflow {
    /// Whatever ran when the state was stored does not run any more.
    async fn begin(&mut self, _: &Cx) -> Result<(), Fault> {
        let is_running = |run: &Run| run.status.goes_on();
        if self.runs.runs.values().any(is_running) {
            let runs = self.runs.runs.values_mut();
            runs.filter(|run| is_running(run))
                .for_each(|run| run.status = RunStatus::Interrupted);
        }
        Ok(())
    }

    fn of(&mut self, name: &str) -> Result<&mut Run, Fault> {
        self.runs.runs.get_mut(name).ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> Fault {
    Fault::unknown_entry(format!("there is no run {name:?}"))
}

impl Workflows for Workflow {
    async fn run(cx: Cx, begin: Begin) -> Result<Run, Fault> {
        let own = cx.own::<WorkflowsClient>()?;
        run::begin(&cx, &own, begin).await
    }

    async fn resume(cx: Cx, name: String) -> Result<Run, Fault> {
        let own = cx.own::<WorkflowsClient>()?;
        run::go_on(&cx, &own, &name).await
    }

    fn look(&self, name: String) -> Result<Run, Fault> {
        self.runs
            .runs
            .get(&name)
            .cloned()
            .ok_or_else(|| unknown(&name))
    }

    fn enter(&mut self, begin: Begin) -> Result<(), Fault> {
        let Begin { name, flow } = begin;
        flow.check()?;
        if self.runs.runs.contains_key(&name) {
            let reason =
                format!("there is a run {name:?} already; resume it, or take another name");
            return Err(Fault::new(FaultCode::DuplicateEntry, reason));
        }
        let run = Run {
            flow,
            steps: BTreeMap::new(),
            status: RunStatus::Running,
            fault: None,
        };
        self.runs.runs.insert(name, run);
        Ok(())
    }

    fn record(&mut self, step: StepDone) -> Result<(), Fault> {
        let run = self.of(&step.run)?;
        let ended = run.steps.values().filter(|done| done.has_ended()).count();
        let known = run.steps.entry(step.step).or_default();
        // A job that was cancelled may have posted this before the next one has begun. The first
        // to record a step is right: their calls had the same key.
        if known.has_ended() {
            return Ok(());
        }
        let items = std::mem::replace(known, step.done).items;
        match known.has_ended() {
            true => known.place = ended + 1,
            false => known.items = items,
        }
        Ok(())
    }

    fn record_item(&mut self, item: ItemDone) -> Result<(), Fault> {
        let ItemDone {
            run,
            step,
            at,
            done,
        } = item;
        let run = self.of(&run)?;
        let of = run.flow.steps.iter().find(|one| one.name == step);
        let most = of.map_or(0, Step::most_at_once);
        let known = run.steps.entry(step).or_default();
        if known.has_ended() {
            return Ok(());
        }
        // They begin in the order of the list.
        if at >= known.items.len().saturating_add(most) {
            let reason = format!("the step has not called for item {at}");
            return Err(Fault::unknown_entry(reason));
        }
        if known.items.len() <= at {
            known.items.resize_with(at + 1, CallDone::default);
        }
        // As above.
        if known.items[at].out.is_none() {
            known.fault = done.fault.clone().or(known.fault.take());
            let sum = known.faults.saturating_add(done.faults);
            known.faults = sum.saturating_sub(known.items[at].faults);
            known.items[at] = done;
        }
        Ok(())
    }

    fn record_undo(&mut self, step: StepUndone) -> Result<(), Fault> {
        let known = self.of(&step.run)?.steps.entry(step.step).or_default();
        // As above.
        if !known.undo.all && known.undo.calls <= step.undo.calls {
            known.undo = step.undo;
        }
        Ok(())
    }

    fn set_status(&mut self, ended: RunEnded) -> Result<(), Fault> {
        let run = self.runs.runs.get(&ended.run);
        let is_over = run.is_some_and(|run| !run.status.goes_on());
        // Its job was cancelled when the end of the run was on its way.
        if ended.status == RunStatus::Interrupted && is_over {
            return Ok(());
        }
        let run = self.of(&ended.run)?;
        run.status = ended.status;
        run.fault = ended.fault.or(run.fault.take());
        Ok(())
    }
}

impl std::fmt::Debug for Workflow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workflow")
            .field("runs", &self.runs)
            .finish()
    }
}
