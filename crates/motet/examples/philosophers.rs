//! The dining philosophers: a fork is an item in a port, eating is a join of two ports.
//!
//! ```text
//!          (fork 0)
//!   phil 0 ◄──┤├──► phil 4        a philosopher takes both forks in one step or none:
//!  (fork 1)      (fork 4)         nobody holds one and waits for the other, so nobody
//!   phil 1 ◄─ … ─► phil 3         starves, whatever the order in which forks are named
//! ```

use motet::{Dispatcher, JoinedReceive, Port, QueueConfig};

struct Fork;

fn main() {
    const PHILOSOPHERS: usize = 5;
    const MEALS: usize = 2_000;
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("table"));
    let forks: Vec<Port<Fork>> = (0..PHILOSOPHERS).map(|_| Port::new()).collect();
    let meals: Vec<Port<()>> = (0..PHILOSOPHERS).map(|_| Port::new()).collect();

    for seat in 0..PHILOSOPHERS {
        let (left, right) = (
            forks[seat].clone(),
            forks[(seat + 1) % PHILOSOPHERS].clone(),
        );
        let eaten = meals[seat].clone();
        let (left_again, right_again) = (left.clone(), right.clone());
        JoinedReceive::persistent((&left, &right), move |(l, r): (Fork, Fork)| {
            if eaten.item_count() < MEALS {
                eaten.post(()).expect("nobody refuses");
                left_again.post(l).expect("the queue is open");
                right_again.post(r).expect("the queue is open");
            } else {
                // Has had enough: passes the forks on to the neighbours, who may still be hungry.
                right_again.post(r).expect("the queue is open");
                left_again.post(l).expect("the queue is open");
            }
        })
        .activate(&queue)
        .expect("the queue is open");
    }
    dispatcher.wait_idle();
    for fork in &forks {
        fork.post(Fork).expect("the queue is open");
    }
    // Forks go round for ever, so somebody has to stop it when all have had enough.
    while meals.iter().any(|eaten| eaten.item_count() < MEALS) {
        std::thread::yield_now();
    }
    let unstarted = dispatcher.stop();
    // A meal that had not begun gives its forks back to the table.
    unstarted.into_iter().for_each(motet::Task::cleanup);

    let on_the_table: usize = forks.iter().map(Port::item_count).sum();
    let eaten: Vec<usize> = meals.iter().map(Port::item_count).collect();
    println!("meals eaten: {eaten:?}; forks on the table: {on_the_table}");
    assert!(eaten.iter().all(|&meals| meals == MEALS));
    assert_eq!(on_the_table, PHILOSOPHERS, "no fork was lost");
}
