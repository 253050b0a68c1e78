//! What nodes say to each other, as bytes.

use crate::{Lane, Qos};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};
use std::any::Any;
use std::fmt;

/// The largest frame.
pub const MAX_FRAME: usize = 16 << 20;

/// The form of frames. Nodes of different forms do not talk.
pub(crate) const FORM: u16 = 2;

/// A frame. Numbers of topics and subscriptions are those of the node that has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Frame {
    /// The first frame of a link. `incarnation` is another one when the node has been started
    /// again.
    Hello { form: u16, incarnation: u64 },
    /// The sender wants what is published under the pattern.
    Subscribe {
        subscription: u32,
        pattern: String,
        type_name: String,
    },
    /// The subscription has ended.
    Unsubscribe { subscription: u32 },
    /// A flow from a topic of the sender to a subscription of the receiver; the next sample has the
    /// number `first`.
    Open {
        topic: u32,
        subscription: u32,
        key: String,
        qos: Qos,
        first: u64,
    },
    /// A subscription does not fit the topic, and why.
    Mismatch {
        subscription: u32,
        key: String,
        why: String,
    },
    /// The topic is gone: nothing more comes by this flow.
    Close { topic: u32, subscription: u32 },
    /// A sample.
    Data {
        topic: u32,
        subscription: u32,
        number: u64,
        retained: bool,
        #[serde(with = "serde_bytes")]
        payload: Vec<u8>,
    },
    /// All samples of the flow up to `upto` are accepted, and `window` more may be under way.
    Accepted {
        topic: u32,
        subscription: u32,
        upto: u64,
        window: u32,
    },
    /// The sender answers calls under this key.
    Serve { server: u32, key: String },
    /// The sender answers them no longer.
    Unserve { server: u32 },
    /// A request, and the names of the causalities that it is made under, innermost first.
    Call {
        call: u64,
        server: u32,
        #[serde(with = "serde_bytes")]
        payload: Vec<u8>,
        causalities: Vec<String>,
    },
    /// Nobody waits for the answer any more, and why.
    Cancel { call: u64, why: String },
    /// The answer, or why there is none.
    Answer {
        call: u64,
        answer: Result<Vec<u8>, String>,
    },
}

/// Bytes that are no frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrameError {
    TooLarge(usize),
    Malformed(String),
}

impl Frame {
    /// Credit may overtake: it answers what its receiver has sent, so it meets what it is about.
    pub(crate) fn lane(&self) -> Lane {
        match self {
            Frame::Accepted { .. } => Lane::Urgent,
            _ => Lane::Ordered,
        }
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, FrameError> {
        let bytes = encode(self)?;
        if bytes.len() > MAX_FRAME {
            return Err(FrameError::TooLarge(bytes.len()));
        }
        Ok(bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > MAX_FRAME {
            return Err(FrameError::TooLarge(bytes.len()));
        }
        decode(bytes)
    }
}

/// A value as bytes.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, FrameError> {
    postcard::to_stdvec(value).map_err(|why| FrameError::Malformed(why.to_string()))
}

/// As [`encode`]. Bytes are copied as a whole, which gives the same form: serde writes the elements
/// of a `Vec<u8>` one by one.
pub(crate) fn encode_value<T: Serialize + 'static>(value: &T) -> Result<Vec<u8>, FrameError> {
    match (value as &dyn Any).downcast_ref::<Vec<u8>>() {
        Some(bytes) => encode(&Bytes::new(bytes)),
        None => encode(value),
    }
}

/// As [`decode`], with bytes as [`encode_value`] has them.
pub(crate) fn decode_value<T: DeserializeOwned + 'static>(bytes: &[u8]) -> Result<T, FrameError> {
    let mut value = None::<T>;
    if let Some(value) = (&mut value as &mut dyn Any).downcast_mut::<Option<Vec<u8>>>() {
        *value = Some(decode::<ByteBuf>(bytes)?.into_vec());
    }
    value.map_or_else(|| decode(bytes), Ok)
}

/// The value that `bytes` are, all of them.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => {
            let why = format!("{} bytes too many", rest.len());
            Err(FrameError::Malformed(why))
        }
        Err(why) => Err(FrameError::Malformed(why.to_string())),
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::TooLarge(bytes) => {
                write!(
                    f,
                    "{bytes} bytes are too many for a frame: at most {MAX_FRAME}"
                )
            }
            FrameError::Malformed(why) => write!(f, "malformed: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prop_sem_g857_any_bytes_are_a_frame_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(frame) = Frame::from_bytes(&bytes) {
                let again = Frame::from_bytes(&frame.to_bytes().unwrap()).unwrap();
                prop_assert_eq!(again, frame);
            }
        }
    }

    proptest! {
        #[test]
        fn bytes_have_the_form_that_serde_gives_them(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let written = encode_value(&bytes).unwrap();
            prop_assert_eq!(&written, &encode(&bytes).unwrap());
            prop_assert_eq!(&decode_value::<Vec<u8>>(&written).unwrap(), &bytes);
            prop_assert!(decode_value::<Vec<u8>>(&written[..written.len() - 1]).is_err());
            let words: Vec<u16> = bytes.iter().map(|&byte| u16::from(byte) * 7).collect();
            let again = decode_value::<Vec<u16>>(&encode_value(&words).unwrap()).unwrap();
            prop_assert_eq!(again, words);
        }
    }

    #[test]
    fn a_frame_with_more_behind_it_is_refused() {
        let mut bytes = Frame::Unserve { server: 3 }.to_bytes().unwrap();
        bytes.push(0);
        assert!(Frame::from_bytes(&bytes).is_err());
    }
}
