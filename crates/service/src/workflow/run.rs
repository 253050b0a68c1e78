//! How a run is carried out.

use super::flow::{Reference, Step};
use super::{Begin, Done, Run, RunEnded, RunStatus, StepDone, WorkflowsClient, WorkflowsRequest};
use crate::system::{JobClient, JobStatus};
use crate::{Cx, Fault, FaultCode, JobRef, Options, Subscribe, Value};
use motet_dispatch::Causalities;
use motet_ports::timer::sleep;
use std::collections::btree_map::Entry;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// A step that is being carried out: its name, and the fault that it ends with.
type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + 'a>>;

/// Notes a run that begins, and carries it out.
pub(super) async fn begin(cx: &Cx, own: &WorkflowsClient, begin: Begin) -> Result<Run, Fault> {
    let name = begin.name.clone();
    let _taken = RunTaken::new(cx, &name)?;
    // A job that is cancelled while it waits, or that waits in vain, may have noted it.
    let mut given_up = GivenUp(Some((own, name.as_str())));
    let entered = own.enter(begin).by_itself().await;
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

/// Carries out what is left: each step as soon as those have ended that it needs.
async fn carry_on(cx: &Cx, own: &WorkflowsClient, name: &str) -> Result<Run, Fault> {
    let mut given_up = GivenUp(Some((own, name)));
    let status = |status| {
        let run = name.to_owned();
        own.set_status(RunEnded { run, status }).by_itself()
    };
    let flow = own.look(name.to_owned()).by_itself().await?.flow;
    status(RunStatus::Running).await?;
    let mut begun = vec![false; flow.steps.len()];
    let mut running: Vec<Running<'_>> = Vec::new();
    let mut failed = None;
    loop {
        let run = own.look(name.to_owned()).by_itself().await?;
        let ended = run.steps.values().filter(|done| done.has_ended()).count();
        cx.progress(ended as f64 / flow.steps.len().max(1) as f64, "");
        for (step, begun) in flow.steps.iter().zip(&mut begun) {
            if failed.is_none() && !*begun && is_ready(step, &run) {
                *begun = true;
                running.push(Box::pin(carry_out(
                    cx,
                    own,
                    name,
                    step,
                    prepare(step, &run),
                )));
            }
        }
        if running.is_empty() {
            break;
        }
        if let Err(fault) = first_of(&mut running).await {
            // Those that run end, and none begins.
            failed.get_or_insert(fault);
        }
    }
    match failed {
        None => {
            status(RunStatus::Done).await?;
            given_up.0 = None;
            own.look(name.to_owned()).by_itself().await
        }
        Some(fault) => {
            status(RunStatus::Failed).await?;
            given_up.0 = None;
            Err(fault)
        }
    }
}

/// A run that goes on. When this is dropped before it has ended, it is interrupted: its job was
/// cancelled, or what becomes of it cannot be noted.
struct GivenUp<'a>(Option<(&'a WorkflowsClient, &'a str)>);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some((own, name)) = self.0 {
            let (run, status) = (name.to_owned(), RunStatus::Interrupted);
            let interrupted = WorkflowsRequest::SetStatus(RunEnded { run, status });
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

/// What a step begins with: its body, if it is not left out, and how many faults it has had.
struct Prepared {
    body: Option<Result<Value, Fault>>,
    faults: u32,
}

fn prepare(step: &Step, run: &Run) -> Prepared {
    let left_out = |need: &str| run.steps.get(need).is_some_and(|done| done.left_out);
    let holds = step.when.as_deref().is_none_or(|when| {
        let value = resolve(when, run).ok().flatten();
        !matches!(value, None | Some(Value::Null | Value::Bool(false)))
    });
    let wanted = holds && !step.needs().into_iter().any(left_out);
    Prepared {
        body: wanted.then(|| filled(&step.with, run)),
        faults: run.steps.get(&step.name).map_or(0, |done| done.faults),
    }
}

/// The body with what its references stand for.
fn filled(with: &Value, run: &Run) -> Result<Value, Fault> {
    Ok(match with {
        Value::String(text) => resolve(text, run)?.unwrap_or_else(|| with.clone()),
        Value::Array(values) => {
            let values = values.iter().map(|value| filled(value, run));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| Ok((name.clone(), filled(value, run)?)));
            Value::Object(fields.collect::<Result<_, Fault>>()?)
        }
        other => other.clone(),
    })
}

/// What a reference stands for; `None` when the text is none.
fn resolve(text: &str, run: &Run) -> Result<Option<Value>, Fault> {
    let Some(Reference { step, pointer }) = Reference::read(text) else {
        return Ok(None);
    };
    let out = run.steps.get(step).and_then(|done| done.out.as_ref());
    let found = out.and_then(|out| out.pointer(pointer)).cloned();
    found.map(Some).ok_or_else(|| {
        let reason = format!("what the step {step:?} has given has nothing at {pointer:?}");
        Fault::unknown_entry(reason)
    })
}

/// Carries out a step, again and again if its retry says so, and records what becomes of it.
async fn carry_out(
    cx: &Cx,
    own: &WorkflowsClient,
    run: &str,
    step: &Step,
    prepared: Prepared,
) -> Result<(), Fault> {
    let record = |done: Done| {
        own.record(StepDone {
            run: run.to_owned(),
            step: step.name.clone(),
            done,
        })
        .by_itself()
    };
    let mut faults = prepared.faults;
    let Some(body) = prepared.body else {
        let left_out = true;
        return record(Done {
            left_out,
            faults,
            ..Done::default()
        })
        .await;
    };
    let mut wait = Duration::from_millis(step.retry.backoff_ms);
    for tries in 1.. {
        // A call that may have been carried out without an answer keeps its key: it is not carried
        // out twice.
        // The length tells where the one name ends and the other begins.
        let key = format!("{}/{run}/{}/{faults}", run.len(), step.name);
        let ended = match &body {
            Ok(body) => call(cx, step, body.clone(), &key).await,
            Err(fault) => Err(fault.clone()),
        };
        let fault = match ended {
            Ok(out) => {
                let out = Some(out);
                return record(Done {
                    out,
                    faults,
                    ..Done::default()
                })
                .await;
            }
            Err(fault) => fault,
        };
        let has_answered = !matches!(
            fault.code(),
            FaultCode::ResponseTimeout | FaultCode::NoAnswer | FaultCode::Unavailable
        );
        faults += u32::from(has_answered);
        let known = Some(fault.clone());
        record(Done {
            fault: known,
            faults,
            ..Done::default()
        })
        .await?;
        if !step.retry.again(tries, fault.code()) {
            let reason = format!("the step {:?} failed: {}", step.name, fault.reason());
            return Err(Fault::new(fault.code(), reason));
        }
        sleep(wait).await;
        wait = wait.saturating_mul(2);
    }
    Ok(())
}

/// Calls the operation of a step; of a job it waits for the end.
async fn call(cx: &Cx, step: &Step, body: Value, key: &str) -> Result<Value, Fault> {
    let (path, name) = step.target()?;
    let service = cx.find(path)?;
    let within = step.timeout_ms.map(Duration::from_millis);
    let until = within.map(|within| cx.clock().in_future(within));
    let options = Options {
        within,
        key: Some(key.into()),
        // Not the job of this run: the key is to be known when another job goes on with it.
        principal: Some(cx.path().into()),
        ..Options::default()
    };
    let answer = service.call_with(name, body, options).await?;
    let is_path = answer["path"]
        .as_str()
        .is_some_and(|at| at.starts_with("/jobs/"));
    let is_job = || {
        let mut operations = service.0.info().operations.into_iter();
        operations.any(|found| found.name == name && found.job)
    };
    match is_path && is_job() {
        true => {
            let begun = crate::json::from_value("the answer of a job", answer)?;
            job(cx, begun, until).await
        }
        false => Ok(answer),
    }
}

/// What a job gives at its end. One that has not ended by then is cancelled.
async fn job(cx: &Cx, job: JobRef, until: Option<Instant>) -> Result<Value, Fault> {
    let client: JobClient = cx.client(&job.path)?;
    let Some(until) = until else {
        return end_of(&client).await;
    };
    let ended = cx.common().shared.deadlines.before(until, end_of(&client));
    if let Ok(ended) = ended.await {
        return ended;
    }
    // It may have ended meanwhile.
    drop(client.cancel().await);
    let reason = "the job has not ended in the time of the step, and was cancelled";
    Err(Fault::new(FaultCode::ResponseTimeout, reason).of_service(&job.path))
}

/// Waits for the end of a job.
async fn end_of(job: &JobClient) -> Result<Value, Fault> {
    let told = job.subscribe(Subscribe::all().sync()).await?;
    loop {
        told.recv().await;
        let state = job.get().await?;
        if !matches!(state.status, JobStatus::Running | JobStatus::WaitsForCores) {
            let failed = || Fault::failed("the job ended without a result");
            let result = state.result.clone();
            return result.ok_or_else(|| state.fault.clone().unwrap_or_else(failed));
        }
    }
}

/// Waits until one of them has ended, and takes it out.
async fn first_of(running: &mut Vec<Running<'_>>) -> Result<(), Fault> {
    poll_fn(|cx| {
        for at in 0..running.len() {
            if let Poll::Ready(ended) = running[at].as_mut().poll(cx) {
                drop(running.swap_remove(at));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}
