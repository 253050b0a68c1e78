//! How a run is carried out.

use super::carry::Carried;
use super::failure::Failure;
use super::flow::{Flow, Step};
use super::{Begin, Done, Run, RunEnded, RunStatus, WorkflowsClient, WorkflowsRequest, undo};
use crate::service::NodeShared;
use crate::{Cx, Fault, FaultCode};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use motet_dispatch::{Causalities, spawn_here};
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

/// Notes a run that begins, and carries it out.
pub(super) async fn begin(cx: &Cx, own: &WorkflowsClient, begin: Begin) -> Result<Run, Fault> {
    let taken = Arc::new(RunTaken::new(cx, &begin.name)?);
    // A job that is cancelled while it waits, or that waits in vain, may have noted it.
    let mut given_up = GivenUp::new(cx, own, &taken);
    let entered = own.enter(begin).by_itself().wait_for_room().await;
    let fault = entered.as_ref().err().map(Fault::code);
    if fault != Some(FaultCode::ResponseTimeout) {
        given_up.taken = None;
    }
    entered?;
    carry_on(cx, own, &taken).await
}

/// Carries out what is left of a run, unless another job does.
pub(super) async fn go_on(cx: &Cx, own: &WorkflowsClient, name: &str) -> Result<Run, Fault> {
    let taken = Arc::new(RunTaken::new(cx, name)?);
    let look = own.look(name.to_owned());
    let run = look.by_itself().wait_for_room().await?;
    if run.status == RunStatus::Undone {
        let reason =
            format!("what the run {name:?} had done was undone; begin its flow under another name");
        return Err(Fault::new(FaultCode::PreconditionFailed, reason));
    }
    carry_on(cx, own, &taken).await
}

/// A run that this job carries out, and no other meanwhile. The node knows it, not the state of
/// the service: who ends in whatever way leaves it to others.
struct RunTaken {
    shared: Arc<NodeShared>,
    /// The path of the service, and the name of the run.
    key: (Arc<str>, String),
}

impl RunTaken {
    fn new(cx: &Cx, name: &str) -> Result<Self, Fault> {
        let common = cx.common();
        let key = (Arc::clone(&common.path), name.to_owned());
        match common.shared.runs.lock().entry(key.clone()) {
            Entry::Vacant(free) => {
                free.insert(cx.job_path().unwrap_or_default().to_owned());
                let shared = Arc::clone(&common.shared);
                Ok(RunTaken { shared, key })
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

    fn name(&self) -> &str {
        &self.key.1
    }
}

impl Drop for RunTaken {
    fn drop(&mut self) {
        self.shared.runs.lock().remove(&self.key);
    }
}

/// Carries out what is left of a run. When a step has failed for good and something can be undone,
/// it is, and the run has ended then.
async fn carry_on(cx: &Cx, own: &WorkflowsClient, taken: &Arc<RunTaken>) -> Result<Run, Fault> {
    let mut given_up = GivenUp::new(cx, own, taken);
    let name = taken.name();
    let look = || own.look(name.to_owned()).by_itself().wait_for_room();
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
                given_up.taken = None;
                return look().await;
            };
            let is_undone = match failure {
                Failure::Call(_) => !undo::left(&look().await?).is_empty(),
                Failure::Record(_) => false,
            };
            if !is_undone {
                set(RunStatus::Failed, None).await?;
                given_up.taken = None;
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
    given_up.taken = None;
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
        let look = own.look(name.to_owned()).by_itself();
        let run = Arc::new(look.wait_for_room().await?);
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
struct GivenUp<'a> {
    cx: &'a Cx,
    own: &'a WorkflowsClient,
    /// `None` when it has ended.
    taken: Option<&'a Arc<RunTaken>>,
}

impl<'a> GivenUp<'a> {
    fn new(cx: &'a Cx, own: &'a WorkflowsClient, taken: &'a Arc<RunTaken>) -> Self {
        let taken = Some(taken);
        GivenUp { cx, own, taken }
    }
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        let Some(taken) = self.taken else {
            return;
        };
        let interrupted = RunEnded {
            run: taken.name().to_owned(),
            status: RunStatus::Interrupted,
            fault: None,
        };
        // Under no causality: one that is cancelled may have it skipped. A service that has ended
        // notes it when it is there again.
        Causalities::none().run(|| {
            let request = WorkflowsRequest::SetStatus(interrupted.clone());
            let fault = self.own.post_by_itself(request).err();
            if fault.is_none_or(|fault| fault.code() != FaultCode::QueuingLimitExceeded) {
                return;
            }
            let noted = self.own.set_status(interrupted).by_itself().wait_for_room();
            let taken = Arc::clone(taken);
            let noting = async move {
                drop(noted.within(Duration::MAX).await);
                // Until then no other job takes it: its run would be interrupted.
                drop(taken);
            };
            spawn_here(&self.cx.common().queue, noting);
        });
    }
}

/// Whether a step has not ended, and all have that it needs.
fn is_ready(step: &Step, run: &Run) -> bool {
    let has_ended = |name: &str| run.steps.get(name).is_some_and(Done::has_ended);
    !has_ended(&step.name) && step.needs().into_iter().all(has_ended)
}
