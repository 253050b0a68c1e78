//! What one thread at a time does: takes messages in, and finds who is gone.

use super::arrivals::Arrivals;
use super::shared::Receivers;
use crate::error::MpiError;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) arrivals: Arrivals,
    pub(super) shared: Receivers,
    /// The processes that were lost, each as an error, and how many of them have been told.
    pub(super) losses: Vec<MpiError>,
    told: usize,
    /// A loss was waited for after an error of MPI, and none was found.
    pub(super) has_waited: bool,
    /// When the other processes were last looked at.
    looked: Instant,
    /// Calls until the clock is asked again.
    patience: u32,
}

/// So many calls until the clock is asked, which costs as much as a call. Who calls ten times a
/// second looks in time all the same.
const CALLS: u32 = 8;

impl Receiving {
    /// Takes in what comes through these from so many processes.
    pub(super) fn new(processes: usize, shared: Receivers) -> Receiving {
        Receiving {
            arrivals: Arrivals::new(processes),
            shared,
            losses: Vec::new(),
            told: 0,
            has_waited: false,
            looked: Instant::now(),
            patience: CALLS,
        }
    }

    /// Whether the other processes are to be looked at now.
    pub(super) fn is_due(&mut self, every: Duration) -> bool {
        self.patience -= 1;
        if self.patience > 0 {
            return false;
        }
        self.patience = CALLS;
        let due = self.looked.elapsed() >= every;
        if due {
            self.looked = Instant::now();
        }
        due
    }

    /// The next loss that was not told.
    pub(super) fn untold(&mut self) -> Option<MpiError> {
        let lost = self.losses.get(self.told)?.clone();
        self.told += 1;
        Some(lost)
    }
}
