//! One run of a world on threads: the ranks borrow what the caller lent, the caller waits for them.

use super::RunEnd;
use super::life::{Life, Results};
use super::links::{Endpoint, Links, On};
use super::process_run::NotBegun;
use super::profiling::Profiling;
use crate::fabric::{EarlyEnd, LocalRanks, Team};
use crate::limit::SendLimit;
use crate::profile::{ProfileClock, Recorder};
use crate::watch::WatchedRuns;
use crate::wire::encode;
use crate::{Communicator, RunError};
use motet_dispatch::{
    Causalities, Dispatcher, DispatcherConfig, Enqueue, QueueConfig, Task, spawn_unchecked,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Mutex, Parker, Unparker};
use std::fmt;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;

/// How a world on threads is to be.
pub(crate) struct ThreadsConfig {
    pub(crate) ranks: usize,
    pub(crate) workers: usize,
    pub(crate) pin: bool,
    /// The cores that the threads are bound to, if that is stated.
    pub(crate) cores: Vec<usize>,
    pub(crate) on: On,
    /// Where the run is shown.
    pub(crate) runs: Arc<WatchedRuns>,
    /// What tells the time, if the run is profiled.
    pub(crate) profile: Option<ProfileClock>,
    /// How much the ranks may send, if that has a limit.
    pub(crate) limit: Option<SendLimit>,
}

/// Runs `body` on every rank and waits for all of them.
pub(crate) fn run_threads<R: Send, E: Send + fmt::Display>(
    config: ThreadsConfig,
    body: impl AsyncFn(Communicator) -> Result<R, E> + Sync,
) -> Result<RunEnd<R>, RunError<E>> {
    let body = &body;
    run_endpoints(config, move |endpoint: Endpoint, recorder| {
        body(endpoint.communicator(recorder))
    })
}

/// As [`run_threads`], for a body that may give its endpoint to another thread.
pub(super) fn run_endpoints<R: Send, E: Send + fmt::Display>(
    config: ThreadsConfig,
    body: impl AsyncFn(Endpoint, Option<Rc<Recorder>>) -> Result<R, E> + Sync,
) -> Result<RunEnd<R>, RunError<E>> {
    let RunSetup {
        dispatcher,
        caller,
        ranks: (local, links),
        workers,
        runs,
        given: (profile, limit),
    } = RunSetup::new(config)?;
    let shown = runs.show(links.ranks(&local));
    let queue = dispatcher.queue(QueueConfig::named("ranks"));
    let mut run = Run::new(body, (local, links), workers, caller.unparker());
    run.given(profile, limit);
    // A task that starts ranks, or a rank, must not be skipped when the caller is cancelled: the
    // caller waits for it.
    Causalities::none().run(|| {
        // SAFETY: every rank has ended before this function goes on to `stop`, which joins the
        // workers; `run` is dropped after that. Nothing in between unwinds.
        unsafe { run.start(|worker| queue.home(worker)) };
    });
    while !run.is_over() {
        caller.park();
    }
    // The hook holds the ranks here and the dispatcher's pool, which the tasks in their slots hold
    // too. So it is taken away, or none of them would ever be freed.
    dispatcher.on_idle(|| ());
    let ending = run.end_between(&caller);
    drop(shown);
    let unstarted = dispatcher.stop();
    debug_assert!(unstarted.is_empty(), "every rank has ended");
    run.into_outcome(ending)
}

/// What a run stands on, whatever its ranks do.
struct RunSetup {
    dispatcher: Dispatcher,
    caller: Parker,
    ranks: (Arc<LocalRanks>, Links),
    workers: usize,
    runs: Arc<WatchedRuns>,
    given: (Option<ProfileClock>, Option<SendLimit>),
}

impl RunSetup {
    fn new(config: ThreadsConfig) -> Result<RunSetup, NotBegun> {
        let ThreadsConfig {
            ranks,
            workers,
            pin,
            cores,
            on,
            runs,
            profile,
            limit,
        } = config;
        let dispatcher = Dispatcher::with(DispatcherConfig {
            threads: workers,
            name: "rank".to_owned(),
            pin,
            cores,
            wake_cost: on.wake_cost(),
            ..DispatcherConfig::default()
        })
        .map_err(NotBegun::Start)?;
        let caller = Parker::new();
        let (local, links) = Links::new(on, ranks, workers, &dispatcher, &caller, &runs)?;
        links.watch_over(&local, &dispatcher);
        Ok(RunSetup {
            dispatcher,
            caller,
            ranks: (local, links),
            workers,
            runs,
            given: (profile, limit),
        })
    }
}

/// What the ranks of a run share with the caller.
pub(super) struct Run<F, R, E> {
    body: F,
    pub(super) local: Arc<LocalRanks>,
    /// All ranks.
    team: Arc<Team>,
    links: Links,
    /// The caller's, under which the ranks run.
    causalities: Causalities,
    pub(super) profiling: Option<Profiling>,
    /// How much the ranks may send, if that has a limit.
    limit: Option<SendLimit>,
    /// The threads of the ranks.
    workers: usize,
    pub(super) results: Results<R>,
    /// The first one.
    failure: Mutex<Option<RunError<E>>>,
    /// Ranks that have not ended.
    running: AtomicUsize,
    caller: Unparker,
}

impl<F, R, E> Run<F, R, E>
where
    F: AsyncFn(Endpoint, Option<Rc<Recorder>>) -> Result<R, E> + Sync,
    R: Send,
    E: Send,
{
    /// Starts every rank on its home worker: one task for each worker starts those that live there.
    ///
    /// # Safety
    /// `self` stays where it is until every rank has ended and the workers are joined. All tasks of
    /// a `home` run on one thread.
    pub(super) unsafe fn start<Q: Enqueue>(&self, home: impl Fn(usize) -> Q) {
        let (size, mut first) = (self.local.size(), 0);
        while first < size {
            let worker = self.local.home(first);
            let lives_there = |rank: &usize| self.local.home(*rank) == worker;
            let ranks = first
                ..(first..size)
                    .take_while(lives_there)
                    .last()
                    .unwrap_or(first)
                    + 1;
            first = ranks.end;
            let home = home(worker);
            let handle = Enqueue::handle(&home);
            let begin = move || {
                for rank in ranks {
                    // SAFETY: this runs on the worker that runs all tasks of `handle`. The caller
                    // promises that `self` outlives the rank.
                    let task = unsafe { spawn_unchecked(&handle, self.life(rank)) };
                    self.local.slot(rank).set_task(task);
                }
            };
            let begin: Box<dyn FnOnce() + Send + '_> = Box::new(begin);
            // SAFETY: only the lifetime changes; the caller promises that `self` outlives the task.
            let begin: Box<dyn FnOnce() + Send> = unsafe { mem::transmute(begin) };
            home.admit(Task::new(begin));
        }
    }

    /// The life of one rank, given its place here.
    fn life(&self, place: usize) -> impl Future<Output = ()> {
        Life::new(self, place, move || {
            self.causalities.add();
            let recorder = self.profiling.as_ref().map(Profiling::begin);
            let endpoint = self
                .links
                .endpoint(&self.local, &self.team, place, self.limit);
            (recorder.clone(), (self.body)(endpoint, recorder))
        })
    }
}

impl<F, R, E> Run<F, R, E> {
    /// A run of all ranks of a local; none has started.
    pub(super) fn new(
        body: F,
        (local, links): (Arc<LocalRanks>, Links),
        workers: usize,
        caller: Unparker,
    ) -> Self {
        let ranks = local.size();
        Run {
            body,
            local,
            team: Arc::new(links.world(ranks)),
            links,
            causalities: Causalities::active(),
            profiling: None,
            limit: None,
            workers,
            results: Results::new(workers),
            failure: Mutex::new(None),
            running: AtomicUsize::new(ranks),
            caller,
        }
    }

    /// The run is profiled, or what its ranks send has a limit.
    pub(super) fn given(&mut self, profile: Option<ProfileClock>, limit: Option<SendLimit>) {
        let ranks = self.local.size();
        self.profiling = profile.map(|clock| Profiling::new(clock, ranks));
        self.limit = limit;
    }

    /// Whether all ranks here have ended.
    pub(super) fn is_over(&self) -> bool {
        self.running.load(Ordering::Acquire) == 0
    }

    /// Ends the run; the first failure is kept.
    pub(super) fn fail(&self, failure: RunError<E>) {
        self.failure.lock().get_or_insert(failure);
        self.local.end_early();
    }

    /// A rank here has ended.
    pub(super) fn one_has_ended(&self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.caller.unpark();
        }
    }

    /// Ends the run together with the other processes, if there are any; why it ends early, if no
    /// rank here is to blame.
    fn end_between(&self, caller: &Parker) -> Option<EarlyEnd>
    where
        E: fmt::Display,
    {
        let Links::Processes(between) = &self.links else {
            return None;
        };
        let profile = self.profiling.as_ref().map(|profiling| {
            let mut bytes = Vec::new();
            let written = encode(&profiling.profile(self.workers), &mut bytes);
            written.expect("a profile can be written");
            bytes
        });
        let failure = self.failure.lock();
        let message = failure.as_ref().map(ToString::to_string);
        between.end(message, profile, caller)
    }

    pub(super) fn into_outcome(self, ending: Option<EarlyEnd>) -> Result<RunEnd<R>, RunError<E>> {
        self.local.delegates.end();
        if let Some(failure) = self.failure.into_inner() {
            return Err(failure);
        }
        if let Some(ending) = ending {
            return Err(ending.into());
        }
        if let Some(report) = self.local.stuck() {
            return Err(RunError::Stuck(report.clone()));
        }
        let results = self.results.in_order();
        assert_eq!(
            results.len(),
            self.local.size(),
            "a rank that ended well has a result"
        );
        let here = |profiling: &Profiling| profiling.profile(self.workers);
        Ok(RunEnd {
            results,
            unmatched: self.local.unmatched(usize::MAX),
            profile: self
                .profiling
                .as_ref()
                .and_then(|profiling| self.links.all_profiles(here(profiling))),
        })
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_dispatch::{Exception, QueueError};
    use motet_sync::thread;
    use std::future::poll_fn;
    use std::task::Poll;

    /// A queue that a thread of the model empties by hand.
    #[derive(Clone)]
    struct Hand(Arc<Mutex<Vec<Task>>>);

    impl Hand {
        fn run_all(&self) {
            let tasks = std::mem::take(&mut *self.0.lock());
            tasks.into_iter().for_each(Task::run);
        }
    }

    impl Enqueue for Hand {
        fn reserve(&self) -> Result<(), QueueError> {
            Ok(())
        }
        fn release(&self) {}
        fn admit(&self, task: Task) {
            self.0.lock().push(task);
        }
        fn readmit(&self, task: Task) {
            self.0.lock().push(task);
        }
        fn handle(&self) -> Arc<dyn Enqueue> {
            Arc::new(self.clone())
        }
        fn name(&self) -> &str {
            "hand"
        }
        fn raise(&self, _: Exception) {}
    }

    /// The run ends early while a rank is being started: the rank finds out at its first poll, or
    /// is woken.
    ///
    /// Loom does not see the `OnceLock` that holds the task, so here the two fences alone order it.
    #[test]
    fn loom_sem_g108_a_rank_that_starts_learns_that_the_run_is_over() {
        loom::model(|| {
            let local = Arc::new(LocalRanks::new(1, 1));
            let hand = Hand(Arc::new(Mutex::new(Vec::new())));
            let ending = thread::spawn({
                let local = Arc::clone(&local);
                move || local.end_early()
            });
            let ended = Arc::new(AtomicUsize::new(0));
            let (here, end) = (Arc::clone(&local), Arc::clone(&ended));
            let rank = poll_fn(move |_| {
                if here.is_over() {
                    end.fetch_add(1, Ordering::Relaxed);
                    return Poll::Ready(());
                }
                Poll::Pending
            });
            // SAFETY: the future borrows nothing and is `Send`.
            let task = unsafe { spawn_unchecked(&hand.handle(), rank) };
            local.slot(0).set_task(task);
            hand.run_all();
            ending.join().unwrap();
            hand.run_all();
            assert_eq!(ended.load(Ordering::Relaxed), 1, "the rank has ended");
        });
    }
}
