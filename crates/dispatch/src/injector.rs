//! Where threads that are not workers leave tasks: many posters, any taker, first in first out.
//!
//! Posters push into an [`Inbox`] and never wait for anyone. A taker that finds `outgoing` empty
//! empties the inbox into it and serves from there. Takers exclude each other, and no taker ever
//! holds up a poster.

use crate::inbox::Inbox;
use crate::task::Task;
use crate::task_list::TaskList;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct TaskInjector {
    incoming: Inbox,
    /// Oldest first.
    outgoing: Mutex<TaskList>,
    /// The length of `outgoing`, for looking without the lock.
    outgoing_len: AtomicUsize,
}

impl TaskInjector {
    pub(crate) fn new() -> Self {
        TaskInjector {
            incoming: Inbox::new(),
            outgoing: Mutex::default(),
            outgoing_len: AtomicUsize::new(0),
        }
    }

    /// Leaves a task.
    pub(crate) fn push(&self, task: Task) {
        self.incoming.push(task);
    }

    /// Whether nothing was there at some moment of the call. A task that another taker has in its
    /// hands counts as taken.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_empty() && self.outgoing_len.load(Ordering::Acquire) == 0
    }

    /// Takes up to `most` tasks, oldest first, but no more than the share of one of `takers`, and
    /// gives them to `taken`. Nothing is taken while another thread takes.
    pub(crate) fn take(&self, most: usize, takers: usize, mut taken: impl FnMut(Task)) -> usize {
        if self.is_empty() {
            return 0;
        }
        let Some(mut outgoing) = self.outgoing.try_lock() else {
            return 0;
        };
        if outgoing.is_empty() {
            *outgoing = self.incoming.take_all();
        }
        let most = most.min(outgoing.len().div_ceil(takers));
        let mut count = 0;
        while count < most {
            let Some(task) = outgoing.pop_front() else {
                break;
            };
            taken(task);
            count += 1;
        }
        self.outgoing_len.store(outgoing.len(), Ordering::Release);
        count
    }

    /// Takes everything, waiting for other takers.
    pub(crate) fn take_all(&self) -> TaskList {
        let mut outgoing = self.outgoing.lock();
        let mut all = std::mem::take(&mut *outgoing);
        all.append(self.incoming.take_all());
        self.outgoing_len.store(0, Ordering::Release);
        all
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use motet_sync::thread;
    use std::sync::Arc;

    #[test]
    fn every_poster_keeps_its_order_and_nothing_is_lost() {
        const POSTERS: u32 = 4;
        const EACH: u32 = 5_000;
        let injector = Arc::new(TaskInjector::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let posters: Vec<_> = (0..POSTERS)
            .map(|poster| {
                let (injector, seen) = (Arc::clone(&injector), Arc::clone(&seen));
                thread::spawn(move || {
                    for i in 0..EACH {
                        let seen = Arc::clone(&seen);
                        injector.push(Task::new(move || seen.lock().push((poster, i))));
                    }
                })
            })
            .collect();
        let mut ran = 0;
        while ran < POSTERS * EACH {
            ran += u32::try_from(injector.take(7, 1, Task::run)).unwrap();
        }
        posters
            .into_iter()
            .for_each(|poster| poster.join().unwrap());
        assert!(injector.is_empty());
        let seen = seen.lock();
        for poster in 0..POSTERS {
            let order: Vec<u32> = seen.iter().filter(|s| s.0 == poster).map(|s| s.1).collect();
            assert_eq!(order, (0..EACH).collect::<Vec<_>>());
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{Arc, thread};

    /// Two posters and a taker: everything arrives once, each poster's tasks in order.
    #[test]
    fn loom_injector_loses_and_reorders_nothing() {
        loom::model(|| {
            let injector = Arc::new(TaskInjector::new());
            let seen = Arc::new(Mutex::new(Vec::new()));
            let post = |poster: u8, count: u8| {
                let (injector, seen) = (Arc::clone(&injector), Arc::clone(&seen));
                thread::spawn(move || {
                    for i in 0..count {
                        let seen = Arc::clone(&seen);
                        injector.push(Task::new(move || seen.lock().push((poster, i))));
                    }
                })
            };
            let posters = [post(0, 2), post(1, 1)];
            injector.take(1, 1, Task::run);
            posters
                .into_iter()
                .for_each(|poster| poster.join().unwrap());
            while injector.take(2, 1, Task::run) > 0 {}
            assert!(injector.is_empty());
            let seen = seen.lock();
            assert_eq!(seen.len(), 3);
            let first: Vec<u8> = seen.iter().filter(|s| s.0 == 0).map(|s| s.1).collect();
            assert_eq!(first, [0, 1]);
        });
    }
}
