//! Dining philosophers: each takes both forks in one step or none, so no order of naming them can
//! lead to a circle of waiting.

use super::check;
use crate::{JoinedReceive, Port};
use motet_dispatch::DispatcherQueue;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const SEATS: usize = 3;
const MEALS: usize = 2;

/// A philosopher between meals.
struct Input {
    name: usize,
    forks: [Port<usize>; 2],
    held: Arc<[AtomicUsize]>,
    meals: Arc<AtomicUsize>,
}

impl Input {
    /// Waits for both forks, eats, puts them back and waits again.
    fn dine(self: Arc<Self>, queue: &DispatcherQueue, hunger: usize) {
        if hunger == 0 {
            return;
        }
        let [left, right] = &self.forks;
        let (input, next) = (Arc::clone(&self), queue.clone());
        let meal = JoinedReceive::once((left, right), move |(left, right)| {
            input.eat([left, right]);
            input.dine(&next, hunger - 1);
        });
        meal.activate(queue).expect("the queue runs");
    }

    fn eat(&self, forks: [usize; 2]) {
        for fork in forks {
            let holder = self.held[fork].swap(self.name + 1, Ordering::SeqCst);
            assert_eq!(holder, 0, "fork {fork} has one holder");
        }
        self.meals.fetch_add(1, Ordering::SeqCst);
        for fork in forks {
            self.held[fork].store(0, Ordering::SeqCst);
        }
        for (port, fork) in self.forks.iter().zip(forks) {
            port.post(fork).expect("a port without limit");
        }
    }
}

#[test]
fn shuttle_sem_g08_philosophers_all_eat() {
    check(|queue| {
        let forks: Vec<Port<usize>> = (0..SEATS).map(|_| Port::new()).collect();
        let held: Arc<[AtomicUsize]> = (0..SEATS).map(|_| AtomicUsize::new(0)).collect();
        let meals = Arc::new(AtomicUsize::new(0));
        for name in 0..SEATS {
            let input = Input {
                name,
                forks: [forks[name].clone(), forks[(name + 1) % SEATS].clone()],
                held: Arc::clone(&held),
                meals: Arc::clone(&meals),
            };
            Arc::new(input).dine(queue, MEALS);
        }
        for (fork, port) in forks.iter().enumerate() {
            port.post(fork).expect("a port without limit");
        }
        while meals.load(Ordering::SeqCst) < SEATS * MEALS {
            motet_sync::thread::yield_now();
        }
    });
}
