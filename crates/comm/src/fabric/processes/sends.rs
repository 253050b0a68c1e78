//! Messages of the ranks here to those of other processes: the value, and behind it what is to be
//! known of it.

use super::labels::Numbered;
use super::{RunProcesses, context_of, number};
use crate::address::Status;
use crate::envelope::{Behind, Context, Envelope};
use crate::transport::Header;
use motet_sync::atomic::Ordering;

impl RunProcesses {
    /// Sends an envelope to a rank of another process.
    ///
    /// # Errors
    /// Why its value cannot be written.
    pub(crate) fn send(&self, rank: usize, envelope: &Envelope) -> Result<(), String> {
        // Most values are short; and a transport may append a little.
        let mut bytes = Vec::with_capacity(64);
        let (typed, location) = envelope.encode(&mut bytes)?;
        let mut behind = Behind {
            label: None,
            typed,
            location,
            length: envelope.label.length,
            receipt: envelope.receipt.as_ref().map(|it| self.keep(it)),
        };
        let (context, status) = (envelope.context, envelope.status);
        self.send_written(rank, context, status, &mut behind, &mut bytes);
        Ok(())
    }

    /// Sends a value, of which `bytes` has the bytes, to a rank of another process. Further values
    /// with the same label for that rank go with the same `behind`.
    pub(in crate::fabric) fn send_written(
        &self,
        rank: usize,
        context: Context,
        status: Status,
        behind: &mut Behind,
        bytes: &mut Vec<u8>,
    ) {
        let process = self.process_of(rank);
        let _new = self.write_behind(process, behind, bytes);
        self.program_sends(process, self.header_of(rank, context, status), bytes);
    }

    /// Sends a value with these bytes, which stay where they are, to a rank of another process.
    pub(in crate::fabric) fn send_bytes(
        &self,
        rank: usize,
        context: Context,
        status: Status,
        mut behind: Behind,
        bytes: &[u8],
    ) {
        let (process, mut tail) = (self.process_of(rank), Vec::with_capacity(64));
        let _new = self.write_behind(process, &mut behind, &mut tail);
        let header = self.header_of(rank, context, status);
        self.sent.fetch_add(1, Ordering::Relaxed);
        let sent = self.transport.send_pieces(process, header, &[bytes, &tail]);
        sent.unwrap_or_else(|error| self.broken(error));
    }

    /// Appends what stands behind a value for another process. A label that is new is held until
    /// its words have gone.
    fn write_behind(
        &self,
        process: usize,
        behind: &mut Behind,
        bytes: &mut Vec<u8>,
    ) -> Option<Numbered<'_>> {
        match behind.label {
            Some(number) => {
                behind.write(number, false, bytes);
                None
            }
            None => {
                let label = self.labels.number(process, behind.typed, behind.location);
                behind.write(label.number, label.is_fresh(), bytes);
                behind.label = Some(label.number);
                Some(label)
            }
        }
    }

    fn header_of(&self, rank: usize, context: Context, status: Status) -> Header {
        Header {
            context: context_of(self.run, context.kind as u8, context.communicator),
            source: number(status.source),
            destination: number(rank),
            tag: status.tag,
        }
    }
}
