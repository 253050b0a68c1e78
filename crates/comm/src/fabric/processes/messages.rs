//! Messages for the ranks here. A rank that waits for a step of a ring or line takes it in itself,
//! past its mailbox.
//!
//! ```text
//!  transport ── progress ───► mailbox of a rank
//!      └─────── read_next ──► a rank that waits for a step
//! ```

use super::{RunProcesses, context_of, number};
use crate::address::Status;
use crate::envelope::{Context, Envelope, MessageKind};
use crate::fabric::{Mail, Signed};
use crate::transport::Header;
use motet_sync::atomic::Ordering;

impl RunProcesses {
    /// A message for a rank here has come.
    pub(super) fn arrived(
        &self,
        process: usize,
        header: Header,
        kind: u8,
        communicator: u32,
        payload: &mut Vec<u8>,
    ) {
        let context = MessageKind::of(kind).map(|kind| Context { communicator, kind });
        let status = Status {
            source: header.source as usize,
            tag: header.tag,
        };
        let place = self.place_of(header.destination as usize);
        let envelope = context.and_then(|context| self.read(process, (context, status), payload));
        let (Some(place), Some(envelope)) = (place, envelope) else {
            return self.strange(process);
        };
        let mut signed = Signed::new();
        self.local.mailbox(place).push(|| envelope, &mut signed);
        self.wake(header.destination as usize);
        signed.iter().for_each(|receipt| self.sign(receipt));
    }

    /// The envelope of a message's bytes, if they are those of one.
    fn read(
        &self,
        process: usize,
        (context, status): (Context, Status),
        bytes: &mut Vec<u8>,
    ) -> Option<Envelope> {
        let label = |number, words| self.labels.of(process, number, words);
        let (mut envelope, receipt) = Envelope::read(context, status, bytes, label)?;
        if let Some(receipt) = receipt {
            envelope.expects_receipt(process, receipt);
        }
        Some(envelope)
    }

    /// Takes the next message from rank `from` to rank `own` in, if it has come, has this context
    /// and status, and `wanted` says so. `wanted` is asked while nobody else takes anything in.
    /// `memory` is for its bytes.
    pub(crate) fn read_step(
        &self,
        [own, from]: [usize; 2],
        (context, status): (Context, Status),
        wanted: &mut dyn FnMut() -> bool,
        memory: &mut Vec<u8>,
    ) -> Option<Envelope> {
        let process = self.process_of(from);
        let header = Header {
            context: context_of(self.run, context.kind as u8, context.communicator),
            source: number(status.source),
            destination: number(own),
            tag: status.tag,
        };
        let mut step = None;
        memory.clear();
        let was_read = self
            .transport
            .read_next(process, &header, wanted, &mut |block, follow| {
                memory.extend_from_slice(block);
                if follow == 0 {
                    // Now: a message behind this one may be known by what stands on it.
                    step = self.read(process, (context, status), memory);
                }
            });
        if was_read {
            self.received.fetch_add(1, Ordering::Release);
            if step.is_none() {
                self.strange(process);
            }
        }
        step
    }
}
