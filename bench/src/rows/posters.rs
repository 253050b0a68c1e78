//! Many posters, one port: what a port bears that threads outside the dispatcher fill.
//!
//! Question: how many items a second go from eight threads through one port? Definition: items over
//! the time from the start of the posters to the end of the last item. A port is used in two ways:
//! - as a channel, by two tasks that take its items with `recv`, which is what a channel with two
//!   receiving threads is compared with;
//! - with a persistent receive, where each item starts a handler, which is more than a channel does
//!   and has no bar.
//!
//! Threats: ten threads on few cores: the system's time slices decide much.

use crate::contest::{Bar, Contest};
use crate::peers::crossbeam;
use crate::said::Said;
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
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
    let row = |way: &str, run: fn(u64) -> Result<(Duration, u64), String>| {
        let name = format!("{POSTERS} posters, one port, {way}");
        Contest::new(name, "million items a second", move || throughput(run))
            .beside("crossbeam", move || throughput(channel))
    };
    vec![
        row("recv", takers).bar(Bar::AtLeastTimes(1.0, "crossbeam")),
        row("a handler each", handlers),
    ]
}

fn channel(items: u64) -> Result<(Duration, u64), String> {
    crossbeam::channel(POSTERS, WORKERS, items)
}

/// No item, but the end of a task that takes them.
const END: u64 = u64::MAX;

/// Two tasks take what the posters post.
fn takers(items: u64) -> Result<(Duration, u64), String> {
    let dispatcher = Dispatcher::new(WORKERS);
    let queue = dispatcher.queue(QueueConfig::named("posters")).handle();
    let (tell, told) = mpsc::channel();
    let port: Port<u64> = Port::new();
    for _ in 0..WORKERS {
        let (port, tell) = (port.clone(), tell.clone());
        let taker = async move {
            let mut sum = 0;
            loop {
                match port.recv().await {
                    END => break,
                    item => sum += item,
                }
            }
            let _ = tell.send(sum);
        };
        spawn(&queue, taker).said()?;
    }
    dispatcher.wait_idle();
    let started = Instant::now();
    for poster in post_all(&port, items) {
        poster.join().map_err(|_| "a poster panicked".to_owned())?;
    }
    (0..WORKERS).for_each(|_| {
        port.post(END)
            .expect("a port without a queue refuses nothing")
    });
    drop(tell);
    let sum = told.iter().sum();
    Ok((started.elapsed(), sum))
}

/// What the handlers have added up.
#[derive(Default)]
struct Sum {
    handled: AtomicU64,
    sum: AtomicU64,
}

/// Each item starts a handler.
fn handlers(items: u64) -> Result<(Duration, u64), String> {
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
    .said()?;
    dispatcher.wait_idle();
    let started = Instant::now();
    drop(post_all(&port, items));
    told.recv()
        .map_err(|_| "the handlers ended before the last item".to_owned())?;
    Ok((started.elapsed(), sum.sum.load(Ordering::Relaxed)))
}

/// The posters: each posts its share.
fn post_all(port: &Port<u64>, items: u64) -> Vec<thread::JoinHandle<()>> {
    let start = |poster| {
        let port = port.clone();
        thread::spawn(move || {
            for item in (poster..items).step_by(POSTERS as usize) {
                port.post(item).expect("the queue is open");
            }
        })
    };
    (0..POSTERS).map(start).collect()
}
