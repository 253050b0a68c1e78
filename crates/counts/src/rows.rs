//! The rows: one function per path through the core, alone and uncontended.

use crate::span::{STEPS, StepCounter, in_turn};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, Inline, QueueConfig, Task};
use motet_ports::{Choice, Interleave, JoinedReceive, Port, Receive};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// A row sets itself up, warms up and takes its steps.
pub(crate) type CountRow = fn();

/// The rows, by name.
pub(crate) const ROWS: &[(&str, CountRow)] = &[
    ("post-test", post_test),
    ("receive-inline", receive_inline),
    ("receive-worker", || on_worker(receive)),
    ("join-inline", join_inline),
    ("join-worker", || on_worker(join)),
    ("choice-worker", || on_worker(choice)),
    ("enqueue-pop", enqueue_pop),
    ("enqueue-steal", enqueue_steal),
    ("interleave-concurrent", || on_worker(concurrent)),
    ("interleave-hand-over", || on_worker(hand_over)),
];

/// An item waits in a port without receivers and is taken out again.
fn post_test() {
    let port = Port::new();
    in_turn(|n| {
        post(&port, n);
        black_box(port.test());
    });
}

/// A post runs a handler on the spot.
fn receive_inline() {
    let (port, queue) = (Port::new(), Inline::new("counts"));
    Receive::persistent(&port, |n: u64| {
        black_box(n);
    })
    .activate(&queue)
    .expect("the queue is open");
    in_turn(|n| post(&port, n));
}

/// Two posts run the handler of a join on the spot.
fn join_inline() {
    let (a, b, queue) = (Port::new(), Port::new(), Inline::new("counts"));
    JoinedReceive::persistent((&a, &b), |items: (u64, u64)| {
        black_box(items);
    })
    .activate(&queue)
    .expect("the queue is open");
    in_turn(|n| {
        post(&a, n);
        post(&b, n);
    });
}

/// What the handlers of a row on a worker need.
struct Stand {
    queue: DispatcherQueue,
    a: Port<u64>,
    b: Port<u64>,
    steps: StepCounter,
}

/// Runs a row whose handlers start one another on the one worker of a dispatcher: it never sleeps
/// between two of them.
fn on_worker(row: fn(&Arc<Stand>)) {
    let dispatcher = Dispatcher::new(1);
    let (steps, ended) = StepCounter::new();
    let stand = Arc::new(Stand {
        queue: dispatcher.queue(QueueConfig::named("counts")),
        a: Port::new(),
        b: Port::new(),
        steps,
    });
    row(&stand);
    dispatcher.wait_idle();
    post(&stand.a, 0);
    wait_for(&ended);
}

/// A handler posts to its own port.
fn receive(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    Receive::persistent(&stand.a, move |n| {
        if here.steps.go_on() {
            post(&here.a, n + 1);
        }
    })
    .activate(&stand.queue)
    .expect("the queue is open");
}

/// A join's handler posts to both of its ports.
fn join(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    JoinedReceive::persistent((&stand.a, &stand.b), move |(first, second)| {
        if here.steps.go_on() {
            post(&here.a, first + 1);
            post(&here.b, second + 1);
        }
    })
    .activate(&stand.queue)
    .expect("the queue is open");
    post(&stand.b, 0);
}

/// A choice between two ports is made, decided and handled; its handler makes the next.
fn choice(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    Choice::new()
        .or(Receive::once(&stand.a, move |n| {
            if here.steps.go_on() {
                choice(&here);
                post(&here.a, n + 1);
            }
        }))
        .or(Receive::once(&stand.b, |_| ()))
        .activate(&stand.queue)
        .expect("the queue is open");
}

/// A concurrent handler of an interleave posts to its own port.
fn concurrent(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    let member = Receive::persistent(&stand.a, move |n| {
        if here.steps.go_on() {
            post(&here.a, n + 1);
        }
    });
    let interleave = Interleave::new().concurrent(member);
    interleave
        .activate(&stand.queue)
        .expect("the queue is open");
}

/// A concurrent handler posts to an exclusive one and that back: every step hands over twice.
fn hand_over(stand: &Arc<Stand>) {
    let (reader, writer) = (Arc::clone(stand), Arc::clone(stand));
    Interleave::new()
        .concurrent(Receive::persistent(&stand.a, move |n| post(&reader.b, n)))
        .exclusive(Receive::persistent(&stand.b, move |n| {
            if writer.steps.go_on() {
                post(&writer.a, n + 1);
            }
        }))
        .activate(&stand.queue)
        .expect("the queue is open");
}

/// A task queues the next one, which the same worker takes.
fn enqueue_pop() {
    fn step(queue: &DispatcherQueue, steps: &Arc<StepCounter>) {
        if steps.go_on() {
            let (next, steps) = (queue.clone(), Arc::clone(steps));
            let task = Task::new(move || step(&next, &steps));
            queue.enqueue(task).expect("the queue is open");
        }
    }
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("counts"));
    let (steps, ended) = StepCounter::new();
    let steps = Arc::new(steps);
    let next = queue.clone();
    let first = Task::new(move || step(&next, &steps));
    queue.enqueue(first).expect("the queue is open");
    wait_for(&ended);
}

/// A worker queues tasks and then blocks; another one, which is held until all are there, steals
/// and runs them.
fn enqueue_steal() {
    let dispatcher = Dispatcher::new(2);
    let queue = dispatcher.queue(QueueConfig::named("counts"));
    let (steps, ended) = StepCounter::new();
    let steps = Arc::new(steps);
    let (hold, held) = channel();
    let (let_go, goes) = channel();
    let thief = Task::new(move || {
        hold.send(()).expect("the caller waits");
        wait_for(&goes);
    });
    queue.enqueue(thief).expect("the queue is open");
    wait_for(&held);
    let (tell, told) = channel();
    let stolen = queue.clone();
    let owner = Task::new(move || {
        // The first stays with its worker, for which it is the next one.
        for _ in 0..=2 * STEPS {
            let steps = Arc::clone(&steps);
            let task = Task::new(move || {
                steps.go_on();
            });
            stolen.enqueue(task).expect("the queue is open");
        }
        let_go.send(()).expect("the thief waits");
        wait_for(&ended);
        tell.send(()).expect("the caller waits");
    });
    queue.enqueue(owner).expect("the queue is open");
    wait_for(&told);
}

fn wait_for(ended: &Receiver<()>) {
    ended.recv().expect("the other thread tells");
}

fn post(port: &Port<u64>, item: u64) {
    port.post(item).expect("the queue is open");
}
