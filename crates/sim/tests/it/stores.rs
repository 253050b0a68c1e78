//! What chooses an item of a store, and the store itself.

use motet_sim::{Simulation, Store};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Waker};

/// Three items come, one at a time. What `chooses` takes, and when.
fn chosen(chooses: impl AsyncFn(&Store<u32>) -> u32 + 'static) -> (u64, u32) {
    let simulation = Simulation::new(1);
    let shelf = simulation.store("shelf", 4);
    let (full, found) = (shelf.clone(), Rc::new(RefCell::new(None)));
    simulation.spawn("maker", async move |sim| {
        for item in [3, 1, 2] {
            sim.sleep(1).await;
            full.put(item).await;
        }
    });
    let taken = Rc::clone(&found);
    simulation.spawn("buyer", async move |sim| {
        let item = chooses(&shelf).await;
        *taken.borrow_mut() = Some((sim.now(), item));
    });
    simulation.run().unwrap();
    found.take().unwrap()
}

#[test]
fn sem_g186_what_chooses_an_item_may_look_at_the_store() {
    let third = chosen(async |shelf| {
        let own = shelf.clone();
        // Also what is made and not awaited.
        let wanted = move |item: &u32| {
            drop((own.put(7), own.get(), format!("{own:?}")));
            own.len() == 3 && !own.is_empty() && *item == 1
        };
        shelf.get_where(wanted).await
    });
    assert_eq!(third, (3, 1));
    let first = chosen(async |shelf| {
        let own = shelf.clone();
        shelf.get_least(move |item| (own.len(), *item)).await
    });
    assert_eq!(first, (1, 3));
}

#[test]
fn sem_g186_what_chooses_an_item_and_changes_the_store_is_told_so() {
    let run = || {
        chosen(async |shelf| {
            let own = shelf.clone();
            let wanted = move |_: &u32| {
                let mut context = Context::from_waker(Waker::noop());
                pin!(own.put(7)).poll(&mut context).is_ready()
            };
            shelf.get_where(wanted).await
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    let begin = "what chooses an item of shelf changes it: it may only look at it";
    assert!(message.starts_with(begin), "{message}");
}

/// A future that waits.
fn waiting<F: Future + Unpin>(mut future: F) -> F {
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    future
}

#[test]
fn sem_g186_what_chooses_an_item_may_drop_what_waits_for_the_store() {
    // Two that were given items: they are there again, and the one that is wanted is the buyer's.
    let given = chosen(async |shelf| {
        let gets = (waiting(shelf.get()), waiting(shelf.get()));
        let gets = RefCell::new(Some(gets));
        let wanted = move |item: &u32| {
            drop(gets.take());
            *item == 3
        };
        shelf.get_where(wanted).await
    });
    assert_eq!(given, (3, 3));
    // Two that stand before the buyer in line.
    let ahead = chosen(async |shelf| {
        let gets = [9, 8].map(|none| waiting(shelf.get_where(move |item| *item == none)));
        let gets = RefCell::new(Some(gets));
        let key = move |item: &u32| {
            drop(gets.take());
            *item
        };
        shelf.get_least(key).await
    });
    assert_eq!(ahead, (1, 3));
}

#[test]
fn sem_g186_what_chooses_an_item_may_drop_who_waits_for_room() {
    let simulation = Simulation::new(1);
    let shelf = simulation.store("shelf", 1);
    let full = shelf.clone();
    let buyer = simulation.spawn("buyer", async move |_| {
        full.put(1).await;
        let puts = RefCell::new(Some([2, 3].map(|item| waiting(full.put(item)))));
        let wanted = move |_: &u32| {
            drop(puts.take());
            true
        };
        full.get_where(wanted).await
    });
    let item = Rc::new(RefCell::new(None));
    let bought = Rc::clone(&item);
    simulation.spawn("who asks", async move |_| {
        let got = buyer.await;
        *bought.borrow_mut() = Some(got);
    });
    simulation.run().unwrap();
    assert_eq!((item.take(), shelf.is_empty()), (Some(1), true));
}
