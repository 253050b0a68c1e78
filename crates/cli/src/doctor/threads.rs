//! How many threads to run on this machine (papers R164).
//!
//! Measured (docs/guide/limits.md): as many as cores, and no more, whatever the number of
//! computations. A quota of a control group stops those that are too many. Two virtual cores that
//! do hardly more than one are the two threads of one core.

use motet_machine::system::Cores;
use serde::Serialize;

/// A number of threads, and why.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Threads {
    number: usize,
    why: &'static str,
}

/// From so many times the work of one on, two cores are worth two threads.
const WORTH: f64 = 1.25;

impl Threads {
    /// For a machine with these cores, two of which do so many times what one does.
    pub(super) fn on(cores: &Cores, two_cores: Option<f64>) -> Threads {
        let allowed = cores.quota.map(|quota| (quota.ceil() as usize).max(1));
        if let Some(number) = allowed.filter(|allowed| *allowed < cores.usable) {
            return Threads {
                number,
                why: "more would be stopped by the control group",
            };
        }
        if two_cores.is_some_and(|times| times < WORTH) && cores.usable > 1 {
            return Threads {
                number: cores.usable / 2,
                why: "two cores do hardly more than one: they share one core, or others use them now",
            };
        }
        Threads {
            number: cores.usable,
            why: "as many as cores",
        }
    }

    /// The line of the report; stages with less work than such a trip of a cache line do best on
    /// one thread.
    pub(super) fn line(&self, roundtrip_us: Option<f64>) -> String {
        let Threads { number, why } = self;
        match roundtrip_us.filter(|_| *number > 1) {
            Some(us) => format!("{number}: {why}; 1 where a stage has less work than {us:.2} µs"),
            None => format!("{number}: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(usable: usize, quota: Option<f64>, two_cores: Option<f64>) -> usize {
        let cores = Cores {
            usable,
            quota,
            ..Cores::here()
        };
        Threads::on(&cores, two_cores).number
    }

    #[test]
    fn threads_are_as_many_as_what_can_run() {
        for (usable, quota, two_cores, number) in [
            (1, None, None, 1),
            (2, None, Some(1.9), 2),
            (8, Some(16.0), Some(2.0), 8),
            (8, Some(2.5), Some(2.0), 3),
            (8, Some(0.5), None, 1),
            (8, None, Some(1.1), 4),
            (1, None, Some(1.0), 1),
        ] {
            let told = advice(usable, quota, two_cores);
            assert_eq!(told, number, "{usable} {quota:?} {two_cores:?}");
        }
    }

    #[test]
    fn the_line_says_when_one_is_best() {
        let threads = Threads {
            number: 2,
            why: "as many as cores",
        };
        let line = threads.line(Some(0.104));
        assert_eq!(
            line,
            "2: as many as cores; 1 where a stage has less work than 0.10 µs"
        );
        assert_eq!(threads.line(None), "2: as many as cores");
    }
}
