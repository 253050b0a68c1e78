//! Where a dispatcher keeps its waiters.
//!
//! Whoever waits (an arbiter on its ports, an async receive) enters itself when it begins to wait,
//! and does nothing when it ends. An entry is a weak pointer, and dead ones are swept out when a
//! shard has doubled. So the list costs a waiter one push into the shard of its own worker, and
//! whoever reads it pays for the rest. A weak pointer keeps its waiter's memory. Where one waiter
//! follows another (a handler makes the next one-time receive while its own lives) the last but one
//! is gone. So that one is looked at with each entry, and a chain of them uses the same memory
//! again and again.
//!
//! Millions may wait, and nearly all of them for the same few lines of code. Those that were
//! entered one after the other for the same line, in the same millisecond, share one note of the
//! time and the line.

use super::{Wait, Waiter, Waiting};
use crate::route::{self, ExceptionRoute};
use motet_sync::{CachePadded, Mutex};
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The waiters of one dispatcher.
pub(crate) struct WaitRegistry {
    /// One per worker, and the last for everyone else.
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    made: Instant,
    /// The dispatcher's, or the replay's.
    exceptions: Arc<ExceptionRoute>,
}

#[derive(Default)]
struct Shard {
    waiters: Vec<Weak<dyn Waiter>>,
    /// What is known of them, in the same order.
    runs: Vec<Run>,
    /// At so many waiters the dead are swept out.
    sweep_at: usize,
    /// Nobody is entered any more.
    ended: bool,
}

/// Waiters that were entered one after the other.
#[derive(Clone, Copy)]
struct Run {
    count: usize,
    /// When the first began, since the registry was made. The others began less than
    /// [`Run::LENGTH`] later.
    since: Duration,
    created: &'static Location<'static>,
}

impl WaitRegistry {
    pub(crate) fn new(workers: usize, exceptions: &Arc<ExceptionRoute>) -> Self {
        WaitRegistry {
            shards: (0..=workers).map(|_| CachePadded::default()).collect(),
            made: Instant::now(),
            exceptions: Arc::clone(exceptions),
        }
    }

    /// Enters a waiter, from worker `index` or, with `None`, from another thread.
    pub(crate) fn enter(
        &self,
        index: Option<usize>,
        waiter: Weak<dyn Waiter>,
        created: &'static Location<'static>,
    ) {
        let since = self.made.elapsed();
        let last = self.shards.len() - 1;
        let mut shard = self.shards[index.unwrap_or(last)].lock();
        if shard.ended {
            drop(shard);
            return self.tell(&waiter);
        }
        shard.enter(waiter, since, created);
    }

    /// The dispatcher has ended: everyone who waits hears of it, and so does who begins to wait
    /// later.
    pub(crate) fn end(&self) {
        for shard in &self.shards {
            let waiters = {
                let mut shard = shard.lock();
                shard.ended = true;
                shard.runs.clear();
                std::mem::take(&mut shard.waiters)
            };
            waiters.iter().for_each(|waiter| self.tell(waiter));
        }
    }

    /// Everyone who waits now.
    pub(crate) fn read(&self) -> Waiting {
        // No lock is held while a waiter looks at its ports, or while the last handle of one goes.
        let entries: Vec<_> = self
            .shards
            .iter()
            .flat_map(|shard| shard.lock().entries())
            .collect();
        let mut waits: Vec<_> = entries
            .iter()
            .filter_map(|(waiter, run)| self.look(waiter, run))
            .collect();
        waits.sort_by_key(|wait| wait.since);
        Waiting(waits)
    }

    fn look(&self, waiter: &Weak<dyn Waiter>, run: &Run) -> Option<Wait> {
        Some(Wait {
            awaited: waiter.upgrade()?.awaits()?,
            since: self.made + run.since,
            created: run.created,
        })
    }

    /// Wakers are others' code: a panic of one does not keep the rest from being told.
    fn tell(&self, waiter: &Weak<dyn Waiter>) {
        route::guarded("the end of a dispatcher", &[&self.exceptions], || {
            if let Some(waiter) = waiter.upgrade() {
                waiter.dispatcher_ended();
            }
        });
    }
}

impl Shard {
    const LEAST: usize = 64;

    fn enter(
        &mut self,
        waiter: Weak<dyn Waiter>,
        since: Duration,
        created: &'static Location<'static>,
    ) {
        if self.waiters.len() >= self.sweep_at.max(Self::LEAST) {
            self.sweep();
            self.sweep_at = 2 * self.waiters.len();
        }
        self.forget_last_but_one();
        self.waiters.push(waiter);
        match self.runs.last_mut() {
            Some(run) if run.covers(since, created) => run.count += 1,
            _ => self.runs.push(Run {
                count: 1,
                since,
                created,
            }),
        }
    }

    /// Forgets the last waiter but one if it is gone.
    fn forget_last_but_one(&mut self) {
        let Some(at) = self.waiters.len().checked_sub(2) else {
            return;
        };
        if self.waiters[at].strong_count() > 0 {
            return;
        }
        // The last one takes its place: the order stays.
        self.waiters.swap_remove(at);
        if let Some(last) = self.runs.pop() {
            if last.count > 1 {
                let count = last.count - 1;
                self.runs.push(Run { count, ..last });
            } else {
                if let Some(run) = self.runs.last_mut() {
                    run.count -= 1;
                }
                self.runs.pop_if(|run| run.count == 0);
                self.runs.push(last);
            }
        }
    }

    /// Forgets the waiters that are gone, and the runs of which nobody is left.
    fn sweep(&mut self) {
        let (mut runs, mut left) = (self.runs.iter_mut(), 0);
        let mut run = None;
        self.waiters.retain(|waiter| {
            while left == 0 {
                let next = runs.next().expect("each waiter is in a run");
                left = std::mem::take(&mut next.count);
                run = Some(next);
            }
            left -= 1;
            let lives = waiter.strong_count() > 0;
            run.iter_mut()
                .for_each(|run| run.count += usize::from(lives));
            lives
        });
        self.runs.retain(|run| run.count > 0);
    }

    fn entries(&self) -> Vec<(Weak<dyn Waiter>, Run)> {
        let runs = self.runs.iter();
        let each = runs.flat_map(|run| std::iter::repeat_n(*run, run.count));
        self.waiters.iter().cloned().zip(each).collect()
    }
}

impl Run {
    const LENGTH: Duration = Duration::from_millis(1);

    fn covers(&self, since: Duration, created: &'static Location<'static>) -> bool {
        ptr::eq(self.created, created) && since.saturating_sub(self.since) < Self::LENGTH
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::super::Awaited;
    use super::*;
    use std::sync::Arc;

    struct One;

    impl Waiter for One {
        fn awaits(&self) -> Option<Awaited> {
            None
        }
    }

    fn one() -> Arc<dyn Waiter> {
        Arc::new(One)
    }

    fn here_or_there(here: bool) -> &'static Location<'static> {
        #[track_caller]
        fn here_now() -> &'static Location<'static> {
            Location::caller()
        }
        [here_now(), here_now()][usize::from(here)]
    }

    #[test]
    fn dead_entries_do_not_pile_up() {
        let mut shard = Shard::default();
        let living: Vec<_> = (0..100).map(|_| one()).collect();
        let mut enter = |one: &Arc<dyn Waiter>, number: u64| {
            let since = Duration::from_micros(100 * number);
            shard.enter(Arc::downgrade(one), since, here_or_there(true));
        };
        let mut number = 0..;
        living
            .iter()
            .zip(&mut number)
            .for_each(|(one, number)| enter(one, number));
        number.take(10_000).for_each(|number| enter(&one(), number));
        let is_living = |waiter: &&Weak<dyn Waiter>| waiter.strong_count() > 0;
        assert_eq!(shard.waiters.iter().filter(is_living).count(), 100);
        assert!(shard.waiters.len() <= 4 * 100, "{}", shard.waiters.len());
        assert!(shard.runs.len() <= 4 * 100, "{}", shard.runs.len());
    }

    #[test]
    fn each_keeps_its_line_and_its_millisecond_when_others_go() {
        let mut shard = Shard::default();
        let all: Vec<_> = (0..400).map(|_| one()).collect();
        // Lines change every seventh, time every twentieth of a millisecond.
        let of = |at: usize| {
            (
                Duration::from_micros(50 * at as u64),
                here_or_there((at / 7).is_multiple_of(2)),
            )
        };
        for (at, one) in all.iter().enumerate() {
            let (since, created) = of(at);
            shard.enter(Arc::downgrade(one), since, created);
        }
        let stay: Vec<_> = (0..all.len())
            .filter(|at| at % 5 == 0 && *at > 60)
            .collect();
        let living: Vec<_> = stay.iter().map(|&at| Arc::clone(&all[at])).collect();
        drop(all);
        shard.sweep();
        let entries = shard.entries();
        assert_eq!(entries.len(), living.len());
        assert_eq!(
            shard.runs.iter().map(|run| run.count).sum::<usize>(),
            living.len()
        );
        for ((waiter, run), (&at, one)) in entries.iter().zip(stay.iter().zip(&living)) {
            assert!(Weak::ptr_eq(waiter, &Arc::downgrade(one)), "{at}");
            let (since, created) = of(at);
            assert_eq!(run.created, created, "{at}");
            let early = since.checked_sub(run.since).expect("not before the run");
            assert!(early < Run::LENGTH, "{at}: {early:?} early");
        }
    }

    #[test]
    fn who_follows_another_leaves_room_for_the_next() {
        let mut shard = Shard::default();
        let stays: Vec<_> = (0..3).map(|_| one()).collect();
        for one in &stays {
            shard.enter(Arc::downgrade(one), Duration::ZERO, here_or_there(true));
        }
        let mut living = Vec::new();
        // In runs of one, two and three.
        for number in 0..1_000_u64 {
            let next = one();
            let since = Duration::from_millis(number / (1 + number % 3));
            let created = here_or_there(number % 7 < 3);
            shard.enter(Arc::downgrade(&next), since, created);
            // The one before lives as long as this one is entered.
            living.clear();
            living.push(next);
            let counted: usize = shard.runs.iter().map(|run| run.count).sum();
            assert_eq!(counted, shard.waiters.len());
            assert!(shard.runs.iter().all(|run| run.count > 0));
            let (last, run) = shard.entries().pop().expect("it has just been entered");
            assert!(Weak::ptr_eq(&last, &Arc::downgrade(&living[0])));
            assert_eq!(run.created, created);
            assert!(shard.waiters.len() <= stays.len() + 2);
        }
        let read = shard.entries();
        for (one, (waiter, _)) in stays.iter().zip(&read) {
            assert!(Weak::ptr_eq(waiter, &Arc::downgrade(one)));
        }
    }

    #[test]
    fn the_waiters_of_one_line_share_a_note() {
        let mut shard = Shard::default();
        let all: Vec<_> = (0..1_000).map(|_| one()).collect();
        for one in &all {
            shard.enter(Arc::downgrade(one), Duration::ZERO, here_or_there(true));
        }
        assert_eq!((shard.waiters.len(), shard.runs.len()), (1_000, 1));
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::super::Awaited;
    use super::*;
    use motet_sync::atomic::{AtomicUsize, Ordering};
    use motet_sync::thread;
    use std::sync::Arc;

    #[derive(Default)]
    struct Told(AtomicUsize);

    impl Waiter for Told {
        fn awaits(&self) -> Option<Awaited> {
            None
        }

        fn dispatcher_ended(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A task begins to wait while its dispatcher ends: it is told once, whoever comes first.
    #[test]
    fn loom_the_end_of_a_dispatcher_against_the_begin_of_a_wait() {
        loom::model(|| {
            let (registry, told) = (
                Arc::new(WaitRegistry::new(0, &Arc::default())),
                Arc::new(Told::default()),
            );
            let waiting = thread::spawn({
                let (registry, told) = (Arc::clone(&registry), Arc::clone(&told));
                move || {
                    let waiter = Arc::downgrade(&told) as Weak<dyn Waiter>;
                    registry.enter(None, waiter, Location::caller());
                }
            });
            registry.end();
            waiting.join().unwrap();
            assert_eq!(told.0.load(Ordering::SeqCst), 1);
        });
    }
}
