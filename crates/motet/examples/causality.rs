//! Orders that pass through many handlers: what fails, what is reported and what is given up belongs
//! to an order, wherever its work is.
//!
//! ```text
//!  order 0 ─┐             ┌──► paint ─┐
//!  order 1  ├─► (orders) ─┤           ├─ join ─► pack ─► "packed" to the order's progress port
//!  order n ─┘             └──► label ─┘
//!                              │ out of labels: a panic ──► the order's exception port
//!                              ▼
//!                   order cancelled: its work that has not begun does not begin
//! ```

use motet::{
    Causality, CausalityPorts, Dispatcher, Exception, JoinedReceive, Port, QueueConfig, Receive,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const ORDERS: u32 = 40;

fn main() {
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("workshop"));
    let (orders, painted, labelled) = (Port::new(), Port::new(), Port::new());
    // Brushes belong to nobody: they carry no causalities from one order to the next.
    let brushes = Port::for_tokens();
    let begun = Arc::new(AtomicU32::new(0));

    let (to_paint, to_label) = (Port::new(), Port::new());
    let (paint, label, count) = (to_paint.clone(), to_label.clone(), Arc::clone(&begun));
    Receive::persistent(&orders, move |order: u32| {
        count.fetch_add(1, Ordering::Relaxed);
        paint.post(order).expect("the queue is open");
        label.post(order).expect("the queue is open");
    })
    .activate(&queue)
    .expect("the queue is open");

    let (out, back) = (painted.clone(), brushes.clone());
    JoinedReceive::persistent(&brushes, &to_paint, move |brush: &str, order: u32| {
        back.post(brush).expect("the queue is open");
        out.post(order).expect("the queue is open");
    })
    .activate(&queue)
    .expect("the queue is open");

    let out = labelled.clone();
    Receive::persistent(&to_label, move |order: u32| {
        assert!(order % 10 != 7, "out of labels for order {order}");
        out.post(order).expect("the queue is open");
    })
    .activate(&queue)
    .expect("the queue is open");

    // The packer knows nothing of customers; the causality does.
    JoinedReceive::persistent(&painted, &labelled, |_: u32, _: u32| {
        Causality::coordinate("packed").expect("every order has a progress port");
    })
    .activate(&queue)
    .expect("the queue is open");

    brushes.post("the only brush").expect("the queue is open");
    dispatcher.wait_idle();

    let (failures, progress) = (Port::<Exception>::new(), Port::<&str>::new());
    let day = Causality::new("monday")
        .exception_port(&failures)
        .coordination_port(&progress)
        .skipping_unstarted();
    queue.suspend();
    day.run(|| (0..ORDERS / 2).for_each(|order| orders.post(order).expect("the queue is open")));
    // The second half is an order of its own, inside the day, and is called off.
    let wholesale = day.run(|| Causality::new("wholesale"));
    wholesale.run(|| {
        (ORDERS / 2..ORDERS).for_each(|order| orders.post(order).expect("the queue is open"));
    });
    assert!(wholesale.cancel("the customer has left"));
    queue.resume();
    dispatcher.wait_idle();

    let (failed, packed) = (failures.item_count(), progress.item_count());
    println!(
        "{failed} failed, {packed} packed, {} begun",
        begun.load(Ordering::Relaxed)
    );
    let failure = failures.test().expect("orders 7 and 17 have no label");
    assert_eq!(failure.causality(), Some("monday"));
    assert!(failure.message().starts_with("out of labels"));
    assert_eq!(failed, 2);
    // Two painted orders wait for labels that will not come, and the others pair in their order.
    assert_eq!(packed, 18);
    assert_eq!(
        begun.load(Ordering::Relaxed),
        ORDERS / 2,
        "the cancelled half did not begin"
    );
    assert_eq!(brushes.items(), ["the only brush"]);
    assert!(Causality::active().is_empty(), "all scopes have been left");
}
