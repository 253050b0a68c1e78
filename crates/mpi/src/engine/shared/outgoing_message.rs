//! What goes into a ring, whole or piece by piece.

use motet_comm::Header;
use std::mem;

/// What is to be sent, as far as it is not.
pub(super) enum OutgoingMessage {
    Message {
        header: Header,
        payload: Vec<u8>,
        /// Bytes that are written; `None`: not even the header is.
        sent: Option<usize>,
    },
    Close,
}

/// The payload of a message that is to go.
pub(in crate::engine) enum Load<'a> {
    /// May be taken away.
    Whole(&'a mut Vec<u8>),
    /// One behind the other.
    Pieces(&'a [&'a [u8]]),
}

impl Load<'_> {
    /// Does something with the pieces.
    #[inline]
    pub(super) fn with<R>(&self, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        match self {
            Load::Whole(payload) => act(&[payload.as_slice()]),
            Load::Pieces(pieces) => act(pieces),
        }
    }

    /// The payload as one, taken away or copied, with room for so many bytes more if it is copied.
    pub(in crate::engine) fn take(self, more: usize) -> Vec<u8> {
        match self {
            Load::Whole(payload) => mem::take(payload),
            Load::Pieces(pieces) => {
                let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
                let mut payload = Vec::with_capacity(bytes + more);
                let pieces = pieces.iter();
                pieces.for_each(|piece| payload.extend_from_slice(piece));
                payload
            }
        }
    }
}
