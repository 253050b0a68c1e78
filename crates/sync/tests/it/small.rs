//! [`Backoff`], [`Serial`], cells, threads.

use motet_sync::cell::UnsafeCell;
use motet_sync::{Arc, Backoff, CachePadded, Parker, Serial, thread};
use motet_testkit::{patience, within};
use std::time::{Duration, Instant};

#[test]
fn a_backoff_without_a_budget_sleeps_at_once() {
    let mut backoff = Backoff::new(Duration::ZERO);
    assert!(!backoff.within_budget());
    assert!(!backoff.snooze());
    assert!(!backoff.go_on());
}

#[test]
fn a_backoff_counts_from_its_first_round() {
    const BUDGET: Duration = Duration::from_millis(5);
    let lasts = || {
        let mut backoff = Backoff::new(BUDGET);
        let made = Instant::now();
        while made.elapsed() < BUDGET {
            std::hint::spin_loop();
        }
        let began = Instant::now();
        while backoff.snooze() {}
        // Where it ended early, not all is spent.
        began.elapsed() >= BUDGET && !backoff.within_budget()
    };
    assert!(
        undisturbed(lasts),
        "the time before the wait does not count"
    );
}

/// Whether `test` holds in one of many tries: a wait ends early on a thread that loses its core.
fn undisturbed(test: impl Fn() -> bool) -> bool {
    (0..200).any(|_| {
        let holds = test();
        if !holds {
            let _ = Parker::new().park_timeout(Duration::from_millis(50));
        }
        holds
    })
}

#[test]
fn a_budget_without_an_end_lasts_four_seconds() {
    let (begun, mut backoff) = (Instant::now(), Backoff::new(Duration::MAX));
    // On a busy machine it may take as long.
    let spent = |goes_on: bool| goes_on || begun.elapsed() >= Duration::from_secs(4);
    // The first round offers the core to nobody, who could keep it.
    assert!(spent(backoff.snooze()));
    assert!((0..1_000).all(|_| spent(backoff.within_budget())));
}

#[test]
fn numbers_are_given_out_once() {
    static NUMBERS: Serial = Serial::new();
    within(patience(), || {
        let takers: Vec<_> = (0..4)
            .map(|_| thread::spawn(|| (0..1_000).map(|_| NUMBERS.next()).collect::<Vec<_>>()))
            .collect();
        let lists: Vec<_> = takers
            .into_iter()
            .map(|taker| taker.join().unwrap())
            .collect();
        assert!(lists.iter().all(|list| list.is_sorted()));
        let mut all: Vec<_> = lists.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (1..=4_000).collect::<Vec<_>>());
    });
}

#[test]
fn a_cell_gives_out_where_its_value_is() {
    let cell = UnsafeCell::new(5);
    let read = cell.with(<*const i32>::addr);
    assert_eq!(cell.with_mut(<*mut i32>::addr), read);
}

#[test]
fn padded_values_share_no_cache_line() {
    let two = [CachePadded::new(1_u8), CachePadded::new(2)];
    let at = |n: usize| std::ptr::from_ref(&*two[n]).addr();
    assert!(at(1) - at(0) >= 64);
}

#[test]
fn a_named_thread_bears_its_name_and_returns_its_value() {
    let value = Arc::new(3);
    let held = Arc::clone(&value);
    let body = move || (*held, thread::current().name().map(str::to_owned));
    let ended = thread::spawn_named("voice", body).unwrap().join().unwrap();
    assert_eq!(ended, (3, Some("voice".to_owned())));
    assert!(thread::cores() >= 1);
}

#[test]
fn a_name_with_a_zero_byte_is_refused_without_a_panic() {
    let refused = thread::spawn_named("a\0b", || ()).map(drop).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
}
