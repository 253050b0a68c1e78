//! Many posters, one port: what a port bears that threads outside the dispatcher fill.
//!
//! Question: how many items a second go from eight threads through one port to its handler?
//! Definition: items over the time from the start of the posters to the end of the last handler. The
//! port has a persistent receive on a dispatcher, as a user would write it; the peer is
//! crossbeam's unbounded channel with as many receiving threads. Threats: ten threads on few cores: the
//! system's time slices decide much.

use crate::contest::{Bar, Contest};
use crate::peers::crossbeam;
use motet_dispatch::{Dispatcher, QueueConfig};
use motet_ports::{Port, Receive};
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::{CachePadded, thread};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const POSTERS: u64 = 8;
const WORKERS: usize = 2;

/// The rows.
pub(crate) fn contests(items: u64) -> Vec<Contest> {
    let throughput = move |run: fn(u64) -> Result<(Duration, u64), String>| {
        let (time, sum) = run(items)?;
        if sum == items * (items - 1) / 2 {
            Ok(items as f64 / time.as_secs_f64() / 1e6)
        } else {
            Err(format!("the items add up to {sum}"))
        }
    };
    vec![Contest {
        row: format!("{POSTERS} posters, one port"),
        unit: "million items a second",
        motet: Box::new(move || throughput(port)),
        peers: vec![("crossbeam", Box::new(move || throughput(channel)))],
        bars: vec![Bar::AtLeastTimes(1.0, "crossbeam")],
        limit: None,
    }]
}

fn channel(items: u64) -> Result<(Duration, u64), String> {
    crossbeam::channel(POSTERS, WORKERS, items)
}

/// What the handlers add up; each thread of the dispatcher mostly has one to itself.
#[derive(Default)]
struct Sum {
    handled: AtomicU64,
    sum: AtomicU64,
}

fn port(items: u64) -> Result<(Duration, u64), String> {
    let dispatcher = Dispatcher::new(WORKERS);
    let queue = dispatcher.queue(QueueConfig::named("posters"));
    let (tell, told) = mpsc::channel();
    let port = Port::new();
    let sum: Arc<CachePadded<Sum>> = Arc::default();
    let total = Arc::clone(&sum);
    Receive::persistent(&port, move |item: u64| {
        total.sum.fetch_add(item, Ordering::Relaxed);
        if total.handled.fetch_add(1, Ordering::AcqRel) + 1 == items {
            let _ = tell.send(());
        }
    })
    .activate(&queue)
    .map_err(|error| error.to_string())?;
    dispatcher.wait_idle();
    let started = Instant::now();
    for poster in 0..POSTERS {
        let port = port.clone();
        thread::spawn(move || {
            for item in (poster..items).step_by(POSTERS as usize) {
                port.post(item).expect("the queue is open");
            }
        });
    }
    told.recv()
        .map_err(|_| "the handlers ended before the last item".to_owned())?;
    Ok((started.elapsed(), sum.sum.load(Ordering::Relaxed)))
}
