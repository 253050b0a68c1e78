//! Models of a state that lies in a [`SharedPlace`] and is changed by handlers that begin at once:
//! how a service of `motet-service` is called on the thread of its caller.
//!
//! The models do what is done there: `update` as `change_now` of `served/exclusive.rs`, `get` and
//! `query` as `get_now` and `read_now` of `served/at_once.rs`, `stop` as `served/teardown.rs`, and
//! `abandon` as `served.rs`. What is changed has no order of its own. The model checker shows old
//! values too, unless the interleave, or the count of references, orders one before the other.

use super::ActiveInterleave;
use super::shared::Shared;
use super::state::Fairness;
use motet_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use motet_sync::{Arc, SharedPlace, set_thread_number, thread};

/// A state, whose halves are equal but while it is changed.
struct Halves([AtomicU64; 2]);

/// What lies in the place.
struct PlacedService {
    state: Arc<Halves>,
    dropped: Arc<AtomicUsize>,
}

struct PlacedCell {
    interleave: ActiveInterleave,
    place: SharedPlace<Arc<PlacedService>>,
    version: AtomicU64,
    dropped: Arc<AtomicUsize>,
}

/// What has come of an attempt to begin a handler.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    /// It would have to wait.
    Refused,
    /// There is no service.
    Absent,
    Done,
}

impl Halves {
    fn of(value: u64) -> Self {
        Halves([(); 2].map(|()| AtomicU64::new(value)))
    }

    /// What both halves are.
    fn whole(&self) -> u64 {
        let [one, other] = &self.0;
        let value = one.load(Ordering::Relaxed);
        assert_eq!(other.load(Ordering::Relaxed), value, "half of a change");
        value
    }

    fn set(&self, value: u64) {
        let halves = self.0.iter();
        halves.for_each(|half| half.store(value, Ordering::Relaxed));
    }
}

impl Drop for PlacedService {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl PlacedCell {
    fn new() -> Arc<Self> {
        let shared = Shared::with_places(Fairness::default(), 2);
        let next = shared.exclusion.pass_on();
        shared.carry_out(next);
        let dropped = Arc::new(AtomicUsize::new(0));
        let service = PlacedService {
            state: Arc::new(Halves::of(0)),
            dropped: Arc::clone(&dropped),
        };
        let place = SharedPlace::default();
        let before = place.exchange(Arc::new(service));
        assert!(before.is_none());
        Arc::new(PlacedCell {
            interleave: ActiveInterleave(shared),
            place,
            version: AtomicU64::new(0),
            dropped,
        })
    }

    /// Adds one to the state, which is copied while somebody has a snapshot of it.
    fn update(&self) -> Attempt {
        let Some(_entered) = self.interleave.try_exclusive() else {
            return Attempt::Refused;
        };
        let Some(mut held) = self.place.hold() else {
            return Attempt::Absent;
        };
        let service = Arc::get_mut(&mut held).expect("an exclusive handler is alone");
        let value = service.state.whole();
        match Arc::get_mut(&mut service.state) {
            Some(state) => state.set(value + 1),
            None => service.state = Arc::new(Halves::of(value + 1)),
        }
        let version = self.version.load(Ordering::Relaxed);
        assert_eq!(version, value, "a change is lost");
        self.version.store(version + 1, Ordering::Relaxed);
        drop(held.put());
        Attempt::Done
    }

    /// The version, and a snapshot of the state.
    fn get(&self) -> Option<(u64, Arc<Halves>)> {
        let _entered = self.interleave.try_concurrent()?;
        self.place.read(|service| {
            let version = self.version.load(Ordering::Relaxed);
            (version, Arc::clone(&service.state))
        })
    }

    /// A snapshot is whole, and stays as it is.
    fn look(&self) {
        if let Some((version, state)) = self.get() {
            assert_eq!(state.whole(), version);
            assert_eq!(state.whole(), version);
        }
    }

    /// A handler that changes nothing, and shares the service.
    fn query(&self) {
        let Some(_entered) = self.interleave.try_concurrent() else {
            return;
        };
        if let Some(service) = self.place.shared() {
            let version = self.version.load(Ordering::Relaxed);
            assert_eq!(service.state.whole(), version);
        }
    }

    /// The last handler, which is alone and gets the service.
    fn stop(&self) -> Attempt {
        let Some(_entered) = self.interleave.try_exclusive() else {
            return Attempt::Refused;
        };
        let Some(mut service) = self.place.end() else {
            return Attempt::Absent;
        };
        assert!(Arc::get_mut(&mut service).is_some(), "somebody shares it");
        Attempt::Done
    }

    /// Ends the service, whoever has it now.
    fn abandon(&self) {
        drop(self.place.end());
        assert!(self.place.is_empty());
        assert!(self.get().is_none(), "it has ended");
    }

    /// The version and the state, when nothing runs any more.
    fn outcome(&self) -> (u64, u64) {
        let (version, state) = self.get().expect("nothing runs");
        (version, state.whole())
    }

    fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

/// Another thread, with this number.
fn does<R: 'static>(
    cell: &Arc<PlacedCell>,
    number: usize,
    work: impl FnOnce(&PlacedCell) -> R + 'static,
) -> thread::JoinHandle<R> {
    let cell = Arc::clone(cell);
    thread::spawn(move || {
        set_thread_number(number);
        work(&cell)
    })
}

/// Two callers that carry out their changes, and a reader.
#[test]
fn loom_changes_at_once_against_a_snapshot() {
    loom::model(|| {
        let cell = PlacedCell::new();
        let others = [0, 1].map(|number| does(&cell, number, PlacedCell::update));
        cell.look();
        let attempts = others.map(|other| other.join().unwrap());
        let done = attempts.iter().filter(|one| **one == Attempt::Done).count();
        assert!(!attempts.contains(&Attempt::Absent), "it is put back first");
        assert_eq!(cell.outcome(), (done as u64, done as u64));
    });
}

/// A snapshot is kept while the state is changed twice.
#[test]
fn loom_changes_at_once_against_a_snapshot_that_is_kept() {
    loom::model(|| {
        let cell = PlacedCell::new();
        let (version, kept) = cell.get().expect("nothing runs");
        let other = does(&cell, 0, |cell| [cell.update(), cell.update()]);
        assert_eq!((version, kept.whole()), (0, 0));
        drop(kept);
        assert_eq!(other.join().unwrap(), [Attempt::Done, Attempt::Done]);
        assert_eq!(cell.outcome(), (2, 2));
    });
}

/// A handler that shares the service has left it when the next one changes it.
#[test]
fn loom_changes_at_once_against_a_query() {
    loom::model(|| {
        let cell = PlacedCell::new();
        let other = does(&cell, 0, |cell| [cell.update(), cell.update()]);
        cell.query();
        let attempts = other.join().unwrap();
        let done = attempts.iter().filter(|one| **one == Attempt::Done).count();
        assert_eq!(cell.outcome(), (done as u64, done as u64));
    });
}

/// The last handler has the service alone. Nothing is read or changed after it.
#[test]
fn loom_the_last_handler_against_a_change_and_a_query() {
    loom::model(|| {
        let cell = PlacedCell::new();
        let changes = does(&cell, 0, PlacedCell::update);
        let reads = does(&cell, 1, PlacedCell::query);
        let stopped = cell.stop();
        assert_ne!(stopped, Attempt::Absent);
        let ends = usize::from(stopped == Attempt::Done);
        assert_eq!(cell.dropped(), ends);
        changes.join().unwrap();
        reads.join().unwrap();
        assert_eq!(cell.place.is_empty(), ends == 1);
        assert_eq!(cell.dropped(), ends);
    });
}

/// A service is given up while others use it: who has it then drops it, once.
#[test]
fn loom_the_end_against_a_change_and_a_snapshot() {
    loom::model(|| {
        let cell = PlacedCell::new();
        let changes = does(&cell, 0, PlacedCell::update);
        let reads = does(&cell, 1, PlacedCell::look);
        cell.abandon();
        changes.join().unwrap();
        reads.join().unwrap();
        assert_eq!(cell.update(), Attempt::Absent);
        assert_eq!(cell.dropped(), 1);
    });
}
