//! The form of a message between processes.
//!
//! ```text
//!  payload, of any length │ context u64 │ source u32 │ destination u32 │ tag u32 │ kind u32
//! ```
//!
//! What says whose it is comes last, so that neither side copies the payload: the sender appends to
//! its bytes, the receiver cuts them off. All numbers are little-endian.

use motet_comm::Header;

/// A message that has come from another process.
#[derive(Debug, PartialEq, Eq)]
pub struct ReceivedMessage<'a> {
    /// The process that sent it.
    pub process: usize,
    /// Between which ranks it goes.
    pub header: Header,
    /// What was sent; it may be taken away.
    pub payload: &'a mut Vec<u8>,
}

/// What a message is to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of the program.
    Message,
    /// The sender will send nothing more.
    Close,
}

/// What the engine's own messages carry.
pub(super) const NOTHING: Header = Header {
    context: 0,
    source: 0,
    destination: 0,
    tag: 0,
};

/// The bytes of what follows the payload.
pub(super) const TRAILER: usize = 24;

/// What the kinds are called on the way: numbers that other programs hardly send.
const MESSAGE: u32 = 0x6d6f_7401;
const CLOSE: u32 = 0x6d6f_7402;

/// The bytes to send.
pub(super) fn pack(kind: Kind, header: Header, mut payload: Vec<u8>) -> Vec<u8> {
    let kind = match kind {
        Kind::Message => MESSAGE,
        Kind::Close => CLOSE,
    };
    let mut trailer = [0; TRAILER];
    trailer[..8].copy_from_slice(&header.context.to_le_bytes());
    let numbers = [header.source, header.destination, header.tag, kind];
    for (room, number) in trailer[8..].chunks_exact_mut(4).zip(numbers) {
        room.copy_from_slice(&number.to_le_bytes());
    }
    payload.extend_from_slice(&trailer);
    payload
}

/// What came: `None` when it is in another form.
pub(super) fn unpack(mut bytes: Vec<u8>) -> Option<(Kind, Header, Vec<u8>)> {
    let (_, trailer) = bytes.split_last_chunk::<TRAILER>()?;
    let context = u64::from_le_bytes(*trailer.first_chunk()?);
    let number = |at: usize| {
        let bytes: [u8; 4] = trailer[at..at + 4].try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let header = Header {
        context,
        source: number(8)?,
        destination: number(12)?,
        tag: number(16)?,
    };
    let kind = match number(20)? {
        MESSAGE => Kind::Message,
        CLOSE => Kind::Close,
        _ => return None,
    };
    bytes.truncate(bytes.len() - TRAILER);
    Some((kind, header, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        context: u64::MAX - 1,
        source: 7,
        destination: u32::MAX,
        tag: 42,
    };

    #[test]
    fn what_is_packed_is_unpacked() {
        for payload in [vec![], vec![1], vec![9; 1000]] {
            for kind in [Kind::Message, Kind::Close] {
                let sent = pack(kind, HEADER, payload.clone());
                assert_eq!(sent.len(), payload.len() + TRAILER);
                assert_eq!(unpack(sent), Some((kind, HEADER, payload.clone())));
            }
        }
    }

    #[test]
    fn other_bytes_are_no_message() {
        assert_eq!(unpack(vec![0; TRAILER - 1]), None);
        assert_eq!(unpack(vec![0; TRAILER + 5]), None);
        let mut sent = pack(Kind::Message, HEADER, vec![1, 2]);
        sent.push(0);
        assert_eq!(unpack(sent), None);
    }
}
