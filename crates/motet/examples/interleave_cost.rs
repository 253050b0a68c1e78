//! What an interleave costs: concurrent work beside plain receives, and the hand-over of exclusive work.
//!
//! ```text
//!   token ──► port ──► handler ──► port ──► …     the same program twice: plain, and in a group
//! ```
//!
//! Both forms run in turn, in one process, many short times; the medians are compared. Run it with the number
//! of rounds: `cargo run --release -p motet --example interleave_cost 200`.

use motet::{Dispatcher, DispatcherQueue, Interleave, Port, QueueConfig, Receive};
use std::time::Instant;

/// Where the tokens go.
#[derive(Clone, Copy)]
enum Ports {
    /// Each of them to a port of its own.
    Own,
    /// All to one.
    Shared,
}

/// Who handles them.
#[derive(Clone, Copy)]
enum Form {
    Plain,
    Concurrent,
    Exclusive,
}

/// Nanoseconds per handler run, of `tokens` that go round.
fn round(
    dispatcher: &Dispatcher,
    queue: &DispatcherQueue,
    form: Form,
    ports: Ports,
    tokens: u32,
) -> f64 {
    let laps = 40_000 / tokens;
    let count = match ports {
        Ports::Own => tokens,
        Ports::Shared => 1,
    };
    let ports: Vec<Port<u32>> = (0..count).map(|_| Port::new()).collect();
    let end = Port::new();
    let mut interleave = Interleave::new();
    for port in &ports {
        let (next, arrived) = (port.clone(), end.clone());
        let receive = Receive::persistent(port, move |left: u32| {
            let to = if left > 0 { &next } else { &arrived };
            to.post(left.saturating_sub(1)).expect("the queue is open");
        });
        match form {
            Form::Plain => drop(receive.activate(queue).expect("the queue is open")),
            Form::Concurrent => interleave = interleave.concurrent(receive),
            Form::Exclusive => interleave = interleave.exclusive(receive),
        }
    }
    interleave.activate(queue).expect("the queue is open");
    dispatcher.wait_idle();
    let start = Instant::now();
    for token in 0..tokens as usize {
        ports[token % ports.len()]
            .post(laps)
            .expect("the queue is open");
    }
    dispatcher.wait_idle();
    let elapsed = start.elapsed();
    assert_eq!(end.item_count(), tokens as usize, "every token has arrived");
    elapsed.as_secs_f64() * 1e9 / f64::from(tokens * (laps + 1))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let rounds: usize = std::env::args()
        .nth(1)
        .map_or(3, |arg| arg.parse().expect("a number of rounds"));
    println!("threads tokens ports  plain_ns  concurrent_ns  throughput  exclusive_ns");
    for threads in [1, 2] {
        for (tokens, ports, name) in [
            (1, Ports::Own, "own"),
            (2, Ports::Own, "own"),
            (64, Ports::Own, "own"),
            (64, Ports::Shared, "shared"),
        ] {
            let dispatcher = Dispatcher::new(threads);
            let queue = dispatcher.queue(QueueConfig::default());
            let run = |form| round(&dispatcher, &queue, form, ports, tokens);
            let (mut plain, mut concurrent, mut exclusive, mut ratios) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for _ in 0..rounds {
                let one = run(Form::Plain);
                let other = run(Form::Concurrent);
                let again = run(Form::Plain);
                ratios.push((one + again) / 2.0 / other);
                plain.extend([one, again]);
                concurrent.push(other);
                exclusive.push(run(Form::Exclusive));
            }
            println!(
                "{threads:7} {tokens:6} {name:6} {:9.0} {:14.0} {:11.2} {:13.0}",
                median(plain),
                median(concurrent),
                median(ratios),
                median(exclusive)
            );
        }
    }
}
