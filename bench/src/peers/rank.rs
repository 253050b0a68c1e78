//! Computations that wait for their neighbours: the ends of the channels between them, and what
//! they tell at the end.

use std::time::{Duration, Instant};

/// What one computation holds: channels from and to both neighbours on a ring, and to itself.
#[derive(Debug)]
pub(crate) struct ComputationChannels<S, R> {
    pub(crate) at: usize,
    pub(crate) to_left: S,
    pub(crate) to_right: S,
    pub(crate) to_self: S,
    pub(crate) from_left: R,
    pub(crate) from_right: R,
    pub(crate) from_self: R,
}

/// When a computation started and ended, and its last value.
pub(crate) type ComputationSpan = (Instant, Instant, f64);

/// The ends of so many computations.
pub(crate) fn ends<S, R>(
    count: usize,
    mut channel: impl FnMut() -> (S, R),
) -> Vec<ComputationChannels<S, R>> {
    let mut channels = || -> (Vec<S>, Vec<R>) { (0..count).map(|_| channel()).unzip() };
    let (to_left, mut from_right) = channels();
    let (to_right, mut from_left) = channels();
    let (to_self, from_self) = channels();
    // What one sends to the right comes from the left of the next.
    from_left.rotate_right(1);
    from_right.rotate_left(1);
    let selves = to_self.into_iter().zip(from_self);
    let lefts = to_left.into_iter().zip(from_left);
    let rights = to_right.into_iter().zip(from_right);
    let all = selves.zip(lefts.zip(rights)).enumerate();
    all.map(
        |(at, ((to_self, from_self), (left, right)))| ComputationChannels {
            at,
            to_left: left.0,
            to_right: right.0,
            to_self,
            from_left: left.1,
            from_right: right.1,
            from_self,
        },
    )
    .collect()
}

/// The time from the first one's start to the last one's end.
///
/// # Errors
/// When the values are not what they must be: they only move and mix, so their sum stays.
pub(crate) fn span(count: usize, spans: &[ComputationSpan]) -> Result<Duration, String> {
    let sum: f64 = spans.iter().map(|span| span.2).sum();
    let expected = count as f64 * (count as f64 - 1.0) / 2.0;
    if (sum - expected).abs() > 1e-6 * expected.max(1.0) {
        return Err(format!("the values add up to {sum}, not {expected}"));
    }
    let started = spans.iter().map(|span| span.0).min();
    let ended = spans.iter().map(|span| span.1).max();
    let time = ended.zip(started).map(|(ended, started)| ended - started);
    time.ok_or_else(|| "there is no computation".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{crossbeam, tokio};
    use crate::program::{Pattern, WorkProgram};
    use crate::unit::{Unit, Units};

    #[test]
    fn ranks_of_all_peers_exchange_what_they_should() {
        let unit = Unit::calibrate();
        for pattern in [
            Pattern::Pipeline,
            Pattern::Shift,
            Pattern::Exchange,
            Pattern::ExchangeTwoShifts,
        ] {
            for parallel in [1, 2, 5] {
                let program = WorkProgram {
                    pattern,
                    parallel,
                    stages: 20,
                    threads: 2,
                    pin: false,
                    work: Units { unit, count: 0 },
                };
                assert!(tokio::ranks(&program).unwrap() > Duration::ZERO);
                assert!(crossbeam::ranks(&program).unwrap() > Duration::ZERO);
            }
        }
    }

    #[test]
    fn wrong_values_are_found() {
        let now = Instant::now();
        assert!(span(2, &[(now, now, 0.0), (now, now, 1.0)]).is_ok());
        assert!(span(2, &[(now, now, 0.0), (now, now, 0.5)]).is_err());
    }
}
