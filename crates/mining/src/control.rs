//! Watching a run and stopping it.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// How a caller follows a run and stops it. The default does neither.
///
/// # Examples
///
/// ```
/// use motet_mining::{CancelToken, Control, Progress};
///
/// let token = CancelToken::new();
/// let show = |now: &Progress| println!("T = {}, {} clusters", now.temperature, now.clusters);
/// let control = Control { progress: Some(&show), cancel: Some(&token) };
/// # let _ = control;
/// ```
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Called on rank 0 after every temperature and every stage of the search, after every restart
    /// of K-means, or after every step of a scaling. It runs on the rank itself: keep it short.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Stops the run when it is set, on any rank.
    pub cancel: Option<&'a CancelToken>,
}

impl Control<'_> {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("progress", &self.progress.map(|_| "Fn(&Progress)"))
            .field("cancel", &self.cancel)
            .finish()
    }
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The temperature just finished, in the units of the data squared; 0 for K-means steps.
    pub temperature: f64,
    /// The number of clusters now.
    pub clusters: usize,
    /// The number of clusters asked for, or the most that may be found.
    pub target: usize,
    /// The free energy at this temperature, in the units of the data squared; at temperature 0
    /// the inertia per unit of weight.
    pub free_energy: f64,
    /// A guess of the share of the run that is done, from 0 to 1. It never falls.
    pub done: f64,
}

/// A switch that any thread may throw to stop a run. Clones are the same switch.
///
/// All ranks of the run stop together, within about one pass over the data, with
/// [`MiningError::Cancelled`](crate::MiningError::Cancelled). Whether to go on is agreed in the
/// reduction that ends every pass, so no rank is left waiting.
///
/// # Examples
///
/// ```
/// use motet_mining::CancelToken;
///
/// let token = CancelToken::new();
/// let other = token.clone();
/// other.cancel();
/// assert!(token.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    // Set once and never unset, which is all that a OnceLock can do.
    thrown: Arc<OnceLock<()>>,
}

impl CancelToken {
    /// A switch that is not thrown.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Throws the switch. Throwing it again changes nothing.
    pub fn cancel(&self) {
        self.thrown.get_or_init(|| ());
    }

    /// Whether the switch is thrown.
    pub fn is_cancelled(&self) -> bool {
        self.thrown.get().is_some()
    }
}
