//! What nodes say to each other, as bytes.

use crate::start_from::{LogId, LogPlace};
use crate::{FramePriority, Frames, Qos};
use motet_dispatch::Exception;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The largest frame.
pub const MAX_FRAME: usize = 16 << 20;

/// The form of frames. Nodes of different forms do not talk.
pub(crate) const FORM: u16 = 5;

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
        from: LogPlace,
    },
    /// The subscription has ended.
    Unsubscribe { subscription: u32 },
    /// A flow from a topic of the sender to a subscription of the receiver; the next sample has the
    /// number `first`. From a durable topic, which has a log, the receiver decides: samples go on
    /// behind what it has accepted.
    Open {
        topic: u32,
        subscription: u32,
        key: String,
        qos: Qos,
        first: u64,
        log: Option<LogId>,
    },
    /// A subscription does not fit the topic, or gets nothing more of it, and why.
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
    /// Nothing comes of what the receiver has asked for, or offered, and may not do. A flow that it
    /// has opened is over: from this topic, where it is not 0, to this subscription.
    NotAllowed {
        topic: u32,
        subscription: u32,
        key: String,
        why: String,
    },
}

/// A [`Frame::Data`] whose payload is elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Data<'a> {
    pub(crate) topic: u32,
    pub(crate) subscription: u32,
    pub(crate) number: u64,
    pub(crate) retained: bool,
    pub(crate) payload: &'a [u8],
}

/// The number of [`Frame::Data`] among frames.
const DATA: u32 = 6;

/// The most that a frame of data is longer than its payload.
const DATA_HEAD: usize = 1 + 5 + 5 + 10 + 1 + 10;

/// The longest payload of a frame of data.
pub(crate) const MAX_PAYLOAD: usize = MAX_FRAME - DATA_HEAD;

/// The most that the frame of an answer is longer than the answer.
const ANSWER_HEAD: usize = 1 + 10 + 1 + 10;

/// The longest answer that goes over a link.
pub(crate) const MAX_ANSWER: usize = MAX_FRAME - ANSWER_HEAD;

/// The longest request that goes over a link, under causalities of these names.
pub(crate) fn max_request(causalities: &[String]) -> usize {
    let names: usize = causalities.iter().map(|name| 10 + name.len()).sum();
    MAX_FRAME.saturating_sub(1 + 10 + 5 + 10 + 10 + names)
}

/// The fields of [`Data`] behind the number of its kind, as postcard has those of a variant.
type DataFields<'a> = (u32, u32, u32, u64, bool, &'a Bytes);

impl<'a> Data<'a> {
    /// Puts the frame behind others, which are lost with it if it cannot be written.
    pub(crate) fn put_behind(self, frames: &mut Frames) -> Result<(), FrameError> {
        let fields: DataFields<'_> = (
            DATA,
            self.topic,
            self.subscription,
            self.number,
            self.retained,
            Bytes::new(self.payload),
        );
        put_behind(frames, &fields, DATA_HEAD + self.payload.len())
    }

    /// None: the frame is another one, or none.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        if bytes.first() != Some(&(DATA as u8)) || bytes.len() > MAX_FRAME {
            return None;
        }
        let fields = decode::<DataFields<'a>>(bytes).ok()?;
        let (_, topic, subscription, number, retained, payload) = fields;
        Some(Data {
            topic,
            subscription,
            number,
            retained,
            payload,
        })
    }
}

/// Bytes that are no frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrameError {
    TooLarge(usize),
    Malformed(String),
}

impl Frame {
    /// Credit may overtake: it answers what its receiver has sent, so it meets what it is about.
    pub(crate) fn priority(&self) -> FramePriority {
        match self {
            Frame::Accepted { .. } => FramePriority::Urgent,
            _ => FramePriority::Ordered,
        }
    }

    #[cfg(test)]
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, FrameError> {
        let mut frames = Frames::default();
        self.put_behind(&mut frames)?;
        Ok(frames.iter().flatten().copied().collect())
    }

    /// Puts the frame behind others, which are lost with it if it cannot be written.
    pub(crate) fn put_behind(&self, frames: &mut Frames) -> Result<(), FrameError> {
        put_behind(frames, self, 0)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > MAX_FRAME {
            return Err(FrameError::TooLarge(bytes.len()));
        }
        decode(bytes)
    }
}

/// Puts a frame of about so many bytes behind others.
fn put_behind(
    frames: &mut Frames,
    frame: &impl Serialize,
    length: usize,
) -> Result<(), FrameError> {
    frames.push(|mut room| {
        let begin = room.len();
        room.reserve(length);
        let bytes = postcard::to_extend(frame, room)
            .map_err(|why| FrameError::Malformed(why.to_string()))?;
        match bytes.len() - begin {
            length if length > MAX_FRAME => Err(FrameError::TooLarge(length)),
            _ => Ok(bytes),
        }
    })
}

/// A value as bytes.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, FrameError> {
    postcard::to_stdvec(value).map_err(|why| FrameError::Malformed(why.to_string()))
}

/// As [`encode`], into `room`, which is emptied first. Bytes are copied as a whole, which gives the
/// same form: serde writes the elements of a `Vec<u8>` one by one.
pub(crate) fn encode_value<T: Serialize + 'static>(
    value: &T,
    room: &mut Vec<u8>,
) -> Result<(), FrameError> {
    let mut bytes = std::mem::take(room);
    bytes.clear();
    let written = match (value as &dyn Any).downcast_ref::<Vec<u8>>() {
        Some(value) => postcard::to_extend(&Bytes::new(value), bytes),
        None => postcard::to_extend(value, bytes),
    };
    *room = written.map_err(|why| FrameError::Malformed(why.to_string()))?;
    Ok(())
}

/// As [`decode`], with bytes as [`encode_value`] has them.
pub(crate) fn decode_value<T: DeserializeOwned + 'static>(bytes: &[u8]) -> Result<T, FrameError> {
    let mut value = None::<T>;
    if let Some(value) = (&mut value as &mut dyn Any).downcast_mut::<Option<Vec<u8>>>() {
        *value = Some(decode::<ByteBuf>(bytes)?.into_vec());
    }
    value.map_or_else(|| decode(bytes), Ok)
}

/// The value that `bytes` are, all of them. Reading a type of a user may panic: that is an error of
/// these bytes, and others are read after them.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, FrameError> {
    let read = || postcard::take_from_bytes(bytes);
    let read = catch_unwind(AssertUnwindSafe(read)).map_err(|payload| {
        let why = Exception::new(payload, "read").message().to_owned();
        FrameError::Malformed(format!("reading it panicked: {why}"))
    })?;
    match read {
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
        fn prop_sem_g216_any_bytes_are_a_frame_or_an_error(
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
            let mut written = vec![9];
            encode_value(&bytes, &mut written).unwrap();
            prop_assert_eq!(&written, &encode(&bytes).unwrap());
            prop_assert_eq!(&decode_value::<Vec<u8>>(&written).unwrap(), &bytes);
            prop_assert!(decode_value::<Vec<u8>>(&written[..written.len() - 1]).is_err());
            let words: Vec<u16> = bytes.iter().map(|&byte| u16::from(byte) * 7).collect();
            encode_value(&words, &mut written).unwrap();
            let again = decode_value::<Vec<u16>>(&written).unwrap();
            prop_assert_eq!(again, words);
        }
    }

    proptest! {
        #[test]
        fn data_has_the_form_of_its_frame(
            (topic, subscription, number, retained) in any::<(u32, u32, u64, bool)>(),
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let data = Data { topic, subscription, number, retained, payload: &payload };
            let mut frames = Frames::from_bytes(vec![1, 0, 0, 0, 9]).unwrap();
            data.put_behind(&mut frames).unwrap();
            let [before, bytes] = frames.iter().collect::<Vec<_>>()[..] else {
                panic!("{frames:?}");
            };
            prop_assert_eq!(before, [9]);
            prop_assert!(bytes.len() <= DATA_HEAD + payload.len());
            prop_assert_eq!(Data::from_bytes(bytes), Some(data));
            prop_assert_eq!(Data::from_bytes(&bytes[1..]).filter(|_| topic != DATA), None);
            prop_assert_eq!(Data::from_bytes(&bytes[..bytes.len() - 1]), None);
            let payload = payload.clone();
            let frame = Frame::Data { topic, subscription, number, retained, payload };
            prop_assert_eq!(frame.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn the_longest_request_and_the_longest_answer_fit_a_frame() {
        let answer = Frame::Answer {
            call: u64::MAX,
            answer: Ok(vec![0; MAX_ANSWER]),
        };
        assert!(answer.to_bytes().is_ok());
        let causalities = vec!["order 7".to_owned(); 16];
        let call = Frame::Call {
            call: u64::MAX,
            server: u32::MAX,
            payload: vec![0; max_request(&causalities)],
            causalities,
        };
        assert!(call.to_bytes().is_ok());
    }

    #[test]
    fn a_frame_with_more_behind_it_is_refused() {
        let mut bytes = Frame::Unserve { server: 3 }.to_bytes().unwrap();
        bytes.push(0);
        assert!(Frame::from_bytes(&bytes).is_err());
    }
}
