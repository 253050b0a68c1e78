//! What delegates of ranks ask each other between processes: taken in by whichever thread brings
//! it, past the mailboxes.

use super::{CALL, EarlyEnd, RunProcesses, context_of, number};
use crate::fabric::delegates::{Addressed, opens, tail_of};
use crate::transport::Header;
use motet_dispatch::keep_looking;
use motet_sync::atomic::Ordering;

/// Longer bodies, in bytes, go in parts: they are used while they are in a cache, and need no
/// memory at once.
const LONG: usize = 32 * 1024;
/// So many looks in a row for room, with messages taken in meanwhile, until the rest is copied to
/// wait by itself.
const PATIENCE: u32 = 1000;

impl RunProcesses {
    /// Asks the delegate of a rank of another process. `number` is that of a long message.
    pub(crate) fn call(&self, on: Addressed, number: u32, head: &[u8], body: &[u8]) {
        let (tail, process) = (tail_of(head), self.process_of(on.to));
        if body.len() <= LONG {
            let header = self.call_header(on, 0);
            return self.pieces(process, header, &[head, body, &tail]);
        }
        let length = (body.len() as u64).to_le_bytes();
        let header = self.call_header(on, opens(number));
        self.pieces(process, header, &[head, &length, &tail]);
        self.stream(process, self.call_header(on, number), body);
    }

    /// Sends the parts of a body.
    fn stream(&self, process: usize, header: Header, body: &[u8]) {
        let (mut rest, mut fruitless) = (body, 0);
        while !rest.is_empty() && fruitless < PATIENCE {
            let next = &rest[..rest.len().min(LONG)];
            let gone = self.transport.send_some(process, header, next);
            let gone = gone.unwrap_or_else(|error| {
                self.broken(error);
                Default::default()
            });
            self.sent.fetch_add(gone.messages as u64, Ordering::Relaxed);
            rest = &rest[gone.bytes..];
            fruitless += 1;
            if gone.bytes > 0 {
                fruitless = 0;
            } else if self.poll_for_room() > 0 {
                fruitless /= 2;
            }
        }
        if !rest.is_empty() {
            self.pieces(process, header, &[rest]);
        }
    }

    /// Takes in what comes while there is no room for what goes.
    fn poll_for_room(&self) -> usize {
        self.progress.looks();
        let moved = self.progress();
        if moved == 0 {
            std::hint::spin_loop();
        }
        moved
    }

    /// A delegate here is asked.
    pub(super) fn call_came(
        &self,
        process: usize,
        communicator: u32,
        header: &Header,
        payload: &[u8],
    ) {
        let Some(place) = self.place_of(header.destination as usize) else {
            return self.strange(process);
        };
        if header.tag != 0 {
            keep_looking();
        }
        let delegates = &self.local.delegates;
        if let Err(problem) = delegates.take_in(communicator, place, header, payload) {
            let reason = format!("process {process} has sent what cannot be done: {problem}");
            self.end(EarlyEnd::Transport { reason });
        }
    }

    fn pieces(&self, process: usize, header: Header, pieces: &[&[u8]]) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let sent = self.transport.send_pieces(process, header, pieces);
        sent.unwrap_or_else(|error| self.broken(error));
    }

    fn call_header(&self, on: Addressed, tag: u32) -> Header {
        Header {
            context: context_of(self.run, CALL, on.context.communicator),
            source: number(on.source),
            destination: number(on.to),
            tag,
        }
    }
}
