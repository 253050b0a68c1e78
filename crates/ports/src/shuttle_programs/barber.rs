//! Sleeping barber: customers wait on a few chairs or leave when none is free. The barber serves
//! one after the other and sleeps when nobody waits. Free chairs are items of a port, the barber is
//! one too; a customer who finds no chair takes nothing.

use super::check;
use crate::{JoinedReceive, Port};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;

const CHAIRS: usize = 2;
const CUSTOMERS: usize = 3;
const DOORS: usize = 2;

/// The token of whoever may cut hair.
struct Barber;

#[test]
fn shuttle_sem_g02_sleeping_barber() {
    check(|queue| {
        let (chairs, waiting, barber) = (Port::new(), Port::<usize>::new(), Port::new());
        let served = Arc::new(AtomicUsize::new(0));
        let cutting = Arc::new(AtomicUsize::new(0));
        (0..CHAIRS).for_each(|chair| chairs.post(chair).expect("a port without limit"));
        barber.post(Barber).expect("a port without limit");
        let (free, next, count) = (chairs.clone(), barber.clone(), Arc::clone(&served));
        JoinedReceive::persistent((&waiting, &barber), move |(chair, barber)| {
            free.post(chair).expect("a port without limit");
            assert_eq!(cutting.fetch_add(1, Ordering::SeqCst), 0, "one barber");
            thread::yield_now();
            cutting.fetch_sub(1, Ordering::SeqCst);
            count.fetch_add(1, Ordering::SeqCst);
            next.post(barber).expect("a port without limit");
        })
        .activate(queue)
        .expect("the queue runs");
        let doors = [(); DOORS].map(|()| {
            let (chairs, waiting) = (chairs.clone(), waiting.clone());
            thread::spawn(move || {
                let sits = |_: &usize| match chairs.test() {
                    Some(chair) => {
                        waiting.post(chair).expect("a port without limit");
                        true
                    }
                    None => false,
                };
                (0..CUSTOMERS).filter(sits).count()
            })
        });
        let stayed: usize = doors
            .map(|door| door.join().expect("customers do not panic"))
            .into_iter()
            .sum();
        assert!(stayed >= CHAIRS, "as many as there are chairs find one");
        while served.load(Ordering::SeqCst) < stayed || barber.item_count() == 0 {
            thread::yield_now();
        }
        assert_eq!(chairs.item_count(), CHAIRS, "every chair is free again");
    });
}
