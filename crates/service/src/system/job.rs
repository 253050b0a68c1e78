//! `/jobs/n`.

use crate::{Cx, Fault, FaultCode, Service, State, Value, contract, data};

/// How far a job is.
#[data]
#[derive(Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It waits for cores.
    WaitsForCores,
    /// It runs.
    #[default]
    Running,
    /// It has its result.
    Done,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// What is known of a job.
#[data]
#[derive(Default)]
pub struct JobState {
    /// The path of the service whose operation it is.
    pub service: String,
    /// The operation.
    pub operation: String,
    /// Its body.
    pub goal: Value,
    /// How far it is.
    pub status: JobStatus,
    /// How much of it is done, from 0 to 1.
    pub progress: f64,
    /// What it does.
    pub note: String,
    /// What it has found.
    pub result: Option<Value>,
    /// Why it has failed.
    pub fault: Option<Fault>,
    /// Where the time of its ranks went.
    pub profile: Option<Value>,
}

/// What a job says of itself.
#[data]
pub struct Progress {
    /// How much of it is done, from 0 to 1.
    pub progress: f64,
    /// What it does.
    pub note: String,
}

/// How a job has ended.
#[data]
pub struct Finished {
    /// What it has found.
    pub result: Option<Value>,
    /// Why it has failed.
    pub fault: Option<Fault>,
}

/// Work that goes on after its caller was answered.
#[contract(uri = "motet:job/1", state = JobState, replace = false)]
pub trait Job {
    /// It is so far.
    #[update]
    fn report(&mut self, progress: Progress) -> Result<(), Fault>;

    /// It waits for cores, or has them.
    #[update]
    fn wait_for_cores(&mut self, waits: bool);

    /// Where the time of its ranks went.
    #[update]
    fn add_profile(&mut self, profile: Value);

    /// It has ended.
    #[update]
    fn finish(&mut self, end: Finished);

    /// Cancels it: its work ends where it waits next.
    #[delete]
    fn cancel(&mut self, cx: &Cx) -> Result<(), Fault>;
}

#[derive(Service)]
#[service(contract = Job, name = "job", stop = end)]
pub(crate) struct JobService {
    #[state]
    job: State<JobState>,
}

impl JobService {
    /// A job whose service is dropped is cancelled.
    async fn end(self, cx: &Cx) {
        if self.job.status == JobStatus::Running || self.job.status == JobStatus::WaitsForCores {
            cx.common().shared.cancel_job(cx.common().id);
        }
    }

    fn has_ended(&self) -> bool {
        !matches!(
            self.job.status,
            JobStatus::Running | JobStatus::WaitsForCores
        )
    }
}

impl Job for JobService {
    fn report(&mut self, progress: Progress) -> Result<(), Fault> {
        if !(0.0..=1.0).contains(&progress.progress) {
            let reason = format!("progress is from 0 to 1, not {}", progress.progress);
            return Err(Fault::new(FaultCode::MessageNotSupported, reason));
        }
        if !self.has_ended() {
            self.job.progress = progress.progress;
            self.job.note = progress.note;
        }
        Ok(())
    }

    fn wait_for_cores(&mut self, waits: bool) {
        if !self.has_ended() {
            self.job.status = if waits {
                JobStatus::WaitsForCores
            } else {
                JobStatus::Running
            };
        }
    }

    fn add_profile(&mut self, profile: Value) {
        self.job.profile = Some(profile);
    }

    fn finish(&mut self, end: Finished) {
        if self.has_ended() {
            return;
        }
        let state = &mut *self.job;
        state.status = match &end.fault {
            None => JobStatus::Done,
            Some(_) => JobStatus::Failed,
        };
        if end.fault.is_none() {
            state.progress = 1.0;
        }
        (state.result, state.fault) = (end.result, end.fault);
    }

    fn cancel(&mut self, cx: &Cx) -> Result<(), Fault> {
        if self.has_ended() {
            return Err(Fault::unknown_entry("the job has ended already"));
        }
        cx.common().shared.cancel_job(cx.common().id);
        self.job.status = JobStatus::Cancelled;
        Ok(())
    }
}
