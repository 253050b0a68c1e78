//! Workflows: operations of services in an order, with what the one gives to the other.
//!
//! ```text
//!   flow (TOML, JSON) ──► run ──► steps that need nothing more ──► call, key run/step/try ──► recorded ──► next steps
//!                                                                       └─ fault: again, if its retry says so
//! ```
//!
//! A flow is itself run by a service, [`Workflow`], whose state is what has been done. With a store
//! each step is committed when it has ended, so that a run which was interrupted
//! [goes on](WorkflowsClient::resume) where it was.
//!
//! - `flow.rs`: what is to be done, and what is wrong with it; `run.rs`: how it is done.
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
//! let wrong = Flow::read(r#"{"step": [{"name": "a", "call": "/x:y", "after": ["b"]}]}"#);
//! assert!(wrong.unwrap_err().reason().contains("\"b\""));
//! # Ok::<(), motet_service::Fault>(())
//! ```

mod flow;
mod run;

pub use flow::{Flow, Retry, Step};

use crate::{Cx, Fault, FaultCode, Service, State, Value, contract, data};
use std::collections::BTreeMap;

/// The runs of a workflow service, by their names.
#[data]
#[derive(Default)]
pub struct Runs {
    /// All of them.
    pub runs: BTreeMap<String, Run>,
}

/// A run: a flow, and how far it is.
#[data]
pub struct Run {
    /// What is to be done.
    pub flow: Flow,
    /// What has been done of it.
    pub steps: BTreeMap<String, Done>,
    /// How it stands.
    pub status: RunStatus,
}

/// How a run stands.
#[data]
#[derive(Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// Its process has ended before it, or its job was cancelled; it goes on when it is resumed.
    Interrupted,
    /// All steps have ended.
    Done,
    /// A step has failed; it is tried again when the run is resumed.
    Failed,
}

/// What is known of a step that was tried.
#[data]
#[derive(Default)]
pub struct Done {
    /// What it has given, once it has ended.
    pub out: Option<Value>,
    /// It was left out: its condition did not hold, or it needs one that was left out.
    pub left_out: bool,
    /// How many tries were answered with a fault.
    pub faults: u32,
    /// The last fault.
    pub fault: Option<Fault>,
}

impl Done {
    /// Whether nothing is left to do.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.out.is_some() || self.left_out
    }
}

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

/// How a run has ended.
#[data]
pub struct RunEnded {
    /// The run.
    pub run: String,
    /// How it stands.
    pub status: RunStatus,
}

/// Runs flows.
#[contract(uri = "motet:workflow/1", state = Runs)]
pub trait Workflows {
    /// Begins a run, and goes on with it to its end.
    #[submit(job)]
    async fn run(cx: Cx, begin: Begin) -> Result<Run, Fault>;
    /// Goes on with a run that was interrupted or has failed. The job has the fault
    /// `DuplicateEntry` while another carries the run out.
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
        let is_running = |run: &Run| run.status == RunStatus::Running;
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
        };
        self.runs.runs.insert(name, run);
        Ok(())
    }

    fn record(&mut self, step: StepDone) -> Result<(), Fault> {
        let known = self.of(&step.run)?.steps.entry(step.step).or_default();
        // A job that was cancelled may have posted this before the next one has begun. The first
        // to record a step is right: their calls had the same key.
        if !known.has_ended() {
            *known = step.done;
        }
        Ok(())
    }

    fn set_status(&mut self, ended: RunEnded) -> Result<(), Fault> {
        let run = self.runs.runs.get(&ended.run);
        let is_over = run.is_some_and(|run| run.status != RunStatus::Running);
        // Its job was cancelled when the end of the run was on its way.
        if ended.status == RunStatus::Interrupted && is_over {
            return Ok(());
        }
        self.of(&ended.run)?.status = ended.status;
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
