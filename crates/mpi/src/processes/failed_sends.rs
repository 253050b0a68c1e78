//! Sends that have failed, and why, until a look for messages tells it.

use crate::error::MpiError;
use motet_sync::Mutex;
use std::collections::BTreeMap;

/// By the process that they were to: the first error of each.
pub(super) struct FailedSends(Mutex<BTreeMap<usize, MpiError>>);

impl FailedSends {
    pub(super) fn new() -> FailedSends {
        FailedSends(Mutex::new(BTreeMap::new()))
    }

    /// A send to this process has failed.
    pub(super) fn keep(&self, process: usize, error: MpiError) {
        self.0.lock().entry(process).or_insert(error);
    }

    /// Why one of them has failed; it stays. Those to processes that are lost are told with the
    /// loss, and forgotten here.
    pub(super) fn first(&self, is_lost: impl Fn(usize) -> bool) -> Option<MpiError> {
        let mut failed = self.0.lock();
        failed.retain(|process, _| !is_lost(*process));
        failed.values().next().cloned()
    }

    /// An error was told. A loss may end nothing: the others are still to be told. Any other error
    /// ends the run, whatever else has failed in it.
    pub(super) fn told(&self, error: &MpiError) {
        let mut failed = self.0.lock();
        match error {
            MpiError::PeerLost { .. } => failed.retain(|_, kept| kept != error),
            _ => failed.clear(),
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    fn call() -> MpiError {
        MpiError::Call {
            call: "MPI_Isend",
            class: 16,
            text: "it failed".to_owned(),
        }
    }

    fn lost(process: usize) -> MpiError {
        let reason = "its connection has ended".to_owned();
        MpiError::PeerLost { process, reason }
    }

    #[test]
    fn an_error_stays_until_it_is_told_whatever_else_is() {
        let failed = FailedSends::new();
        failed.keep(1, lost(1));
        failed.keep(2, call());
        assert_eq!(failed.first(|_| false), Some(lost(1)));
        // In its place the loss of another process was told.
        failed.told(&lost(3));
        assert_eq!(failed.first(|_| false), Some(lost(1)));
        failed.told(&lost(1));
        assert_eq!(failed.first(|_| false), Some(call()));
        failed.keep(4, call());
        failed.told(&call());
        assert_eq!(failed.first(|_| false), None);
    }

    #[test]
    fn what_was_for_a_process_that_is_lost_is_told_with_the_loss() {
        let failed = FailedSends::new();
        failed.keep(1, call());
        failed.keep(2, call());
        assert_eq!(failed.first(|process| process == 1), Some(call()));
        assert_eq!(failed.first(|process| process == 2), None);
    }
}
