//! Jobs: operations that go on after their caller was answered, and ranks behind them.

use crate::context::{CallContext, Inherited};
use crate::create::create;
use crate::service::{Common, NodeShared, OwnThreads};
use crate::spec::Spec;
use crate::system::{Finished, JobClient, JobRequest, JobService, JobState, Progress};
use crate::{Client, Cx, Fault, FaultCode, data};
use motet_comm::{CommError, Communicator, World};
use motet_dispatch::{Causalities, Causality, spawn, spawn_here};
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Where a job is: the answer of an operation that is one. Its client is a
/// [`JobClient`](crate::system::JobClient).
#[data]
#[derive(PartialEq, Eq)]
pub struct JobRef {
    /// The path of the service that the job is.
    pub path: String,
}

/// A job, as its own work knows it.
pub(crate) struct JobHandle {
    client: JobClient,
    cancel: Causality,
}

/// # Jobs
impl Cx {
    /// Begins a job: a service of its own at `/jobs/n`, and the work, which goes on after this has
    /// answered.
    ///
    /// # Errors
    /// A fault when the goal does not fit JSON, or the node takes no service.
    pub async fn start_job<F>(
        &self,
        operation: &str,
        goal: Result<Value, Fault>,
        work: impl FnOnce(Cx) -> F + Send + 'static,
    ) -> Result<JobRef, Fault>
    where
        F: Future<Output = Result<JobResult, Fault>> + Send + 'static,
    {
        let shared = &self.common().shared;
        // It runs on them, as long as it takes.
        let threads = self.common().keep_threads()?;
        let state = JobState {
            service: self.path().to_owned(),
            operation: operation.to_owned(),
            goal: goal?,
            ..JobState::default()
        };
        let spec = Spec {
            at: Some(format!("/jobs/{}", shared.ids.next())),
            state: Some(crate::json::to_value(&state)?),
            network: self.common().network,
            ..Spec::of_kind("job")
        };
        let slot = create::<JobService>(shared, spec).await?;
        let common = Arc::clone(&slot.common);
        let client = JobClient::from(Client::here(slot));
        let path = client.path().to_owned();
        let cancel = Causality::new(&path);
        shared.jobs.lock().insert(common.id, cancel.clone());
        let mut cx = self.clone();
        cx.job = Some(Arc::new(JobHandle {
            client: client.clone(),
            cancel: cancel.clone(),
        }));
        let inherited = Inherited {
            trace: self.envelope.trace().map(|trace| trace.id),
            trace_parent: self.envelope.trace_parent().cloned(),
            ..Inherited::default()
        };
        let unbegun = UnbegunJob {
            shared: Arc::clone(shared),
            id: common.id,
            client: Some(client.clone()),
        };
        let working = work_of(common, client, cancel, inherited, threads, work(cx));
        let working = async move {
            unbegun.begins();
            working.await;
        };
        match spawn(&self.common().queue, working) {
            Ok(()) => Ok(JobRef { path }),
            Err(refused) => {
                let reason = format!("the queue takes no task: {}", refused.reason);
                Err(Fault::new(FaultCode::InsufficientResources, reason))
            }
        }
    }

    /// Says how far the job is, from 0 to 1. Outside of a job it does nothing.
    pub fn progress(&self, progress: f64, note: &str) {
        if let Some(job) = job_of(self) {
            let report = Progress {
                progress: progress.clamp(0.0, 1.0),
                note: note.to_owned(),
            };
            drop(job.client.post(JobRequest::Report(report)));
        }
    }

    /// Whether the job was cancelled: for work that does not wait.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        job_of(self).is_some_and(|job| job.cancel.is_cancelled())
    }

    /// The path of the job whose work this is.
    pub(crate) fn job_path(&self) -> Option<&str> {
        job_of(self).map(|job| job.client.path())
    }

    /// Ranks behind this operation. They run on threads of their own, when the node has cores for
    /// them.
    pub fn ranks(&self, world: World) -> Ranks {
        Ranks {
            cx: self.clone(),
            world,
            profile: false,
        }
    }
}

/// The work of a job, until it ends or is cancelled; then the job is told how it has ended.
async fn work_of(
    common: Arc<Common>,
    client: JobClient,
    cancel: Causality,
    inherited: Inherited,
    _threads: Option<Arc<OwnThreads>>,
    work: impl Future<Output = Result<JobResult, Fault>> + Send,
) {
    let context = CallContext {
        own: Some(Arc::clone(&common) as _),
        holds: false,
        inherited,
    };
    let working = Causality::unless_cancelled(context.run(work));
    let ended = cancel.wrap(working).await;
    common.shared.jobs.lock().remove(&common.id);
    let result = match ended {
        Ok(Ok(result)) => result.map(|result| result.0),
        Ok(Err(panicked)) => Err(Fault::failed(format!(
            "the job panicked: {}",
            panicked.message()
        ))),
        Err(_) => Err(Fault::new(
            FaultCode::OperationCanceled,
            "the job was cancelled",
        )),
    };
    let (result, fault) = match result {
        Ok(result) => (Some(result), None),
        Err(fault) => (None, Some(fault)),
    };
    // Behind all that it has reported, however much of that waits: else it would seem to go on.
    let finish = client.finish(Finished { result, fault });
    // A job whose service was dropped has nobody to tell.
    let telling = async move { drop(finish.wait_for_room().within(Duration::MAX).await) };
    // Under no causality: that of the caller may be cancelled, and would have it skipped.
    Causalities::none().run(|| spawn_here(&common.queue, telling));
}

/// A job whose work has not begun. When this is dropped it will not: it was skipped with a
/// causality of its caller, or the queue takes no task.
struct UnbegunJob {
    shared: Arc<NodeShared>,
    id: u64,
    /// There until the work begins.
    client: Option<JobClient>,
}

impl UnbegunJob {
    fn begins(mut self) {
        self.client = None;
    }
}

impl Drop for UnbegunJob {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        let cancel = self.shared.jobs.lock().remove(&self.id);
        drop(cancel);
        let reason = "the job did not begin: its caller was cancelled, or its queue takes no task";
        let finish = JobRequest::Finish(Finished {
            result: None,
            fault: Some(Fault::new(FaultCode::OperationCanceled, reason)),
        });
        // As when it ends.
        drop(Causalities::none().run(|| client.post(finish)));
    }
}

/// The job whose work this is.
fn job_of(cx: &Cx) -> Option<&JobHandle> {
    cx.job.as_ref()?.downcast_ref()
}

/// The result of a job, as JSON.
#[derive(Debug)]
pub struct JobResult(pub(crate) Value);

/// A world of ranks behind an operation: made by [`Cx::ranks`].
///
/// The cores of a node ([`NodeBuilder::cores`](crate::NodeBuilder::cores)) are for threads that
/// services have for themselves ([`Create::threads`](crate::Create::threads)) and for the worlds of
/// jobs. Such a service takes as many as it has threads, until these have ended. Worlds share the
/// rest, at least one core, and wait in line for it. Not counted are the workers of the host, which
/// sleep while they have nothing to do, threads for calls that block, other nodes of the process,
/// and worlds that run outside of jobs.
#[must_use = "ranks do nothing until they run"]
pub struct Ranks {
    cx: Cx,
    world: World,
    profile: bool,
}

impl Ranks {
    /// Puts the profile of the run into the state of the job.
    pub fn profile(mut self) -> Self {
        self.profile = true;
        self
    }

    /// Runs `body` on every rank and waits for all; results in rank order. It waits in line until
    /// the node has as many cores free as there are ranks, or all that there are for worlds. The
    /// job's status says so meanwhile. The ranks run on no more threads than that, unless the world
    /// says how many ([`World::workers`], [`World::cores`]).
    ///
    /// # Cancellation
    /// Dropping the future leaves the ranks running; a body asks [`Cx::is_cancelled`] and returns.
    ///
    /// # Errors
    /// [`OperationFailed`](FaultCode::OperationFailed) with what the run says: which rank failed,
    /// or who waits for whom.
    pub async fn run<R, E>(
        self,
        body: impl AsyncFn(Communicator) -> Result<R, E> + Send + Sync + 'static,
    ) -> Result<Vec<R>, Fault>
    where
        R: Send + 'static,
        E: Send + fmt::Display + 'static,
    {
        let Ranks { cx, world, profile } = self;
        let shared = &cx.common().shared;
        let tell = |waits: bool| {
            if let Some(job) = job_of(&cx) {
                drop(job.client.post(JobRequest::WaitForCores(waits)));
            }
        };
        tell(true);
        let granted = shared.budget.grant(world.size()).await;
        tell(false);
        let world = world.workers_at_most(granted.cores());
        let world = if profile { world.profile() } else { world };
        let run = move || {
            let outcome = world.run_outcome(body);
            drop(granted);
            outcome.map_err(|error| Fault::failed(format!("the ranks failed: {error}")))
        };
        let outcome = match &shared.blocking {
            None => run(),
            Some(queue) => queue.run_blocking(run).await.unwrap_or_else(|why| {
                let reason = format!("no thread runs the ranks: {why}");
                Err(Fault::new(FaultCode::InsufficientResources, reason))
            }),
        }?;
        if let (Some(job), Some(profile)) = (job_of(&cx), &outcome.profile) {
            let profile = crate::json::to_value(profile)?;
            drop(job.client.post(JobRequest::AddProfile(profile)));
        }
        Ok(outcome.results)
    }

    /// Runs an iterative MapReduce and waits for its result. A step is one map of every rank over
    /// its share of the data, which stays with it, and one reduction: the parts are merged in the
    /// order of the ranks. Every rank updates its state with the total. The steps end when `update`
    /// breaks, or with the step `most`.
    ///
    /// `merge` must be associative, and `update` depend on nothing but the state and the total.
    /// With parts that add exactly ([`ExactSum`](motet_comm::ExactSum), whole numbers) the result
    /// has the same bits for any number of ranks.
    ///
    /// The job tells its progress by the steps. When it is cancelled, the ranks end with the step
    /// that they are in.
    ///
    /// # Cancellation
    /// As for [`Ranks::run`].
    ///
    /// # Errors
    /// As for [`Ranks::run`], and [`OperationCanceled`](FaultCode::OperationCanceled).
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_service::{Cx, Fault, Service, State, contract, data};
    /// use std::ops::ControlFlow;
    ///
    /// # #[data]
    /// # #[derive(Default)]
    /// # struct Nothing {}
    /// #[contract(uri = "doc:powers/1", state = Nothing)]
    /// trait Powers {
    ///     /// The largest power of two that is no larger than the sum of the numbers below this.
    ///     #[submit(job)]
    ///     async fn below(cx: Cx, limit: u64) -> Result<u64, Fault>;
    /// }
    ///
    /// # #[derive(Service)]
    /// # #[service(contract = Powers)]
    /// # struct RankPowers { #[state] nothing: State<Nothing> }
    /// impl Powers for RankPowers {
    ///     async fn below(cx: Cx, limit: u64) -> Result<u64, Fault> {
    ///         let ranks = cx.ranks(World::threads(3));
    ///         let found = ranks.map_reduce(
    ///             (1, 64),
    ///             move |comm, _: &u64| (comm.rank() as u64..limit).step_by(comm.size()).sum::<u64>(),
    ///             |a, b| a + b,
    ///             |power, sum| match power * 2 > sum {
    ///                 true => ControlFlow::Break(power),
    ///                 false => ControlFlow::Continue(power * 2),
    ///             },
    ///         );
    ///         found.await
    ///     }
    /// }
    /// ```
    pub async fn map_reduce<S, P>(
        self,
        (begin, most): (S, u32),
        map: impl Fn(&Communicator, &S) -> P + Send + Sync + 'static,
        merge: impl Fn(P, P) -> P + Send + Sync + 'static,
        update: impl Fn(S, P) -> ControlFlow<S, S> + Send + Sync + 'static,
    ) -> Result<S, Fault>
    where
        S: Clone + Send + Sync + 'static,
        P: Clone + motet_comm::Value + Sync,
    {
        let cx = self.cx.clone();
        let results = self.run(async move |comm| -> Result<Option<S>, CommError> {
            let mut state = begin.clone();
            for step in 1..=most {
                // All ranks hear in the same step that the job was cancelled.
                let part = (map(&comm, &state), cx.is_cancelled());
                let join = |a: (P, bool), b: (P, bool)| (merge(a.0, b.0), a.1 || b.1);
                let (total, is_cancelled) = comm.allreduce(part, join).await?;
                if is_cancelled {
                    return Ok(None);
                }
                if comm.rank() == 0 && is_worth_telling(step, most) {
                    let note = format!("step {step}, {most} at most");
                    cx.progress(f64::from(step) / f64::from(most), &note);
                }
                match update(state, total) {
                    ControlFlow::Continue(next) => state = next,
                    ControlFlow::Break(result) => return Ok(Some(result)),
                }
            }
            Ok(Some(state))
        });
        let first = results.await?.into_iter().next().flatten();
        first.ok_or_else(|| Fault::new(FaultCode::OperationCanceled, "the job was cancelled"))
    }
}

/// The first step is, and each that makes another hundredth of them.
fn is_worth_telling(step: u32, most: u32) -> bool {
    let hundredths = |step: u32| u64::from(step) * 100 / u64::from(most);
    step == 1 || hundredths(step) > hundredths(step - 1)
}

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranks")
            .field("cx", &self.cx)
            .field("size", &self.world.size())
            .finish_non_exhaustive()
    }
}
