//! One test under many schedules: the first that fails is made small and can be repeated.

mod quiet;
mod shrink;

use motet_dispatch::{Decision, Replay, ReplayConfig, Trace};
use motet_sync::{Arc, Mutex, thread};
use std::env;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body` with a [`Replay`] for each of `seeds`. It fails when the body panics, or a task
/// whose panic nobody handles.
///
/// The first seed that fails ends the search. Its schedule is shrunk: decisions are replaced by the
/// default (the oldest task) as long as it fails still in the same way. That is at the same check
/// and the same place, with a message that differs in numbers at most. Then the failure is told
/// with what is left, and with the command that repeats it. When the environment variable
/// `MOTET_SEED` names a seed, that one alone is tried.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Task};
/// use motet_testkit::{Log, explore};
///
/// explore(0..20, |replay| {
///     let (queue, log) = (replay.queue(QueueConfig::named("any order")), Log::new());
///     for n in 0..5 {
///         let log = log.clone();
///         queue.enqueue(Task::new(move || log.push(n))).unwrap();
///     }
///     replay.run();
///     assert_eq!(log.take_sorted(), [0, 1, 2, 3, 4]);
/// });
/// ```
///
/// # Panics
/// When a seed fails, with all that; and when `MOTET_SEED` is not a number.
pub fn explore(seeds: impl IntoIterator<Item = u64>, body: impl Fn(&Replay)) {
    explore_with(&ReplayConfig::default(), seeds, body);
}

/// Like [`explore`], with replays as `config` says, but for the seed.
///
/// # Panics
/// As [`explore`].
pub fn explore_with(
    config: &ReplayConfig,
    seeds: impl IntoIterator<Item = u64>,
    body: impl Fn(&Replay),
) {
    let said = env::var("MOTET_SEED").ok();
    let failure = match said.filter(|seed| !seed.is_empty()) {
        None => search(config, seeds, &body),
        Some(seed) => search(config, [the_seed(&seed)], &body),
    };
    if let Some(failure) = failure {
        panic!("{failure}");
    }
}

/// A schedule with which the body fails, and why it is believed to be small.
struct Failure {
    seed: u64,
    tried: usize,
    /// How many decisions were not the default before shrinking, and how many runs that took.
    before: usize,
    runs: usize,
    attempt: Attempt,
}

/// One run of the body.
struct Attempt {
    /// Why it failed, if it did.
    error: Option<String>,
    decisions: Vec<Decision>,
    trace: Trace,
}

/// The seed that `MOTET_SEED` names.
fn the_seed(text: &str) -> u64 {
    text.trim()
        .parse()
        .unwrap_or_else(|_| panic!("MOTET_SEED is {text:?}: set it to a seed, a number from 0 on"))
}

/// The first failure, made small.
fn search(
    config: &ReplayConfig,
    seeds: impl IntoIterator<Item = u64>,
    body: &impl Fn(&Replay),
) -> Option<Failure> {
    for (at, seed) in seeds.into_iter().enumerate() {
        let config = ReplayConfig {
            seed,
            ..config.clone()
        };
        let first = attempt(config.clone(), body);
        if first.error.is_none() {
            continue;
        }
        let before = first.deviations();
        let (attempt, runs) = shrink::shrink(first, |script| {
            let script = Some(script);
            attempt(
                ReplayConfig {
                    script,
                    ..config.clone()
                },
                body,
            )
        });
        return Some(Failure {
            seed,
            tried: at + 1,
            before,
            runs,
            attempt,
        });
    }
    None
}

/// Runs the body once.
fn attempt(config: ReplayConfig, body: &impl Fn(&Replay)) -> Attempt {
    let replay = Replay::with(config);
    let unhandled = Arc::new(Mutex::new(None));
    let first = Arc::clone(&unhandled);
    replay.on_exception(move |exception| {
        let told = format!("{exception}{}", quiet::place());
        first.lock().get_or_insert(told);
    });
    let ended = quiet::quietly(|| {
        catch_unwind(AssertUnwindSafe(|| body(&replay))).map_err(|payload| {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "a panic whose payload is not text".to_owned());
            format!("{text}{}", quiet::place())
        })
    });
    // What a task said first explains what the body misses.
    let error = unhandled.lock().take().or(ended.err());
    Attempt {
        error,
        decisions: replay.decisions(),
        trace: replay.trace(),
    }
}

impl Attempt {
    /// Whether it fails, and in the same way as `other`.
    fn fails_as(&self, other: &Attempt) -> bool {
        match (&self.error, &other.error) {
            (Some(own), Some(other)) => kind_of(own) == kind_of(other),
            _ => false,
        }
    }

    /// How many decisions were not the default.
    fn deviations(&self) -> usize {
        self.decisions
            .iter()
            .filter(|decision| decision.taken > 0)
            .count()
    }
}

/// What makes a failure the same as another. It is the first line of its message, whatever the
/// numbers in it, and the place that ends the message.
fn kind_of(error: &str) -> (String, &str) {
    let (message, place) = match error.rfind(quiet::AT) {
        Some(at) => error.split_at(at),
        None => (error, ""),
    };
    let line = message.lines().next().unwrap_or_default();
    let words = line.split(|c: char| c.is_ascii_digit());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    (words.join("#"), place)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Steps shown; what led to the failure is near the end.
        const SHOWN: usize = 40;
        let error = self.attempt.error.as_deref().unwrap_or_default();
        writeln!(
            f,
            "seed {}, number {} of those tried, fails: {error}",
            self.seed, self.tried
        )?;
        writeln!(
            f,
            "{} of its decisions were not the default; {} are left after {} runs, with this schedule:",
            self.before,
            self.attempt.deviations(),
            self.runs
        )?;
        let steps = self.attempt.trace.steps();
        let left_out = steps.len().saturating_sub(SHOWN);
        if left_out > 0 {
            writeln!(f, "    … {left_out} steps")?;
        }
        for step in steps.skip(left_out) {
            writeln!(f, "    {:?} {}#{}", step.at, step.queue, step.task)?;
        }
        let package =
            env::var("CARGO_PKG_NAME").map_or_else(|_| String::new(), |name| format!(" -p {name}"));
        let test = thread::current().name().unwrap_or_default().to_owned();
        write!(
            f,
            "repeat it with\n    MOTET_SEED={} cargo test{package} {test}",
            self.seed
        )
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use motet_dispatch::{Enqueue, QueueConfig, ReplayQueue, Task};

    /// A task that reads a number and leaves another to write it back.
    fn deposit(queue: &ReplayQueue, balance: &Arc<Mutex<u32>>) -> Task {
        let (balance, writer) = (Arc::clone(balance), queue.clone());
        Task::new(move || {
            let seen = *balance.lock();
            let write = move || *balance.lock() = seen + 1;
            writer.enqueue(Task::new(write)).unwrap();
        })
    }

    fn others(queue: &ReplayQueue) {
        (0..20).for_each(|_| queue.enqueue(Task::new(|| ())).unwrap());
    }

    /// One deposit after the other: right in every order.
    fn deposits(replay: &Replay) {
        let queue = replay.queue(QueueConfig::named("account"));
        let balance = Arc::new(Mutex::new(0));
        for _ in 0..2 {
            others(&queue);
            queue.enqueue(deposit(&queue, &balance)).unwrap();
            replay.run();
        }
        assert_eq!(*balance.lock(), 2, "a deposit is lost");
    }

    /// The second deposit begins when the first has ended, if tasks start in the order of their
    /// age: a mistake that the default order hides.
    fn hasty_deposits(replay: &Replay) {
        let queue = replay.queue(QueueConfig::named("account"));
        let balance = Arc::new(Mutex::new(0));
        queue.enqueue(deposit(&queue, &balance)).unwrap();
        others(&queue);
        let (second, relay, later) = (deposit(&queue, &balance), queue.clone(), queue.clone());
        let begin = move || later.enqueue(second).unwrap();
        let wait = move || relay.enqueue(Task::new(begin)).unwrap();
        queue.enqueue(Task::new(wait)).unwrap();
        others(&queue);
        replay.run();
        assert_eq!(*balance.lock(), 2, "a deposit is lost");
    }

    fn seeded() -> Failure {
        search(&ReplayConfig::default(), 0..10_000, &hasty_deposits).expect("a seed shows it")
    }

    #[test]
    fn what_never_fails_is_found_to_be_right() {
        assert!(search(&ReplayConfig::default(), 0..200, &deposits).is_none());
    }

    #[test]
    fn a_mistake_is_found_shrunk_and_repeated() {
        let failure = seeded();
        let left = failure.attempt.deviations();
        assert!(
            left < failure.before && left > 0,
            "{} → {left}",
            failure.before
        );
        let script: Vec<u32> = failure
            .attempt
            .decisions
            .iter()
            .map(|decision| decision.taken)
            .collect();
        let again = attempt(
            ReplayConfig {
                script: Some(script.clone()),
                ..ReplayConfig::default()
            },
            &hasty_deposits,
        );
        assert_eq!(
            (&again.error, &again.trace),
            (&failure.attempt.error, &failure.attempt.trace)
        );
        for (at, taken) in script.iter().enumerate().filter(|(_, taken)| **taken > 0) {
            let mut fewer = script.clone();
            fewer[at] = 0;
            let config = ReplayConfig {
                script: Some(fewer),
                ..ReplayConfig::default()
            };
            assert!(
                attempt(config, &hasty_deposits).error.is_none(),
                "decision {at} ({taken}) was needed"
            );
        }
    }

    /// Fails in two ways. One is a lost deposit, which takes one decision out of the ordinary. The
    /// other is another check, which fails in most orders, the default among them.
    fn doubly_wrong(replay: &Replay) {
        let queue = replay.queue(QueueConfig::named("account"));
        let log = crate::Log::new();
        for n in 0..6 {
            let log = log.clone();
            queue.enqueue(Task::new(move || log.push(n))).unwrap();
        }
        replay.run();
        let order = log.take();
        assert!(order[0] != 3, "number {} came first", order[0]);
        assert!(order[5] == 3, "number {} came last", order[5]);
    }

    #[test]
    fn a_schedule_shrinks_to_the_same_failure_only() {
        let default = ReplayConfig {
            script: Some(Vec::new()),
            ..ReplayConfig::default()
        };
        let other = attempt(default, &doubly_wrong);
        assert!(other.error.unwrap().contains("came last"));
        let mut found = Vec::new();
        for seed in 0..100 {
            let Some(failure) = search(&ReplayConfig::default(), [seed], &doubly_wrong) else {
                continue;
            };
            let config = ReplayConfig {
                seed,
                ..ReplayConfig::default()
            };
            let first = attempt(config, &doubly_wrong);
            assert!(failure.attempt.fails_as(&first), "{failure}");
            let is_first = first.error.unwrap().contains("came first");
            // Without any decision of its own the run fails by the other check.
            assert!(!is_first || failure.attempt.deviations() > 0, "{failure}");
            found.push(is_first);
        }
        assert!(found.contains(&true) && found.contains(&false), "{found:?}");
    }

    #[test]
    fn failures_differ_by_their_words_and_places_not_by_numbers() {
        let one = kind_of("lost 3 of 17\n left: [1]\n right: [2], at tests/a.rs:9");
        assert_eq!(one, ("lost # of ".to_owned(), ", at tests/a.rs:9"));
        assert_eq!(one, kind_of("lost 12 of 4\n left: [], at tests/a.rs:9"));
        assert_ne!(one, kind_of("lost 3 of 17, at tests/a.rs:19"));
        assert_ne!(one, kind_of("found 3 of 17, at tests/a.rs:9"));
        assert_eq!(kind_of("no place").1, "");
    }

    #[test]
    fn the_report_says_how_to_repeat_it() {
        let failure = seeded();
        let report = failure.to_string();
        let command = format!(
            "MOTET_SEED={} cargo test -p motet-testkit explore::tests::",
            failure.seed
        );
        for part in ["a deposit is lost", "explore.rs:", "account#46\n", &command] {
            assert!(report.contains(part), "{part} is missing in: {report}");
        }
        let again = search(&ReplayConfig::default(), [failure.seed], &hasty_deposits).unwrap();
        assert_eq!(again.attempt.trace, failure.attempt.trace);
    }

    #[test]
    #[should_panic(expected = "a handler of queue 'fragile' panicked: out of tune")]
    fn a_panic_that_nobody_handles_is_a_failure() {
        explore([1], |replay| {
            let queue = replay.queue(QueueConfig::named("fragile"));
            queue.enqueue(Task::new(|| panic!("out of tune"))).unwrap();
            replay.run();
        });
    }

    #[test]
    fn a_panic_that_is_handled_is_none() {
        explore(0..5, |replay| {
            let queue = replay.queue(QueueConfig::named("fragile"));
            queue.on_exception(|_| ());
            queue.enqueue(Task::new(|| panic!("out of tune"))).unwrap();
            replay.run();
        });
    }

    #[test]
    #[should_panic(expected = "MOTET_SEED is \"seven\"")]
    fn a_seed_that_is_none_is_told() {
        the_seed("seven");
    }
}
