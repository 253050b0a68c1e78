//! A call of a flow, and of a job its end.

use super::flow::FlowCall;
use crate::system::{JobClient, JobStatus};
use crate::{Cx, Fault, FaultCode, JobRef, Options, Subscribe, Value};
use std::time::{Duration, Instant};

/// Calls an operation; of a job it waits for the end.
pub(super) async fn call(
    cx: &Cx,
    what: FlowCall<'_>,
    body: Value,
    key: &str,
) -> Result<Value, Fault> {
    let Some((path, name)) = what.target() else {
        return Err(Fault::failed("the flow was not checked"));
    };
    let service = cx.find(path)?;
    let within = what.timeout_ms.map(Duration::from_millis);
    let until = within.map(|within| cx.clock().in_future(within));
    let options = Options {
        within,
        key: Some(key.into()),
        // Not the job of this run: the key is to be known when another job goes on with it.
        principal: Some(cx.path().into()),
        // A list may have more calls at once than may wait there.
        wait_for_room: true,
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
