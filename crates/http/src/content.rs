//! Bodies of requests: taken within the limits, and read.

use crate::cbor;
use crate::headers::text;
use crate::heads::HeadAgain;
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::target::{body_of, parameters};
use crate::{Limits, weight};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap};
use hyper::{Request, StatusCode, Uri};
use motet_service::{FaultCode, Value};
use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::mem::take;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// The type of a merge patch (RFC 7396).
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// The type of the body, without its parameters.
pub(crate) fn kind(headers: &HeaderMap) -> Result<Option<Cow<'_, str>>, Refusal> {
    let kind = text(headers, &CONTENT_TYPE)?;
    Ok(kind.map(|kind| {
        let kind = kind.split(';').next().unwrap_or(kind).trim();
        match kind.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(kind.to_ascii_lowercase()),
            false => Cow::Borrowed(kind),
        }
    }))
}

/// The bytes of a request.
pub(crate) async fn bytes(
    site: &ServerShared,
    request: &mut Request<Incoming>,
) -> Result<Bytes, Refusal> {
    uncompressed(request.headers())?;
    let body = request.body_mut();
    let limits = &site.limits;
    let too_large = || {
        let reason = format!("the body is larger than {} bytes", limits.body);
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Refusal::new(status, FaultCode::MessageNotSupported, reason)
    };
    // That of the header Content-Length, which hyper has read.
    let length = body.size_hint().exact();
    if length.is_some_and(|length| length > limits.body as u64) {
        return Err(too_large());
    }
    match soon(limits.body_time, collect(body, limits.body)).await {
        Err(_) => {
            let reason = format!("the body did not come within {:?}", limits.body_time);
            let status = StatusCode::REQUEST_TIMEOUT;
            Err(Refusal::new(status, FaultCode::MessageNotSupported, reason))
        }
        Ok(Err(why)) => Err(Refusal::bad(format!("the body is broken off: {why}"))),
        Ok(Ok(None)) => Err(too_large()),
        Ok(Ok(Some(bytes))) => Ok(bytes),
    }
}

/// So many bytes are on the way in any case, in the buffers of a connection.
const ON_THE_WAY: u64 = 64 << 10;

/// The large body that a refusal has left, if there is one: whoever still writes it when the
/// connection ends loses the answer.
pub(crate) fn left(request: Request<Incoming>, status: StatusCode) -> Option<Incoming> {
    let is_refused = status.is_client_error() || status.is_server_error();
    let body = request.body();
    let is_small = body
        .size_hint()
        .exact()
        .is_some_and(|left| left <= ON_THE_WAY);
    // Who waits to be told to go on writes nothing more, and what comes next is another request.
    // Who has had the time of a body gets no other.
    let is_late = status == StatusCode::REQUEST_TIMEOUT;
    let has_more = is_refused && !is_late && !body.is_end_stream() && !is_small;
    (has_more && !request.headers().contains_key(EXPECT)).then(|| request.into_body())
}

/// Takes what is left of a body, in the time of one, and as long as something comes. Behind it the
/// connection waits for a head.
pub(crate) fn take_rest(site: &Arc<ServerShared>, mut body: Incoming, then: HeadAgain) {
    let site = Arc::clone(site);
    tokio::spawn(async move {
        let pause = site.limits.head_time;
        let rest = async { while let Ok(Some(Ok(_))) = timeout(pause, body.frame()).await {} };
        tokio::select! {
            _ = timeout(site.limits.body_time, rest) => {}
            () = site.stopped() => {}
        }
        drop(then);
    });
}

/// Refuses a body that is compressed: it would be told to be no JSON.
fn uncompressed(headers: &HeaderMap) -> Result<(), Refusal> {
    match text(headers, &CONTENT_ENCODING)? {
        None => Ok(()),
        Some(coding) if coding.trim().eq_ignore_ascii_case("identity") => Ok(()),
        Some(coding) => {
            let reason = format!(
                "the body has the Content-Encoding {coding:?}; send it uncompressed, without one"
            );
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Err(Refusal::new(status, FaultCode::MessageNotSupported, reason))
        }
    }
}

/// All of a body, if it has no more than `most` bytes. One that came as a whole is not copied.
async fn collect(body: &mut Incoming, most: usize) -> Result<Option<Bytes>, hyper::Error> {
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    // Behind the last byte of a length that is known comes nothing.
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        if data.len() > most - first.len().max(all.len()) {
            return Ok(None);
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        all.extend_from_slice(&take(&mut first));
        all.extend_from_slice(&data);
    }
    Ok(Some(if all.is_empty() { first } else { all.into() }))
}

/// As `timeout`. A body that is read when the connection is looked at again, as most are, needs no
/// timer.
async fn soon<F: Future>(most: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut is_first = true;
    let looked = poll_fn(|cx| match (future.as_mut().poll(cx), is_first) {
        (Poll::Ready(output), _) => Poll::Ready(Some(output)),
        (Poll::Pending, false) => Poll::Ready(None),
        (Poll::Pending, true) => {
            is_first = false;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    });
    match looked.await {
        Some(output) => Ok(output),
        None => timeout(most, future).await,
    }
}

/// The body of a request, of one of these types; CBOR may stand for JSON. With it the table of its
/// headers, empty: the answer's are written into it.
pub(crate) async fn body(
    site: &ServerShared,
    request: &mut Request<Incoming>,
    kinds: &[&str],
) -> Result<(Value, HeaderMap), Refusal> {
    let bytes = bytes(site, request).await?;
    read_out(site, request, &bytes, kinds)
}

/// As [`body`], where no body is not the same as null: it is refused.
pub(crate) async fn given_body(
    site: &ServerShared,
    request: &mut Request<Incoming>,
    kinds: &[&str],
) -> Result<(Value, HeaderMap), Refusal> {
    let bytes = bytes(site, request).await?;
    if bytes.is_empty() {
        let reason = "the body is empty; send the entry as JSON, null too";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Err(Refusal::new(status, FaultCode::MessageNotSupported, reason));
    }
    read_out(site, request, &bytes, kinds)
}

/// The value of a body that has come, and the table of the headers without them.
fn read_out(
    site: &ServerShared,
    request: &mut Request<Incoming>,
    bytes: &[u8],
    kinds: &[&str],
) -> Result<(Value, HeaderMap), Refusal> {
    let kind = kind(request.headers())?;
    let value = read(kind.as_deref(), bytes, kinds, &site.limits)?;
    // The memory of the head is not kept until there is an answer.
    *request.uri_mut() = Uri::default();
    Ok((value, emptied(take(request.headers_mut()))))
}

/// The table without its headers. hyper keeps that of an answer for the next head: one that has
/// become large goes.
fn emptied(mut headers: HeaderMap) -> HeaderMap {
    const LARGE: usize = 128;
    match headers.capacity() > LARGE {
        true => HeaderMap::new(),
        false => {
            headers.clear();
            headers
        }
    }
}

/// Reads a body of type `kind`, which is one of `kinds`. Its value takes at most [`weight::most`]
/// bytes.
pub(crate) fn read(
    kind: Option<&str>,
    bytes: &[u8],
    kinds: &[&str],
    limits: &Limits,
) -> Result<Value, Refusal> {
    let most = weight::most(limits);
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if kind == Some(cbor::KIND) && kinds.contains(&"application/json") {
        return cbor::read(bytes, limits.depth, most)
            .map_err(|why| Refusal::bad(format!("the body is no CBOR that is taken here: {why}")));
    }
    if kind.is_none_or(|kind| !kinds.contains(&kind)) {
        let found = match kind {
            Some(kind) => format!("is of type {kind}"),
            None => "has no Content-Type".to_owned(),
        };
        let reason = format!("the body {found}; send {}", kinds.join(" or "));
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Refusal::new(status, FaultCode::MessageNotSupported, reason));
    }
    if kind == Some("application/x-www-form-urlencoded") {
        if is_json(bytes) {
            let reason = "the body is JSON, and its Content-Type is that of a form, which curl \
                          says unless told otherwise; send application/json";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Refusal::new(status, FaultCode::MessageNotSupported, reason));
        }
        let form = std::str::from_utf8(bytes);
        let form = form.map_err(|_| Refusal::bad("the form is no text in UTF-8"))?;
        let parameters = parameters(form)?;
        let texts = parameters.iter().map(|(_, text)| text.as_bytes());
        let fields = parameters.len().saturating_mul(weight::PARAMETER);
        light(
            texts.map(weight::json).fold(fields, usize::saturating_add),
            most,
        )?;
        return fitting(body_of(&parameters), limits.depth);
    }
    // Most bodies cannot be too heavy, whatever is in them.
    if bytes.len().saturating_mul(weight::LARGEST) > most {
        light(weight::json(bytes), most)?;
    }
    let value = serde_json::from_slice(bytes)
        .map_err(|why| Refusal::bad(format!("the body is no JSON: {why}")))?;
    fitting(value, limits.depth)
}

/// Whether a form is an object, a list or a text of JSON: read as a form it would be one name of a
/// field. In a form each of these signs is written with a `%`.
fn is_json(form: &[u8]) -> bool {
    matches!(form.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'))
}

/// Refuses a value that would take too much memory.
fn light(weight: usize, most: usize) -> Result<(), Refusal> {
    if weight <= most {
        return Ok(());
    }
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    Err(Refusal::new(
        status,
        FaultCode::MessageNotSupported,
        weight::reason(most),
    ))
}

/// The value, if no more than `depth` values lie in each other.
pub(crate) fn fitting(value: Value, depth: usize) -> Result<Value, Refusal> {
    match is_flat(&value, depth) {
        true => Ok(value),
        false => Err(Refusal::bad(format!(
            "the body has more than {depth} values in each other"
        ))),
    }
}

/// Whether no more than `depth` values lie in each other.
fn is_flat(value: &Value, depth: usize) -> bool {
    match value {
        _ if depth == 0 => false,
        Value::Array(items) => items.iter().all(|item| is_flat(item, depth - 1)),
        Value::Object(fields) => fields.values().all(|field| is_flat(field, depth - 1)),
        _ => true,
    }
}
