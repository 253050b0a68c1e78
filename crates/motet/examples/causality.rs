//! Orders that pass through many handlers on many threads. What fails, what is reported and what is
//! given up belongs to an order, wherever its work is.
//!
//! ```text
//!   (brushes) ─┐
//!   (orders) ──┴─ join ─► paint ─► (painted) ─► label ─► "labelled" to the day's progress port
//!                                                 │ out of labels: a panic
//!                                                 └────► the order, then the day's exception port
//!   a wholesaler's orders, called off: their work that has not begun does not begin
//! ```

use motet::{
    Causality, CausalityPorts, Dispatcher, DispatcherQueue, Exception, JoinedReceive, Port,
    QueueConfig, Receive,
};

const ORDERS: u32 = 20;

/// A workshop that knows nothing of customers: each item's causalities do.
struct Workshop {
    orders: Port<u32>,
    brushes: Port<&'static str>,
}

fn open_workshop(queue: &DispatcherQueue) -> Workshop {
    let (orders, painted) = (Port::new(), Port::new());
    // Brushes belong to nobody: they carry no causalities from one order to the next.
    let brushes = Port::for_tokens();
    let (out, back) = (painted.clone(), brushes.clone());
    JoinedReceive::persistent((&brushes, &orders), move |(brush, order): (_, u32)| {
        back.post(brush).expect("the queue is open");
        out.post(order).expect("the queue is open");
    })
    .activate(queue)
    .expect("the queue is open");
    Receive::persistent(&painted, |order: u32| {
        assert!(order % 10 != 7, "out of labels");
        Causality::coordinate(order).expect("every order has a progress port");
    })
    .activate(queue)
    .expect("the queue is open");
    brushes.post("the only brush").expect("the queue is open");
    Workshop { orders, brushes }
}

/// Posts each order under a causality of its own, inside those that are active.
fn order(workshop: &Workshop, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let one = Causality::new(&format!("order {number}"));
        // An order hears of its failure first, and hands it on to the day.
        one.on_exception(move |exception| {
            eprintln!("order {number} failed");
            Err(exception)
        })
        .run(|| workshop.orders.post(number))
        .expect("the queue is open");
    }
}

fn main() {
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("workshop"));
    let workshop = open_workshop(&queue);
    dispatcher.wait_idle();

    let (failures, progress) = (Port::<Exception>::new(), Port::<u32>::new());
    let day = Causality::new("monday")
        .exception_port(&failures)
        .coordination_port(&progress)
        .skipping_unstarted();
    let wholesaler = day.run(|| Causality::new("wholesaler"));
    queue.suspend();
    wholesaler.run(|| order(&workshop, 100..100 + ORDERS));
    day.run(|| order(&workshop, 0..ORDERS));
    assert!(wholesaler.cancel("the customer has left"));
    queue.resume();
    dispatcher.wait_idle();

    let mut labelled = progress.items();
    labelled.sort_unstable();
    let failed: Vec<Exception> = std::iter::from_fn(|| failures.test()).collect();
    println!("labelled: {labelled:?}");
    failed
        .iter()
        .for_each(|failure| println!("failed: {failure}"));
    let expected: Vec<u32> = (0..ORDERS).filter(|order| order % 10 != 7).collect();
    assert_eq!(labelled, expected, "and none of the wholesaler's");
    assert_eq!(failed.len(), 2);
    assert!(
        failed
            .iter()
            .all(|failure| failure.causality() == Some("monday"))
    );
    assert_eq!(
        workshop.brushes.items(),
        ["the only brush"],
        "it came back each time"
    );
    assert!(Causality::active().is_empty(), "all scopes have been left");
}
