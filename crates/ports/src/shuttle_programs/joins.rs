//! Joins on shared ports, named in opposite order, while items come from two threads.

use super::check;
use crate::{JoinedReceive, Port};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;

const PAIRS: usize = 3;

#[test]
fn shuttle_sem_g08_ccr_056_joins_in_opposite_order() {
    check(|queue| {
        let (left, right) = (Port::new(), Port::new());
        let (pairs, sum) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let handler = || {
            let (pairs, sum) = (Arc::clone(&pairs), Arc::clone(&sum));
            move |(one, other): (usize, usize)| {
                sum.fetch_add(one + other, Ordering::SeqCst);
                pairs.fetch_add(1, Ordering::SeqCst);
            }
        };
        let joins = [
            JoinedReceive::persistent((&left, &right), handler()).activate(queue),
            JoinedReceive::persistent((&right, &left), handler()).activate(queue),
        ];
        let posters = [(left.clone(), 1), (right.clone(), 100)].map(|(port, unit)| {
            thread::spawn(move || {
                (0..PAIRS).for_each(|_| port.post(unit).expect("a port without limit"));
            })
        });
        for poster in posters {
            poster.join().expect("posting does not panic");
        }
        while pairs.load(Ordering::SeqCst) < PAIRS {
            thread::yield_now();
        }
        for join in joins {
            join.expect("the queue runs").cleanup();
        }
        assert_eq!(sum.load(Ordering::SeqCst), PAIRS * 101, "one of each port");
        assert_eq!(left.item_count() + right.item_count(), 0);
    });
}
