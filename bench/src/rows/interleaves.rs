//! Interleaves: what it costs that handlers could be kept apart.
//!
//! Question: how much slower are handlers as the concurrent members of an interleave that has
//! nothing exclusive to do? How dear is the hand-over from one exclusive handler to the next?
//! Definition: tokens that go round, each to a port of its own whose handler posts it again, on two
//! threads; handlers run over the time. Compared with plain receives on the same ports. Threats:
//! with exclusive members one thread of two has nothing to do, which the plain receives' other
//! thread has.

use crate::contest::{Bar, Contest};
use crate::said::Said;
use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};
use motet_ports::{Interleave, Port, Receive};
use std::time::Instant;

const THREADS: usize = 2;
const TOKENS: u64 = 64;

/// What the receives are.
#[derive(Clone, Copy)]
enum Form {
    Plain,
    Concurrent,
    Exclusive,
}

/// The rows.
pub(crate) fn contests(laps: u64) -> Vec<Contest> {
    let row = |name: &str, form: Form| {
        let name = format!("interleave, {name}");
        let motet = move || throughput(form, laps);
        Contest::new(name, "million handlers a second", motet)
            .beside("plain receives", move || throughput(Form::Plain, laps))
    };
    let bar = Bar::AtLeastTimes(0.9, "plain receives");
    vec![
        row("only concurrent work", Form::Concurrent).bar(bar),
        row("only exclusive work", Form::Exclusive),
    ]
}

/// Millions of handler runs a second.
fn throughput(form: Form, laps: u64) -> Result<f64, String> {
    let dispatcher = Dispatcher::new(THREADS);
    let queue = dispatcher.queue(QueueConfig::named("interleaves"));
    let ports: Vec<Port<u64>> = (0..TOKENS).map(|_| Port::new()).collect();
    let end = Port::new();
    activate(form, &ports, &end, &queue)?;
    dispatcher.wait_idle();
    let started = Instant::now();
    for port in &ports {
        port.post(laps).said()?;
    }
    dispatcher.wait_idle();
    let time = started.elapsed();
    match end.item_count() as u64 {
        TOKENS => Ok((TOKENS * (laps + 1)) as f64 / time.as_secs_f64() / 1e6),
        arrived => Err(format!("{arrived} of {TOKENS} tokens have arrived")),
    }
}

fn activate(
    form: Form,
    ports: &[Port<u64>],
    end: &Port<u64>,
    queue: &DispatcherQueue,
) -> Result<(), String> {
    let mut interleave = Interleave::new();
    for port in ports {
        let (next, arrived) = (port.clone(), end.clone());
        let receive = Receive::persistent(port, move |left: u64| {
            let to = if left > 0 { &next } else { &arrived };
            to.post(left.saturating_sub(1)).expect("the queue is open");
        });
        match form {
            Form::Plain => {
                receive.activate(queue).said()?;
            }
            Form::Concurrent => interleave = interleave.concurrent(receive),
            Form::Exclusive => interleave = interleave.exclusive(receive),
        }
    }
    let active = interleave.activate(queue);
    active.map(drop).said()
}
