//! How a run is carried out.

use super::carry::Carried;
use super::failure::Failure;
use super::flow::{Flow, Step};
use super::{Begin, Done, Run, RunEnded, RunStatus, WorkflowsClient, WorkflowsRequest, undo};
use crate::{Cx, Fault, FaultCode};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use motet_dispatch::Causalities;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Notes a run that begins, and carries it out.
pub(super) async fn begin(cx: &Cx, own: &WorkflowsClient, begin: Begin) -> Result<Run, Fault> {
    let name = begin.name.clone();
    let _taken = RunTaken::new(cx, &name)?;
    // A job that is cancelled while it waits, or that waits in vain, may have noted it.
    let mut given_up = GivenUp(Some((own, name.as_str())));
    let entered = own.enter(begin).by_itself().wait_for_room().await;
    let fault = entered.as_ref().err().map(Fault::code);
    if fault != Some(FaultCode::ResponseTimeout) {
        given_up.0 = None;
    }
    entered?;
    carry_on(cx, own, &name).await
}

/// Carries out what is left of a run, unless another job does.
pub(super) async fn go_on(cx: &Cx, own: &WorkflowsClient, name: &str) -> Result<Run, Fault> {
    let _taken = RunTaken::new(cx, name)?;
    let run = own.look(name.to_owned()).by_itself().await?;
    if run.status == RunStatus::Undone {
        let reason =
            format!("what the run {name:?} had done was undone; begin its flow under another name");
        return Err(Fault::new(FaultCode::PreconditionFailed, reason));
    }
    carry_on(cx, own, name).await
}

/// A run that this job carries out, and no other meanwhile. The node knows it, not the state of
/// the service: who ends in whatever way leaves it to others.
struct RunTaken<'a> {
    cx: &'a Cx,
    name: &'a str,
}

impl<'a> RunTaken<'a> {
    fn new(cx: &'a Cx, name: &'a str) -> Result<Self, Fault> {
        let key = (Arc::clone(&cx.common().path), name.to_owned());
        match cx.common().shared.runs.lock().entry(key) {
            Entry::Vacant(free) => {
                free.insert(cx.job_path().unwrap_or_default().to_owned());
                Ok(RunTaken { cx, name })
            }
            Entry::Occupied(taken) => {
                let job = taken.get();
                let reason = format!(
                    "the job {job} carries out the run {name:?}; wait for its end, or cancel it, \
                     and then resume the run"
                );
                Err(Fault::duplicate_entry(reason).of_service(cx.path()))
            }
        }
    }
}

impl Drop for RunTaken<'_> {
    fn drop(&mut self) {
        let common = self.cx.common();
        let key = (Arc::clone(&common.path), self.name.to_owned());
        common.shared.runs.lock().remove(&key);
    }
}

/// Carries out what is left of a run. When a step has failed for good and something can be undone,
/// it is, and the run has ended then.
async fn carry_on(cx: &Cx, own: &WorkflowsClient, name: &str) -> Result<Run, Fault> {
    let mut given_up = GivenUp(Some((own, name)));
    let look = || own.look(name.to_owned()).by_itself();
    let set = |status, fault| {
        let run = name.to_owned();
        let noted = own.set_status(RunEnded { run, status, fault });
        noted.by_itself().wait_for_room()
    };
    let run = look().await?;
    let failed = match run.fault {
        // It was being undone.
        Some(fault) => fault,
        None => {
            set(RunStatus::Running, None).await?;
            let failed = carry_steps(cx, own, name, &run.flow).await?;
            let Some(failure) = failed else {
                set(RunStatus::Done, None).await?;
                given_up.0 = None;
                return look().await;
            };
            let is_undone = match failure {
                Failure::Call(_) => !undo::left(&look().await?).is_empty(),
                Failure::Record(_) => false,
            };
            if !is_undone {
                set(RunStatus::Failed, None).await?;
                given_up.0 = None;
                return Err(failure.fault());
            }
            failure.fault()
        }
    };
    set(RunStatus::Undoing, Some(failed.clone())).await?;
    let (status, fault) = match undo_steps(cx, own, &look().await?, name).await {
        Ok(()) => {
            let reason = format!("{}; what was done before was undone", failed.reason());
            (RunStatus::Undone, Fault::new(failed.code(), reason))
        }
        Err(failure) => {
            let fault = failure.fault();
            let reason = format!(
                "{}, when this was undone: {}",
                fault.reason(),
                failed.reason()
            );
            (RunStatus::Failed, Fault::new(fault.code(), reason))
        }
    };
    set(status, None).await?;
    given_up.0 = None;
    Err(fault)
}

/// Carries out each step as soon as those have ended that it needs. After a failure those that run
/// end, and none begins.
async fn carry_steps(
    cx: &Cx,
    own: &WorkflowsClient,
    name: &str,
    flow: &Flow,
) -> Result<Option<Failure>, Fault> {
    let mut begun = vec![false; flow.steps.len()];
    let mut running = FuturesUnordered::new();
    let mut failed: Option<Failure> = None;
    loop {
        let run = Arc::new(own.look(name.to_owned()).by_itself().await?);
        let ended = run.steps.values().filter(|done| done.has_ended()).count();
        cx.progress(ended as f64 / flow.steps.len().max(1) as f64, "");
        for (step, begun) in flow.steps.iter().zip(&mut begun) {
            if failed.is_none() && !*begun && is_ready(step, &run) {
                *begun = true;
                let run = Arc::clone(&run);
                let step = Carried {
                    cx,
                    own,
                    run: name,
                    step,
                };
                running.push(async move { step.carry_out(&run).await });
            }
        }
        let Some(ended) = running.next().await else {
            return Ok(failed);
        };
        if let Err(failure) = ended {
            failed = Some(failure.after(failed));
        }
    }
}

/// Undoes what is left to be undone, one step after the other.
async fn undo_steps(cx: &Cx, own: &WorkflowsClient, run: &Run, name: &str) -> Result<(), Failure> {
    for one in undo::left(run) {
        let by = Carried {
            cx,
            own,
            run: name,
            step: one.step,
        };
        one.undo(by, run).await?;
    }
    Ok(())
}

/// A run that goes on. When this is dropped before it has ended, it is interrupted: its job was
/// cancelled, or what becomes of it cannot be noted.
struct GivenUp<'a>(Option<(&'a WorkflowsClient, &'a str)>);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some((own, name)) = self.0 {
            let interrupted = WorkflowsRequest::SetStatus(RunEnded {
                run: name.to_owned(),
                status: RunStatus::Interrupted,
                fault: None,
            });
            // Under no causality: one that is cancelled may have it skipped. A service that has
            // ended notes it when it is there again.
            drop(Causalities::none().run(|| own.post_by_itself(interrupted)));
        }
    }
}

/// Whether a step has not ended, and all have that it needs.
fn is_ready(step: &Step, run: &Run) -> bool {
    let has_ended = |name: &str| run.steps.get(name).is_some_and(Done::has_ended);
    !has_ended(&step.name) && step.needs().into_iter().all(has_ended)
}
