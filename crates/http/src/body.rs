//! Bodies of answers: whole ones, and streams of events.

use crate::heads::{HeadAgain, HeadWait};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// An answer.
pub(crate) type HttpReply = Response<Body>;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    Whole(Option<Bytes>),
    /// Ends when its sender does.
    Events(mpsc::Receiver<Bytes>, Option<HeadAgain>),
}

impl Body {
    pub(crate) fn of(text: impl Into<Bytes>) -> Self {
        Body::Whole(Some(text.into()))
    }

    /// What comes until its sender goes.
    pub(crate) fn events(events: mpsc::Receiver<Bytes>) -> Self {
        Body::Events(events, None)
    }

    /// It is the answer of this connection, which waits for a head when this has ended.
    pub(crate) fn belongs_to(&mut self, heads: Arc<HeadWait>) {
        match self {
            // The connection has it at once.
            Body::Whole(_) => heads.begins(),
            Body::Events(_, again) => *again = Some(HeadAgain::new(heads)),
        }
    }
}

/// An answer of JSON.
pub(crate) fn json(value: &Value) -> HttpReply {
    json_with(HeaderMap::new(), value)
}

/// An answer of JSON, with these headers, too.
pub(crate) fn json_with(headers: HeaderMap, value: &Value) -> HttpReply {
    typed_with(headers, "application/json", written(value))
}

/// An answer of this type.
pub(crate) fn typed(kind: &'static str, text: impl Into<Bytes>) -> HttpReply {
    typed_with(HeaderMap::new(), kind, text.into())
}

fn typed_with(mut headers: HeaderMap, kind: &'static str, text: Bytes) -> HttpReply {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let mut response = Response::new(Body::of(text));
    *response.headers_mut() = headers;
    response
}

/// A value as text. That of a number has one piece of memory, where a vector that is not full takes
/// two.
fn written(value: &Value) -> Bytes {
    match value {
        Value::Null => Bytes::from_static(b"null"),
        Value::Number(_) => {
            let mut text = [0u8; LONGEST_NUMBER];
            let mut room = &mut text[..];
            let fits = serde_json::to_writer(&mut room, value).is_ok();
            let length = LONGEST_NUMBER - room.len();
            match fits {
                true => Bytes::copy_from_slice(&text[..length]),
                false => whole(value),
            }
        }
        _ => whole(value),
    }
}

/// No number of JSON that is written is longer: `-2.2250738585072014e-308` has 24 signs.
const LONGEST_NUMBER: usize = 32;

fn whole(value: &Value) -> Bytes {
    // A value is written as it is: its keys are names.
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> HttpReply {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = status;
    response
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            Body::Whole(bytes) => Poll::Ready(bytes.take()),
            Body::Events(events, _) => events.poll_recv(cx),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Body::Events(..) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_written_as_everywhere() {
        for value in [
            json!(null),
            json!(0),
            json!(-7),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(0.1),
            json!(-f64::MIN_POSITIVE),
            json!(f64::MIN),
            json!("text"),
            json!([1, {"a": true}]),
        ] {
            assert_eq!(written(&value), value.to_string());
        }
    }
}
