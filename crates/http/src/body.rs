//! Bodies of answers: whole ones, and streams of events.

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// An answer.
pub(crate) type HttpReply = Response<Body>;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    Whole(Option<Bytes>),
    /// Ends when its sender does.
    Events(mpsc::Receiver<Bytes>),
}

impl Body {
    pub(crate) fn of(text: impl Into<Bytes>) -> Self {
        Body::Whole(Some(text.into()))
    }
}

/// An answer of JSON.
pub(crate) fn json(value: &Value) -> HttpReply {
    // A value is written as it is: its keys are names.
    typed(
        "application/json",
        serde_json::to_vec(value).unwrap_or_default(),
    )
}

/// An answer of this type.
pub(crate) fn typed(kind: &'static str, text: impl Into<Bytes>) -> HttpReply {
    let mut response = Response::new(Body::of(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
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
            Body::Events(events) => events.poll_recv(cx),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Body::Events(_) => SizeHint::default(),
        }
    }
}
