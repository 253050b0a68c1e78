//! Supervision: how often a service is built anew (OTP's restart intensity).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How a service is built anew when it has lost its state: after the panic of an exclusive handler,
/// or a commit that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Supervise {
    /// Whether it is built anew at all.
    pub restart: Restart,
    /// More restarts than this …
    pub times: usize,
    /// … within so many seconds are a failure for good.
    pub within_seconds: u64,
    /// The wait before the second restart in that time, in milliseconds; it doubles with each.
    pub back_off_ms: u64,
    /// Whether those who have it as a partner are built anew after it, and those who have these.
    pub with_dependents: bool,
    /// Whether its node ends, in order, when it has failed for good.
    pub essential: bool,
}

/// Whether a service is built anew. One that has ended in order, by Drop, by an operation that ends
/// it or with its node, never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// It is. Manifests may also call it `transient`: an end in order brings none back.
    #[default]
    #[serde(alias = "transient")]
    Permanent,
    /// It is not: it has failed.
    Temporary,
}

impl Default for Supervise {
    fn default() -> Self {
        Supervise {
            restart: Restart::Permanent,
            times: 3,
            within_seconds: 5,
            back_off_ms: 20,
            with_dependents: false,
            essential: false,
        }
    }
}

/// The restarts of a service so far.
pub(crate) struct Supervision {
    how: Supervise,
    restarts: VecDeque<Instant>,
}

impl Supervision {
    pub(crate) fn new(how: Supervise) -> Self {
        Supervision {
            how,
            restarts: VecDeque::new(),
        }
    }

    /// What was said of it.
    pub(crate) fn how(&self) -> &Supervise {
        &self.how
    }

    /// How long to wait before the next restart; `None` when there is none.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Duration> {
        let span = Duration::from_secs(self.how.within_seconds);
        while self
            .restarts
            .front()
            .is_some_and(|first| now.saturating_duration_since(*first) > span)
        {
            self.restarts.pop_front();
        }
        if self.how.restart == Restart::Temporary || self.restarts.len() >= self.how.times {
            return None;
        }
        let before = u32::try_from(self.restarts.len()).unwrap_or(u32::MAX);
        self.restarts.push_back(now);
        if before == 0 {
            return Some(Duration::ZERO);
        }
        let factor = 2u32.saturating_pow(before - 1);
        Some(
            Duration::from_millis(self.how.back_off_ms)
                .saturating_mul(factor)
                .min(span),
        )
    }
}
