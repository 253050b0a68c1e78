//! How the processes of a run begin together.

use super::control::{ENDED, Ending, HELLO, Later};
use super::{CONTROL, context, number};
use crate::transport::{Header, Transport, TransportError};
use motet_sync::thread;
use std::time::{Duration, Instant};

/// Tells all processes that this one begins run `run` with so many ranks, and waits until all have said the same,
/// within the limit; the first rank of each, then the number of all.
///
/// # Errors
/// [`Ending::Silent`], [`Ending::Lost`], [`Ending::Transport`].
pub(crate) fn greet(
    transport: &dyn Transport,
    run: u16,
    ranks: usize,
    later: &Later,
    limit: Duration,
) -> Result<Box<[usize]>, Ending> {
    let own = transport.process();
    let mut counts: Vec<Option<usize>> = vec![None; transport.processes()];
    counts[own] = Some(ranks);
    let failed = |error| match error {
        TransportError::Lost { process, reason } => Ending::Lost { process, reason },
        TransportError::Failed { reason } => Ending::Transport { reason },
    };
    let hello = Header {
        context: context(run, CONTROL, 0),
        source: number(ranks),
        destination: 0,
        tag: HELLO,
    };
    for process in (0..counts.len()).filter(|&process| process != own) {
        transport.send(process, hello, Vec::new()).map_err(failed)?;
    }
    let is_hello = |header: &Header| (header.context, header.tag) == (hello.context, HELLO);
    later.lock().retain(|(process, header, _)| {
        if is_hello(header) {
            counts[*process] = Some(header.source as usize);
        }
        !is_hello(header)
    });
    let begun = Instant::now();
    while counts.contains(&None) {
        let mut deliver = |process: usize, header: Header, payload| {
            if is_hello(&header) {
                counts[process] = Some(header.source as usize);
            } else {
                later.lock().push((process, header, payload));
            }
        };
        if transport.progress(&mut deliver).map_err(failed)? == 0 {
            thread::yield_now();
        }
        let waited = begun.elapsed();
        if waited >= limit {
            let missing = counts
                .iter()
                .enumerate()
                .filter(|(_, count)| count.is_none());
            let processes: Vec<usize> = missing.map(|(process, _)| process).collect();
            say_ended(transport, run, &processes, waited);
            return Err(Ending::Silent { processes, waited });
        }
    }
    let mut firsts = vec![0];
    for count in counts.into_iter().flatten() {
        firsts.push(firsts[firsts.len() - 1] + count);
    }
    Ok(firsts.into_boxed_slice())
}

/// Tells all that this process has given the run up: who comes later must not wait for it.
fn say_ended(transport: &dyn Transport, run: u16, missing: &[usize], waited: Duration) {
    let ended = Header {
        context: context(run, CONTROL, 0),
        source: 0,
        destination: 0,
        tag: ENDED,
    };
    let text = format!("processes {missing:?} had not come after {waited:.1?}");
    for process in (0..transport.processes()).filter(|&process| process != transport.process()) {
        // Who is gone need not be told.
        let _ = transport.send(process, ended, text.clone().into_bytes());
    }
}
