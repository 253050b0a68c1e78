//! How a step is carried out: its calls, and what is recorded of them.

use super::call::call;
use super::failure::Failure;
use super::flow::{FlowCall, Step};
use super::scope::Scope;
use super::{CallDone, Done, ItemDone, Run, StepDone, StepUndone, Undone, WorkflowsClient};
use crate::{Cx, Fault, FaultCode, Value};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use motet_ports::timer::sleep;
use std::time::Duration;

/// A step of a run that is carried out, or undone.
#[derive(Clone, Copy)]
pub(super) struct Carried<'a> {
    pub(super) cx: &'a Cx,
    pub(super) own: &'a WorkflowsClient,
    pub(super) run: &'a str,
    pub(super) step: &'a Step,
}

/// Which of the calls of a step.
#[derive(Clone, Copy)]
pub(super) enum CallOf {
    /// Its only one.
    Step,
    /// That for a value of its list.
    Item(usize),
    /// What undoes its only one, or that for a value; so many are undone before it.
    Undo { at: usize, undone: usize },
}

impl Carried<'_> {
    /// Carries out what is left of a step, and records what becomes of it.
    pub(super) async fn carry_out(self, run: &Run) -> Result<(), Failure> {
        let scope = Scope::of(run);
        let known = run.steps.get(&self.step.name);
        let faults = known.map_or(0, |done| done.faults);
        if !scope.wants(self.step) {
            let left_out = Done {
                left_out: true,
                faults,
                ..Done::default()
            };
            return self.record(left_out).await.map_err(Failure::Record);
        }
        let body = match self.step.has_list() {
            true => match scope.list(self.step) {
                Ok(values) => return self.carry_list(run, &values).await,
                Err(fault) => Err(fault),
            },
            false => scope.filled(&self.step.with),
        };
        let (out, faults) = self.tried(CallOf::Step, faults, body).await?;
        let done = Done {
            out: Some(out),
            faults,
            ..Done::default()
        };
        self.record(done).await.map_err(Failure::Record)
    }

    /// The calls for the values of a list that were not answered, so many at once. After a failure
    /// those that run end, and none begins.
    async fn carry_list(self, run: &Run, values: &[Value]) -> Result<(), Failure> {
        let known = run.steps.get(&self.step.name);
        let items = known.map(|done| done.items.as_slice());
        let items = items.unwrap_or_default();
        let is_left = |at: &usize| items.get(*at).is_none_or(|item| item.out.is_none());
        let mut left = (0..values.len()).filter(is_left);
        let most = self.step.most_at_once();
        let mut running = FuturesUnordered::new();
        let mut failed: Option<Failure> = None;
        loop {
            while failed.is_none() && running.len() < most {
                let Some(at) = left.next() else { break };
                let faults = items.get(at).map_or(0, |item| item.faults);
                running.push(self.carry_item(run, at, &values[at], faults));
            }
            let Some(ended) = running.next().await else {
                break;
            };
            if let Err(failure) = ended {
                failed = Some(failure.after(failed));
            }
        }
        if let Some(failure) = failed {
            return Err(failure);
        }
        // In the order of the values, whichever was answered first.
        let look = self.own.look(self.run.to_owned());
        let mut run = look.by_itself().wait_for_room().await?;
        let known = run.steps.remove(&self.step.name).unwrap_or_default();
        let outs = known.items.into_iter().map(|item| item.out);
        let outs = outs.map(Option::unwrap_or_default).collect();
        let done = Done {
            out: Some(Value::Array(outs)),
            faults: known.faults,
            ..Done::default()
        };
        self.record(done).await.map_err(Failure::Record)
    }

    /// The call for one value.
    async fn carry_item(
        self,
        run: &Run,
        at: usize,
        value: &Value,
        faults: u32,
    ) -> Result<(), Failure> {
        let body = Scope::of(run)
            .with_item(Some(value))
            .filled(&self.step.with);
        let (out, faults) = self.tried(CallOf::Item(at), faults, body).await?;
        let done = CallDone {
            out: Some(out),
            faults,
            fault: None,
        };
        let recorded = self.record_item(at, done).await;
        recorded.map_err(Failure::Record)
    }

    /// Calls, again and again if the retry says so. What it gives is not recorded, its faults are.
    pub(super) async fn tried(
        self,
        which: CallOf,
        mut faults: u32,
        body: Result<Value, Fault>,
    ) -> Result<(Value, u32), Failure> {
        let what = self.call_of(which)?;
        let mut wait = Duration::from_millis(what.retry.backoff_ms);
        let mut tries = 0;
        loop {
            tries += 1;
            // A call that may have been carried out without an answer keeps its key: it is not
            // carried out twice.
            let key = self.key(which, faults);
            let ended = match &body {
                Ok(body) => call(self.cx, what, body.clone(), &key).await,
                Err(fault) => Err(fault.clone()),
            };
            let fault = match ended {
                Ok(out) => return Ok((out, faults)),
                Err(fault) => fault,
            };
            let has_answered = !matches!(
                fault.code(),
                FaultCode::ResponseTimeout | FaultCode::NoAnswer | FaultCode::Unavailable
            );
            faults += u32::from(has_answered);
            self.record_fault(which, faults, &fault).await?;
            if !what.retry.again(tries, fault.code()) {
                return Err(self.failed(which, &fault));
            }
            sleep(wait).await;
            wait = wait.saturating_mul(2);
        }
    }

    fn call_of(&self, which: CallOf) -> Result<FlowCall<'_>, Fault> {
        match which {
            CallOf::Step | CallOf::Item(_) => Ok(self.step.forward()),
            CallOf::Undo { .. } => match &self.step.undo {
                Some(undo) => Ok(undo.call()),
                None => Err(Fault::failed("the step has no undo")),
            },
        }
    }

    /// What tells a call from all others of all runs. Lengths tell where the one name ends and the
    /// other begins, and the first word which kind of call it is.
    fn key(&self, which: CallOf, faults: u32) -> String {
        let (run, step) = (self.run, &self.step.name);
        let (of_run, of_step) = (run.len(), step.len());
        match which {
            CallOf::Step => format!("{of_run}/{run}/{step}/{faults}"),
            CallOf::Item(at) => format!("item/{of_run}/{run}/{of_step}/{step}/{at}/{faults}"),
            CallOf::Undo { at, .. } => {
                format!("undo/{of_run}/{run}/{of_step}/{step}/{at}/{faults}")
            }
        }
    }

    fn failed(&self, which: CallOf, fault: &Fault) -> Failure {
        let (name, reason) = (&self.step.name, fault.reason());
        let reason = match which {
            CallOf::Step => format!("the step {name:?} failed: {reason}"),
            CallOf::Item(at) => format!("the step {name:?} failed at item {at}: {reason}"),
            CallOf::Undo { .. } => format!("the undo of the step {name:?} failed: {reason}"),
        };
        Failure::Call(Fault::new(fault.code(), reason))
    }

    async fn record_fault(&self, which: CallOf, faults: u32, fault: &Fault) -> Result<(), Fault> {
        let fault = Some(fault.clone());
        match which {
            CallOf::Step => {
                let done = Done {
                    fault,
                    faults,
                    ..Done::default()
                };
                self.record(done).await
            }
            CallOf::Item(at) => {
                let done = CallDone {
                    out: None,
                    faults,
                    fault,
                };
                self.record_item(at, done).await
            }
            CallOf::Undo { undone, .. } => {
                let undo = Undone {
                    calls: undone,
                    all: false,
                    faults,
                    fault,
                };
                self.record_undo(undo).await
            }
        }
    }

    async fn record(&self, done: Done) -> Result<(), Fault> {
        let (run, step) = self.names();
        let done = StepDone { run, step, done };
        self.own.record(done).by_itself().wait_for_room().await
    }

    async fn record_item(&self, at: usize, done: CallDone) -> Result<(), Fault> {
        let (run, step) = self.names();
        let done = ItemDone {
            run,
            step,
            at,
            done,
        };
        self.own.record_item(done).by_itself().wait_for_room().await
    }

    pub(super) async fn record_undo(&self, undo: Undone) -> Result<(), Fault> {
        let (run, step) = self.names();
        let undo = StepUndone { run, step, undo };
        self.own.record_undo(undo).by_itself().wait_for_room().await
    }

    fn names(&self) -> (String, String) {
        (self.run.to_owned(), self.step.name.clone())
    }
}
