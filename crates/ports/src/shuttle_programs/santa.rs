//! Santa Claus: he is woken by all the reindeer or by a group of elves, and serves one group at a
//! time. Nobody joins a group that is being served. Here Santa is an item of his own. A group is a
//! batch of one port, and being served is a join of the batch with Santa.

use super::check;
use crate::{JoinedReceive, MultipleItemReceive, Port};
use motet_dispatch::DispatcherQueue;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;

const REINDEER: usize = 3;
const GROUP: usize = 2;
const ELVES: usize = 4;

/// He is at home in his port, or with one group.
struct Santa;

/// Lets `size` who come to `door` together wait for Santa; counts the groups that he has served.
fn serve(
    queue: &DispatcherQueue,
    door: &Port<usize>,
    size: usize,
    home: &Port<Santa>,
    busy: &Arc<AtomicUsize>,
) -> Arc<AtomicUsize> {
    let served = Arc::new(AtomicUsize::new(0));
    let groups = Port::new();
    let group = groups.clone();
    MultipleItemReceive::persistent(door, size, move |members: Vec<usize>| {
        group.post(members).expect("a port without limit");
    })
    .activate(queue)
    .expect("the queue runs");
    let (home_again, count, busy) = (home.clone(), Arc::clone(&served), Arc::clone(busy));
    let keeps = groups.clone();
    JoinedReceive::persistent((&groups, home), move |(members, santa): (Vec<usize>, _)| {
        let _kept = &keeps;
        assert_eq!(members.len(), size);
        assert_eq!(
            busy.fetch_add(1, Ordering::SeqCst),
            0,
            "one group at a time"
        );
        thread::yield_now();
        busy.fetch_sub(1, Ordering::SeqCst);
        count.fetch_add(1, Ordering::SeqCst);
        home_again.post(santa).expect("a port without limit");
    })
    .activate(queue)
    .expect("the queue runs");
    served
}

#[test]
fn shuttle_sem_g09_santa_claus() {
    check(|queue| {
        let (home, stable, workshop) = (Port::new(), Port::new(), Port::new());
        let busy = Arc::new(AtomicUsize::new(0));
        let sleigh = serve(queue, &stable, REINDEER, &home, &busy);
        let help = serve(queue, &workshop, GROUP, &home, &busy);
        home.post(Santa).expect("a port without limit");
        let comers =
            [(stable.clone(), REINDEER), (workshop.clone(), ELVES)].map(|(door, count)| {
                thread::spawn(move || {
                    (0..count).for_each(|who| door.post(who).expect("a port without limit"));
                })
            });
        for comer in comers {
            comer.join().expect("posting does not panic");
        }
        let counts = || [&sleigh, &help].map(|count| count.load(Ordering::SeqCst));
        while counts() != [1, ELVES / GROUP] || home.item_count() == 0 {
            thread::yield_now();
        }
        assert_eq!(stable.item_count() + workshop.item_count(), 0);
    });
}
