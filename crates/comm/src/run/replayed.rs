//! One run of a world in a replay: the ranks take turns on the calling thread, in the order that a
//! seed decides.

use super::RunEnd;
use super::links::{Endpoint, Links};
use super::threads::Run;
use crate::fabric::LocalRanks;
use crate::limit::SendLimit;
use crate::profile::ProfileClock;
use crate::watch::{WatchedRanks, WatchedRuns};
use crate::{Communicator, RunError};
use motet_dispatch::{Causalities, QueueConfig, Replay};
use motet_sync::Parker;
use std::fmt;
use std::io::{self, Write};
use std::process;
use std::sync::Arc;

/// Runs `body` on every rank, as tasks of `replay`, until all have ended.
pub(crate) fn run_replayed<R: Send, E: Send + fmt::Display>(
    replay: &Replay,
    ranks: usize,
    runs: &WatchedRuns,
    (profile, limit): (Option<ProfileClock>, Option<SendLimit>),
    body: impl AsyncFn(Communicator) -> Result<R, E> + Sync,
) -> Result<RunEnd<R>, RunError<E>> {
    let turns = replay.queue(QueueConfig::named("ranks"));
    let local = LocalRanks::in_replay(ranks, &replay.queue(QueueConfig::named("network")));
    let shown = runs.show(WatchedRanks::Here(Arc::clone(&local)));
    let body = &body;
    let body = move |endpoint: Endpoint, recorder| body(endpoint.communicator(recorder));
    let nobody = Parker::new();
    let mut run = Run::new(body, (local, Links::Replay), ranks, nobody.unparker());
    run.given(profile, limit);
    let all_end = AllEnd(&run);
    let mut started = false;
    replay.run_until(|nothing_left| {
        if !started {
            started = true;
            // SAFETY: the ranks have ended when `all_end` is dropped, before `run`; the replay runs
            // all tasks on this thread until then.
            Causalities::none().run(|| unsafe { run.start(|_| turns.clone()) });
        }
        if nothing_left && !run.is_over() {
            run.local.check_stuck(|| true);
            run.local.nothing_comes();
        }
        run.is_over()
    });
    drop(all_end);
    drop(shown);
    run.into_outcome(None)
}

/// Dropped when all ranks of a run have ended: they borrow what the run borrows.
struct AllEnd<'a, F, R, E>(&'a Run<F, R, E>);

impl<F, R, E> Drop for AllEnd<'_, F, R, E> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            // A handler of the replay's exceptions has panicked in the midst of the run.
            // Not by `eprintln`, which panics if standard error is closed: the end must come.
            let why = "a replay ended before its ranks did, which cannot outlive it";
            let _ = writeln!(io::stderr(), "{why}");
            process::abort();
        }
    }
}
