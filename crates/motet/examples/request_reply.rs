//! Requests that carry the port for their reply, and async handlers that wait without a thread.
//!
//! ```text
//!  client 0 ─┐                            ┌──► adder: replies with a + b
//!  client …  ├─ (a, b, reply) ► (requests)┤
//!  client n ─┘ ◄──────────── reply ───────┘    one thread serves them all
//! ```

use motet::{Dispatcher, FromHandler, Port, QueueConfig, Receive, ReplyPort, reply};

struct Request {
    a: u64,
    b: u64,
    reply: ReplyPort<u64>,
}

fn main() {
    const CLIENTS: u64 = 10_000;
    // One thread: ten thousand clients that wait hold none.
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("adder"));
    let (requests, totals) = (Port::new(), Port::new());

    for a in 0..CLIENTS {
        let (requests, totals) = (requests.clone(), totals.clone());
        FromHandler::new_async(move || async move {
            let (reply, answer) = reply();
            let request = Request { a, b: 1, reply };
            requests.post(request).expect("the queue is open");
            // Here the handler waits; its thread goes on with other tasks.
            let total = answer.await.expect("every request is answered");
            totals.post(total).expect("nobody refuses");
        })
        .activate(&queue)
        .expect("the queue is open");
    }
    dispatcher.wait_idle();
    println!(
        "{} clients wait for a reply, on one thread",
        requests.item_count()
    );
    assert_eq!(requests.item_count() as u64, CLIENTS);

    // Only now somebody answers.
    Receive::persistent(&requests, |Request { a, b, reply }| {
        reply.post(a + b).expect("the client waits");
    })
    .activate(&queue)
    .expect("the queue is open");
    dispatcher.wait_idle();

    let total: u64 = totals.items().iter().sum();
    println!("all were answered; the replies add up to {total}");
    assert_eq!(total, CLIENTS * (CLIENTS + 1) / 2);
}
