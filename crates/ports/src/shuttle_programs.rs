//! Whole programs on a dispatcher with two threads, under many random schedules of each. They are
//! the classic puzzles of coordination, each written the way this crate would have it.
//!
//! Where loom tries every schedule of a model of a few steps, [shuttle](https://docs.rs/shuttle)
//! draws schedules of thousands of steps. It draws them purely at random, and with priorities that
//! change at a few points (PCT). The latter finds bugs that need few but particular switches. A
//! failure prints the schedule, which `shuttle::replay` repeats.

mod bank;
mod barber;
mod joins;
mod philosophers;
mod santa;
mod smokers;

use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};

/// Changes of priority in a schedule of PCT.
const DEPTH: usize = 3;

/// Runs `program` under random schedules and under PCT's, as many of each as `MOTET_SCHEDULES`
/// says.
fn check(program: fn(&DispatcherQueue)) {
    let said = std::env::var("MOTET_SCHEDULES").ok();
    let said = said.filter(|number| !number.is_empty());
    let schedules = said.map_or(100, |number| {
        number.parse().expect("MOTET_SCHEDULES is a number")
    });
    let run = move || {
        let dispatcher = Dispatcher::new(2);
        program(&dispatcher.queue(QueueConfig::default()));
        assert!(dispatcher.drain().is_empty(), "everything has run");
    };
    shuttle::check_random(run, schedules);
    shuttle::check_pct(run, schedules, DEPTH);
}
