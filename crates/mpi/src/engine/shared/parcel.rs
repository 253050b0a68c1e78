//! What goes into a ring, whole or piece by piece.

use motet_comm::Header;

/// What is to be sent, as far as it is not.
pub(super) enum Parcel {
    Message {
        header: Header,
        payload: Vec<u8>,
        /// Bytes that are written; `None`: not even the header is.
        sent: Option<usize>,
    },
    Farewell,
}

impl Parcel {
    /// A message, or the farewell.
    pub(super) fn of(message: Option<(Header, Vec<u8>)>) -> Parcel {
        message.map_or(Parcel::Farewell, |(header, payload)| Parcel::Message {
            header,
            payload,
            sent: None,
        })
    }
}
