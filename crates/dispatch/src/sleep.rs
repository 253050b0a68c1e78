//! Who sleeps, who looks for work, who is woken. The protocol and its races are told in `sleep.md`.

use motet_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use motet_sync::{CachePadded, Mutex, Parker, Unparker, thread};

/// The workers' sleep, shared by all workers and posters of one dispatcher.
#[derive(Debug)]
pub(crate) struct WorkerSleep {
    /// [`Counts`], packed. Changed by workers and, under the list of sleepers's lock, by wakers.
    counts: CachePadded<AtomicU32>,
    /// Wake-ups so far. Changed and read under the list of sleepers's lock.
    wakes: AtomicUsize,
    /// The workers asleep, the last to fall asleep at the end.
    sleepers: Mutex<Vec<Sleeper>>,
    slots: Box<[CachePadded<SleepState>]>,
    cores: usize,
}

#[derive(Debug)]
struct SleepState {
    /// Whether the worker is on the list of sleepers. Written under the list of sleepers's lock.
    asleep: AtomicBool,
    /// How often the worker went to sleep, and was woken.
    parked: AtomicU64,
    woken: AtomicU64,
    unparker: Mutex<Option<Unparker>>,
}

/// A worker on the list of sleepers.
#[derive(Debug, Clone, Copy)]
struct Sleeper {
    index: usize,
    /// Whether it has looked for work once more and found none.
    has_looked: bool,
}

/// How many workers look for work and how many sleep; the rest run tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    searching: u32,
    sleeping: u32,
}

const SEARCHING: u32 = 1;
const SLEEPING: u32 = 1 << 16;

impl WorkerSleep {
    pub(crate) fn new(workers: usize) -> Self {
        let slot = || SleepState {
            asleep: AtomicBool::new(false),
            parked: AtomicU64::new(0),
            woken: AtomicU64::new(0),
            unparker: Mutex::new(None),
        };
        WorkerSleep {
            counts: CachePadded::new(AtomicU32::new(0)),
            wakes: AtomicUsize::new(0),
            sleepers: Mutex::new(Vec::with_capacity(workers)),
            slots: (0..workers).map(|_| CachePadded::new(slot())).collect(),
            cores: thread::cores(),
        }
    }

    /// Makes the calling thread worker `index`.
    pub(crate) fn register(&self, index: usize) -> Parker {
        let parker = Parker::new();
        *self.slots[index].unparker.lock() = Some(parker.unparker());
        parker
    }

    /// Called after work that any worker may take was queued: wakes a worker unless one is looking
    /// for work already.
    #[inline]
    pub(crate) fn notify_any(&self) {
        // Orders the queueing before the look at the counts: the fence in `sleep` is its partner.
        fence(Ordering::SeqCst);
        let counts = self.counts();
        if counts.searching == 0 && counts.sleeping > 0 {
            self.wake_any();
        }
    }

    /// Called after work for worker `index` alone was queued. `true` when the worker had to be
    /// woken.
    #[inline]
    pub(crate) fn notify_worker(&self, index: usize) -> bool {
        fence(Ordering::SeqCst);
        self.slots[index].asleep.load(Ordering::Relaxed) && self.wake_worker(index)
    }

    /// Wakes everyone, to see that something about the dispatcher itself has changed.
    pub(crate) fn notify_all(&self) {
        fence(Ordering::SeqCst);
        for index in 0..self.slots.len() {
            self.wake_worker(index);
        }
    }

    /// The calling worker has run out of work and looks for more.
    pub(crate) fn start_search(&self) {
        self.counts.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// The calling worker has found work. `true` when nobody looks for work any more: the caller
    /// must then call [`WorkerSleep::notify_any`] if it sees more of it.
    #[must_use]
    pub(crate) fn end_search(&self) -> bool {
        let last = unpack(self.counts.fetch_sub(SEARCHING, Ordering::SeqCst)).searching == 1;
        // Orders "I do not search" before the caller's look for more work. A poster that still saw
        // the search has left its task to that look.
        fence(Ordering::SeqCst);
        last
    }

    /// Whether looking on is worth a core: no more workers are awake than there are cores.
    pub(crate) fn may_spin(&self) -> bool {
        self.slots.len() - self.counts().sleeping as usize <= self.cores
    }

    /// Whether all workers sleep, and found nothing in their last look: what was queued before has
    /// been run. The number of wake-ups so far; unchanged between two looks means that nobody was
    /// woken between them.
    pub(crate) fn all_asleep(&self) -> Option<usize> {
        let sleepers = self.sleepers.lock();
        // Relaxed: written under the list of sleepers's lock.
        self.all_have_looked(&sleepers)
            .then(|| self.wakes.load(Ordering::Relaxed))
    }

    /// How often worker `index` has gone to sleep, and how often it was woken.
    pub(crate) fn parked_and_woken(&self, index: usize) -> (u64, u64) {
        let slot = &self.slots[index];
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&slot.parked), count(&slot.woken))
    }

    /// Puts the searching worker `index` to sleep until it is notified, unless `has_work` says that
    /// there is something to do after all. `on_last` is called when everyone sleeps then and has
    /// found nothing. The worker is searching again when this returns.
    pub(crate) fn sleep(
        &self,
        index: usize,
        parker: &Parker,
        has_work: impl Fn() -> bool,
        on_last: impl FnOnce(),
    ) {
        {
            let mut sleepers = self.sleepers.lock();
            sleepers.push(Sleeper {
                index,
                has_looked: false,
            });
            self.slots[index].asleep.store(true, Ordering::Relaxed);
            self.slots[index].parked.fetch_add(1, Ordering::Relaxed);
            self.counts
                .fetch_add(SLEEPING - SEARCHING, Ordering::SeqCst);
        }
        // Orders "I sleep" before the last look for work: the fences in `notify_*` are its
        // partners.
        fence(Ordering::SeqCst);
        let mut stay = !has_work();
        if stay && self.note_look(index) {
            on_last();
            stay = !has_work();
        }
        if stay || !self.leave_roster(index) {
            // Either there is nothing to do, or a waker has taken this worker off the list of
            // sleepers. In that case its token is on the way.
            parker.park();
        }
    }

    /// Worker `index` has found nothing in its last look. `true` when it is still on the list of
    /// sleepers and everyone else is, and has found nothing either.
    fn note_look(&self, index: usize) -> bool {
        let mut sleepers = self.sleepers.lock();
        let Some(at) = place(&sleepers, index) else {
            return false;
        };
        sleepers[at].has_looked = true;
        self.all_have_looked(&sleepers)
    }

    fn all_have_looked(&self, sleepers: &[Sleeper]) -> bool {
        sleepers.len() == self.slots.len() && sleepers.iter().all(|sleeper| sleeper.has_looked)
    }

    fn counts(&self) -> Counts {
        unpack(self.counts.load(Ordering::SeqCst))
    }

    #[cold]
    fn wake_any(&self) {
        let mut sleepers = self.sleepers.lock();
        if self.counts().searching > 0 {
            return;
        }
        let Some(Sleeper { index, .. }) = sleepers.pop() else {
            return;
        };
        self.off_roster(index);
        drop(sleepers);
        self.unpark(index);
    }

    #[cold]
    fn wake_worker(&self, index: usize) -> bool {
        let slept = self.leave_roster(index);
        if slept {
            self.unpark(index);
        }
        slept
    }

    /// Takes `index` off the list of sleepers; `false` when it is not on it.
    fn leave_roster(&self, index: usize) -> bool {
        let mut sleepers = self.sleepers.lock();
        let Some(at) = place(&sleepers, index) else {
            return false;
        };
        sleepers.remove(at);
        self.off_roster(index);
        true
    }

    /// The list of sleepers's lock is held.
    fn off_roster(&self, index: usize) {
        self.slots[index].asleep.store(false, Ordering::Relaxed);
        self.counts
            .fetch_sub(SLEEPING - SEARCHING, Ordering::SeqCst);
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }

    fn unpark(&self, index: usize) {
        self.slots[index].woken.fetch_add(1, Ordering::Relaxed);
        if let Some(unparker) = &*self.slots[index].unparker.lock() {
            unparker.unpark();
        }
    }
}

/// Where worker `index` stands on the list of sleepers.
fn place(sleepers: &[Sleeper], index: usize) -> Option<usize> {
    sleepers.iter().position(|sleeper| sleeper.index == index)
}

fn unpack(counts: u32) -> Counts {
    Counts {
        searching: counts % SLEEPING,
        sleeping: counts / SLEEPING,
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{Arc, Condvar};

    /// Units of work and the workers that take them.
    struct Model {
        sleep: WorkerSleep,
        queued: AtomicUsize,
        taken: Mutex<usize>,
        enough: Condvar,
        done: AtomicUsize,
        all: usize,
        /// A unit ends only when so many are taken: they must run at the same time.
        together: usize,
    }

    impl Model {
        fn new(workers: usize, all: usize, together: usize) -> Arc<Self> {
            let zero = || AtomicUsize::new(0);
            Arc::new(Model {
                sleep: WorkerSleep::new(workers),
                queued: zero(),
                taken: Mutex::new(0),
                enough: Condvar::new(),
                done: zero(),
                all,
                together,
            })
        }

        fn has_work(&self) -> bool {
            self.queued.load(Ordering::Acquire) > 0
        }

        fn finished(&self) -> bool {
            self.done.load(Ordering::Acquire) == self.all
        }

        fn post(&self) {
            self.queued.fetch_add(1, Ordering::AcqRel);
            self.sleep.notify_any();
        }

        fn take(&self) -> bool {
            let less = |n: usize| n.checked_sub(1);
            self.queued
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, less)
                .is_ok()
        }

        fn wait_for_the_others(&self) {
            let mut taken = self.taken.lock();
            *taken += 1;
            self.enough.notify_all();
            while *taken < self.together {
                taken = self.enough.wait(taken);
            }
        }

        /// Takes units of work until all are done.
        fn work(&self, index: usize) {
            let parker = self.sleep.register(index);
            self.sleep.start_search();
            loop {
                if self.take() {
                    if self.sleep.end_search() && self.has_work() {
                        self.sleep.notify_any();
                    }
                    self.wait_for_the_others();
                    self.done.fetch_add(1, Ordering::AcqRel);
                    if self.finished() {
                        self.sleep.notify_all();
                    }
                    self.sleep.start_search();
                } else if self.finished() {
                    return;
                } else {
                    let stir = || self.has_work() || self.finished();
                    self.sleep.sleep(index, &parker, stir, || ());
                }
            }
        }
    }

    fn in_thread(
        model: &Arc<Model>,
        body: impl FnOnce(&Model) + 'static,
    ) -> thread::JoinHandle<()> {
        let model = Arc::clone(model);
        thread::spawn(move || body(&model))
    }

    /// The lost wake-up: a worker falls asleep while a poster queues. Loom reports a deadlock if
    /// the worker sleeps on with work queued.
    #[test]
    fn loom_no_lost_wakeup_one_worker() {
        loom::model(|| {
            let model = Model::new(1, 2, 0);
            let poster = in_thread(&model, |model| {
                model.post();
                model.post();
            });
            model.work(0);
            poster.join().unwrap();
        });
    }

    /// Two posts, two workers, and each unit waits for the other: the worker that is woken first
    /// must pass the search on.
    #[test]
    fn loom_two_sleepers_are_both_woken() {
        loom::model(|| {
            let model = Model::new(2, 2, 2);
            let workers = [0, 1].map(|index| in_thread(&model, move |model| model.work(index)));
            model.post();
            model.post();
            workers
                .into_iter()
                .for_each(|worker| worker.join().unwrap());
        });
    }

    /// Work for one worker alone: `notify_worker` against that worker's falling asleep.
    #[test]
    fn loom_no_lost_wakeup_home_work() {
        loom::model(|| {
            let model = Model::new(1, 1, 0);
            let poster = in_thread(&model, |model| {
                model.queued.fetch_add(1, Ordering::AcqRel);
                model.sleep.notify_worker(0);
            });
            model.work(0);
            poster.join().unwrap();
        });
    }
}
