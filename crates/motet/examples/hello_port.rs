//! The smallest program: two items in a port, a handler that starts for each.
//!
//! ```text
//!  main ── post ──► (numbers) ──► Receive ──► handler ── post ──► (squares) ──► main
//! ```

use motet::{Dispatcher, Port, QueueConfig, Receive};

fn main() {
    // Two threads, and a queue of tasks that they serve.
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("work"));

    let (numbers, squares) = (Port::new(), Port::new());
    // Items may come before anybody receives them: they wait in their port.
    numbers.post(3_u64).expect("nobody refuses");

    let out = squares.clone();
    Receive::persistent(&numbers, move |n: u64| {
        out.post(n * n).expect("nobody refuses")
    })
    .activate(&queue)
    .expect("the queue is open");
    numbers.post(4).expect("the queue is open");

    // Until nothing is queued and nothing runs.
    dispatcher.wait_idle();
    let mut got = squares.items();
    // Two handlers may run at once and end in any order.
    got.sort_unstable();
    println!("the squares of 3 and 4 are {got:?}");
    assert_eq!(got, [9, 16]);
}
