//! The handle of a timer.

use super::beat::Beats;
use super::real_time::RealTime;
use super::timers::Key;
use super::virtual_time::VirtualTime;
use crate::task::Task;
use std::fmt;
use std::sync::Arc;

/// A timer that has been set. Dropping it changes nothing: the timer goes on.
///
/// ```
/// use motet_dispatch::{Clock, Replay};
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let timer = replay.clock().after(Duration::from_secs(1), |_| unreachable!("it is cancelled"));
/// assert!(timer.cancel());
/// assert!(!timer.cancel(), "it is cancelled already");
/// replay.run();
/// ```
#[derive(Clone)]
pub struct Timer(Kind);

#[derive(Clone)]
enum Kind {
    Once(Source, Key),
    Every(Arc<dyn Beats>),
}

/// Whose time it is.
#[derive(Clone)]
pub(super) enum Source {
    Real(Arc<RealTime>),
    Virtual(Arc<VirtualTime>),
}

impl Timer {
    pub(super) fn once(source: Source, key: Key) -> Self {
        Timer(Kind::Once(source, key))
    }

    pub(super) fn every(beats: Arc<dyn Beats>) -> Self {
        Timer(Kind::Every(beats))
    }

    /// Sees to it that the timer does not fire (any more) and gives up what it holds. A task that
    /// it would have queued is [cleaned up](Task::cleanup). `true` for exactly one call, and only
    /// when the timer has not fired. One that fires again and again can be cancelled until it has
    /// ended.
    ///
    /// What a timer has queued already still runs.
    #[allow(clippy::must_use_candidate, reason = "often it does not matter")]
    pub fn cancel(&self) -> bool {
        match &self.0 {
            Kind::Once(source, key) => {
                let removed = match source {
                    Source::Real(time) => time.remove(key),
                    Source::Virtual(time) => time.remove(key),
                };
                // Outside the clock's lock: it runs user code.
                removed.map(Task::cleanup).is_some()
            }
            Kind::Every(beats) => beats.stop(),
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("periodic", &matches!(self.0, Kind::Every(_)))
            .finish_non_exhaustive()
    }
}
