//! The time of the machine: one thread for the timers of the process.
//!
//! The thread is started by the first timer, sleeps until the next one is due and ends when there
//! has been none for a while. The next timer starts it again. So a process without timers has no
//! thread for them, and none is left that somebody would have to stop. A process that is forked has
//! none of its parent's threads: its first timer starts one, and what the parent had set is left.

use super::timers::{Key, Timers};
use crate::route;
use crate::task::Task;
use motet_sync::{Condvar, Mutex, thread};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{io, process};

#[derive(Debug, Default)]
pub(super) struct RealTime {
    state: Mutex<State>,
    /// An earlier timer than the one that the thread sleeps for has been set.
    earlier: Condvar,
}

#[derive(Debug, Default)]
struct State {
    timers: Timers,
    /// The process that has a thread for them.
    server: Option<u32>,
    /// It sleeps, and looks again at this time.
    sleeps_until: Option<Instant>,
}

impl State {
    /// Leaves the timers to the process that has set them, from which this one was forked.
    fn leave(&mut self) {
        self.timers.leave();
        (self.server, self.sleeps_until) = (None, None);
    }
}

/// How long the thread stays without a timer.
const IDLE: Duration = Duration::from_secs(10);

/// The name of the thread, and of the queue in messages about calls that panic.
const NAME: &str = "motet-timers";

impl RealTime {
    /// The one that everybody in this process shares.
    pub(super) fn of_process() -> Arc<Self> {
        static TIME: OnceLock<Arc<RealTime>> = OnceLock::new();
        Arc::clone(TIME.get_or_init(Arc::default))
    }

    pub(super) fn insert(self: &Arc<Self>, when: Instant, due: Task) -> Key {
        self.insert_and_start(when, due, |time| {
            thread::spawn_named(NAME, move || time.serve()).map(drop)
        })
    }

    /// Sets a timer; `start` starts the thread, if there is none.
    fn insert_and_start(
        self: &Arc<Self>,
        when: Instant,
        due: Task,
        start: impl FnOnce(Arc<Self>) -> io::Result<()>,
    ) -> Key {
        let mut state = self.state.lock();
        let own = process::id();
        if state.server.is_some_and(|server| server != own) {
            state.leave();
        }
        let key = state.timers.insert(when, due);
        if state.server.is_none() {
            // Under the lock: no other timer counts on a thread that does not come.
            if let Err(refused) = start(Arc::clone(self)) {
                let due = state.timers.remove(&key);
                drop(state);
                due.into_iter().for_each(Task::cleanup);
                panic!("the operating system starts the thread for timers: {refused}");
            }
            state.server = Some(own);
            return key;
        }
        let earlier = state.sleeps_until.is_some_and(|until| when < until);
        if earlier {
            // Told once; what is set before it has woken it will see.
            state.sleeps_until = None;
        }
        drop(state);
        if earlier {
            self.earlier.notify_all();
        }
        key
    }

    pub(super) fn remove(&self, key: &Key) -> Option<Task> {
        self.state.lock().timers.remove(key)
    }

    /// Fires timers until there has been none for a while.
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            if let Some(due) = state.timers.pop_due(now) {
                drop(state);
                fire(due);
                state = self.state.lock();
                continue;
            }
            let until = state.timers.next().unwrap_or(now + IDLE);
            state.sleeps_until = Some(until);
            let told;
            (state, told) = self.earlier.wait_timeout(state, until - now);
            state.sleeps_until = None;
            if !told && state.timers.len() == 0 {
                state.server = None;
                return;
            }
        }
    }
}

/// Runs a call whose time has come. A panic must not take the thread with it.
fn fire(due: Task) {
    route::guarded(NAME, &[], || due.run());
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use motet_testkit::{Drops, Log, patience, within};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_thread_that_is_refused_once_is_started_by_the_next_timer() {
        within(patience(), || {
            let (time, drops, log) = (Arc::new(RealTime::default()), Drops::new(), Log::new());
            let held = drops.make();
            let refused = catch_unwind(AssertUnwindSafe(|| {
                let due = Task::new(move || drop(held));
                time.insert_and_start(Instant::now(), due, |_| Err(io::Error::other("no room")))
            }));
            let told = refused.unwrap_err();
            let told = told.downcast_ref::<String>().unwrap();
            assert!(told.contains("no room"), "{told}");
            assert_eq!(drops.dropped(), drops.made(), "it holds nothing");
            let fired = log.clone();
            time.insert(Instant::now(), Task::new(move || fired.push(())));
            log.wait_for(1);
        });
    }

    #[test]
    fn a_process_that_was_forked_has_a_thread_of_its_own() {
        within(patience(), || {
            let (time, log) = (Arc::new(RealTime::default()), Log::new());
            {
                // As after a fork: the thread is one of another process, and no process is 0.
                let mut state = time.state.lock();
                state.server = Some(0);
                state.sleeps_until = Some(Instant::now());
            }
            let fired = log.clone();
            time.insert(Instant::now(), Task::new(move || fired.push(())));
            log.wait_for(1);
        });
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::task::{TaskBody, TaskBox};

    /// Counts how it ends.
    struct Counted(Arc<[Mutex<u32>; 2]>);

    impl TaskBody for Counted {
        fn run(task: TaskBox<Self>) {
            *task.0[0].lock() += 1;
        }
        fn cleanup(task: TaskBox<Self>) {
            *task.0[1].lock() += 1;
        }
    }

    /// A timer fires while two threads cancel it: one of the three gets it.
    #[test]
    fn loom_fired_or_cancelled() {
        loom::model(|| {
            let now = Instant::now();
            let ends = Arc::new([Mutex::new(0), Mutex::new(0)]);
            let timers = Arc::new(Mutex::new(Timers::default()));
            let due = TaskBox::new(Counted(Arc::clone(&ends))).into_task();
            let key = timers.lock().insert(now, due);
            let cancel = || {
                let timers = Arc::clone(&timers);
                thread::spawn(move || {
                    let removed = timers.lock().remove(&key);
                    removed.map(Task::cleanup).is_some()
                })
            };
            let cancels = [cancel(), cancel()];
            let due = timers.lock().pop_due(now);
            due.into_iter().for_each(Task::run);
            let cancelled = cancels.map(|thread| u32::from(thread.join().unwrap()));
            assert_eq!(*ends[1].lock(), cancelled.iter().sum::<u32>());
            assert_eq!(*ends[0].lock() + *ends[1].lock(), 1);
        });
    }

    /// The thread sleeps for a late timer when an earlier one is set: it hears of it, and fires it.
    #[test]
    fn loom_an_earlier_timer_wakes_the_thread() {
        loom::model(|| {
            let now = Instant::now();
            let ends = Arc::new([Mutex::new(0), Mutex::new(0)]);
            let time = Arc::new(RealTime::default());
            time.state.lock().server = Some(process::id());
            time.insert(now + IDLE, Task::new(|| ()));
            let setter = thread::spawn({
                let due = TaskBox::new(Counted(Arc::clone(&ends))).into_task();
                let time = Arc::clone(&time);
                move || time.insert(now, due)
            });
            // What `serve` does, until the earlier timer has been fired.
            let mut state = time.state.lock();
            loop {
                if let Some(due) = state.timers.pop_due(now) {
                    drop(state);
                    fire(due);
                    break;
                }
                state.sleeps_until = state.timers.next();
                // Without a limit here: a wake-up that is lost is a deadlock.
                state = time.earlier.wait(state);
                state.sleeps_until = None;
            }
            setter.join().unwrap();
            assert_eq!(*ends[0].lock(), 1);
            time.state.lock().timers.take_all();
        });
    }
}
