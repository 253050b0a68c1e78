//! The spawned programs: each stage is a handler that messages start (papers R052).
//!
//! A computation counts its own stages. The messages could not tell: on a ring of three and more, two
//! stages of one computation may overlap (the second needs messages of the neighbours only), and
//! then their messages may overtake each other.

use crate::program::{Pattern, Program};
use motet_dispatch::{Dispatcher, DispatcherConfig, DispatcherQueue, QueueConfig};
use motet_ports::{JoinedReceive, MultipleItemReceive, Port, Receive};
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::{CachePadded, thread};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Messages carry nothing: latency is measured, not bandwidth.
type Message = ();

/// What each handler of a computation needs.
#[derive(Clone)]
struct Computation {
    number: usize,
    program: Program,
    /// Stages begun.
    begun: Arc<CachePadded<AtomicU64>>,
    end: Port<usize>,
}

impl Computation {
    /// The computations of a program.
    fn all(program: &Program, end: &Port<usize>) -> Vec<Computation> {
        let new = |number| Computation {
            number,
            program: *program,
            begun: Arc::default(),
            end: end.clone(),
        };
        (0..program.parallel).map(new).collect()
    }

    /// One stage: computes, then posts to `next`, or to the end after the last stage.
    #[inline]
    fn stage(&self, next: &[&Port<Message>]) {
        let stage = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        self.program.unit.compute(self.program.units);
        if stage == self.program.stages {
            post(&self.end, self.number);
        } else {
            next.iter().for_each(|port| post(port, ()));
        }
    }
}

/// Runs the program; the time from the first post to the end of the final reduction. Threads that fill
/// the machine are bound to their cores, as those of worlds: two threads that the system puts on one
/// core stay there for a while.
pub(crate) fn run(program: &Program) -> Duration {
    run_pinned(program, program.threads == thread::cores())
}

/// The same with threads that are bound to their cores, or not.
pub(crate) fn run_pinned(program: &Program, pin: bool) -> Duration {
    let config = DispatcherConfig {
        threads: program.threads,
        pin,
        ..DispatcherConfig::default()
    };
    let dispatcher = Dispatcher::with(config).expect("the threads start");
    let queue = dispatcher.queue(QueueConfig::named("stages"));
    let (tell, told) = mpsc::channel();
    let end = Port::new();
    // The final reduction (papers R041): one handler gathers one message per computation.
    MultipleItemReceive::once(&end, program.parallel, move |done: Vec<usize>| {
        let _ = tell.send(done.len());
    })
    .activate(&queue)
    .expect("the queue is open");
    let time = match program.pattern {
        Pattern::Pipeline => single(program, &queue, &end, 0, &told),
        Pattern::Shift => single(program, &queue, &end, 1, &told),
        Pattern::TwoShifts => double(program, &queue, &end, &told),
        Pattern::Exchange => joined(program, &queue, &end, &told),
        Pattern::ExchangeTwoShifts => unreachable!("refused before the run"),
    };
    drop(dispatcher);
    time
}

/// One message per stage, to the port `by` places on: Pipeline and Shift.
fn single(
    program: &Program,
    queue: &DispatcherQueue,
    end: &Port<usize>,
    by: usize,
    told: &mpsc::Receiver<usize>,
) -> Duration {
    let ports = ports(program);
    for (i, computation) in Computation::all(program, end).into_iter().enumerate() {
        let next = ports[(i + by) % ports.len()].clone();
        Receive::persistent(&ports[i], move |()| computation.stage(&[&next]))
            .activate(queue)
            .expect("the queue is open");
    }
    start(program, told, || {
        ports.iter().for_each(|port| post(port, ()))
    })
}

/// Two messages per stage to the same neighbour, who takes them together: Two Shifts.
fn double(
    program: &Program,
    queue: &DispatcherQueue,
    end: &Port<usize>,
    told: &mpsc::Receiver<usize>,
) -> Duration {
    let ports = ports(program);
    for (i, computation) in Computation::all(program, end).into_iter().enumerate() {
        let next = ports[(i + 1) % ports.len()].clone();
        MultipleItemReceive::persistent(&ports[i], 2, move |_| computation.stage(&[&next, &next]))
            .activate(queue)
            .expect("the queue is open");
    }
    start(program, told, || {
        for port in &ports {
            post(port, ());
            post(port, ());
        }
    })
}

/// One message to each neighbour, one from each, joined: Exchange.
fn joined(
    program: &Program,
    queue: &DispatcherQueue,
    end: &Port<usize>,
    told: &mpsc::Receiver<usize>,
) -> Duration {
    let count = program.parallel;
    let (from_left, from_right) = (ports(program), ports(program));
    for (i, computation) in Computation::all(program, end).into_iter().enumerate() {
        // What goes to the right comes there from the left.
        let right = from_left[(i + 1) % count].clone();
        let left = from_right[(i + count - 1) % count].clone();
        let handler = move |((), ())| computation.stage(&[&left, &right]);
        JoinedReceive::persistent((&from_left[i], &from_right[i]), handler)
            .activate(queue)
            .expect("the queue is open");
    }
    start(program, told, || {
        from_left
            .iter()
            .chain(&from_right)
            .for_each(|port| post(port, ()));
    })
}

fn ports(program: &Program) -> Vec<Port<Message>> {
    (0..program.parallel).map(|_| Port::new()).collect()
}

#[inline]
fn post<T: Send>(port: &Port<T>, item: T) {
    port.post(item).expect("the queue is open");
}

fn start(program: &Program, told: &mpsc::Receiver<usize>, post: impl FnOnce()) -> Duration {
    let started = Instant::now();
    post();
    let done = told.recv().expect("the final handler tells");
    let time = started.elapsed();
    assert_eq!(
        done, program.parallel,
        "every computation has come to its end"
    );
    time
}
