//! Waiting handlers: how little an async handler holds that waits for an item.
//!
//! Question: how many bytes does a waiting handler cost, and does a post to each still complete it?
//! Definition: growth of the process's own resident memory (no file's) over the number of handlers.
//! Each handler has been started by an item of its own and awaits another one from the port that
//! all share. Then as many are posted, and all must end. Threats: memory that the allocator has
//! kept is not seen as growth, so the row comes first and runs once in a process. The items that
//! start the handlers stay with the allocator when they are gone, so there are never many at once.

use crate::contest::{Bar, Contest};
use crate::said::Said;
use motet_dispatch::{Dispatcher, QueueConfig};
use motet_ports::{Port, Receive};
use motet_sync::atomic::{AtomicU64, Ordering};
use std::fs;
use std::sync::Arc;

/// At most so many bytes each.
const BYTES: f64 = 256.0;

/// So many handlers are started before the dispatcher is waited for.
const AT_ONCE: u64 = 1_000;

/// The rows.
pub(crate) fn contests(handlers: u64) -> Vec<Contest> {
    let motet = move || on_one_port(handlers);
    let row = Contest::new("waiting handlers, one port", "bytes each", motet);
    vec![row.bar(Bar::AtMost(BYTES)).cold()]
}

fn on_one_port(handlers: u64) -> Result<f64, String> {
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("handlers"));
    let (starts, waits) = (Port::new(), Port::new());
    let ended = Arc::new(AtomicU64::new(0));
    let (waited_for, ends) = (waits.clone(), Arc::clone(&ended));
    Receive::persistent_async(&starts, move |number: u64| {
        let (port, ends) = (waited_for.clone(), Arc::clone(&ends));
        async move {
            let item: u64 = port.recv().await;
            ends.fetch_add(number + item + 1, Ordering::Relaxed);
        }
    })
    .activate(&queue)
    .said()?;
    dispatcher.wait_idle();
    let before = own_bytes()?;
    for number in 0..handlers {
        starts.post(number).expect("the queue is open");
        if number % AT_ONCE == 0 {
            dispatcher.wait_idle();
        }
    }
    dispatcher.wait_idle();
    let bytes = (own_bytes()? - before) / handlers as f64;
    (0..handlers).for_each(|number| waits.post(number).expect("the queue is open"));
    dispatcher.wait_idle();
    match ended.load(Ordering::Relaxed) {
        all if all == handlers * handlers => Ok(bytes),
        some => Err(format!("the handlers add up to {some}")),
    }
}

/// The resident memory of this process (Linux).
pub(crate) fn resident_bytes() -> Result<f64, String> {
    status_bytes("VmRSS:")
}

/// The resident memory of this process without the pages of files (Linux). The program's own code,
/// of which more is read when it first runs, is nobody's.
pub(crate) fn own_bytes() -> Result<f64, String> {
    status_bytes("RssAnon:")
}

fn status_bytes(name: &str) -> Result<f64, String> {
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let kilobytes = status.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        rest.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()
    });
    kilobytes
        .map(|kilobytes| kilobytes * 1024.0)
        .ok_or_else(|| format!("{path} has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_waiting_handler_ends() {
        // So few that their number of bytes says nothing: what other tests free meanwhile may be
        // more.
        assert!(on_one_port(1_000).unwrap().is_finite());
    }
}
