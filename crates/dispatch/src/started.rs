//! How the threads of a dispatcher report that they have started as they should.

use motet_sync::{Condvar, Mutex};
use std::io;

/// How many threads have started, and what the first failure was.
#[derive(Debug, Default)]
pub(crate) struct ThreadsStarted {
    reports: Mutex<(usize, Option<io::Error>)>,
    told: Condvar,
}

impl ThreadsStarted {
    /// Called by each thread once.
    pub(crate) fn tell(&self, outcome: io::Result<()>) {
        let mut reports = self.reports.lock();
        reports.0 += 1;
        if let (Err(error), None) = (outcome, &reports.1) {
            reports.1 = Some(error);
        }
        self.told.notify_all();
    }

    /// Waits until so many threads have started.
    pub(crate) fn wait_for(&self, threads: usize) -> io::Result<()> {
        let mut reports = self.reports.lock();
        while reports.0 < threads {
            reports = self.told.wait(reports);
        }
        reports.1.take().map_or(Ok(()), Err)
    }
}
