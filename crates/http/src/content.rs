//! Bodies of requests: taken within the limits, and read.

use crate::cbor;
use crate::headers::text;
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::target::{body_of, parameters};
use crate::{Limits, weight};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use motet_service::{FaultCode, Value};
use tokio::time::timeout;

/// The type of the body, without its parameters.
pub(crate) fn kind(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let kind = text(headers, CONTENT_TYPE.as_str())?.map(str::to_lowercase);
    Ok(kind.map(|kind| kind.split(';').next().unwrap_or(&kind).trim().to_owned()))
}

/// The head and the bytes of a request.
pub(crate) async fn bytes(
    site: &ServerShared,
    request: Request<Incoming>,
) -> Result<(Parts, Bytes), Refusal> {
    let (head, body) = request.into_parts();
    let limits = &site.limits;
    let too_large = || {
        let reason = format!("the body is larger than {} bytes", limits.body);
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Refusal::new(status, FaultCode::MessageNotSupported, reason)
    };
    let length = text(&head.headers, CONTENT_LENGTH.as_str())?;
    let length = length.and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| length > limits.body) {
        return Err(too_large());
    }
    let collected = timeout(limits.body_time, Limited::new(body, limits.body).collect()).await;
    let bytes = match collected {
        Err(_) => {
            let reason = format!("the body did not come within {:?}", limits.body_time);
            let status = StatusCode::REQUEST_TIMEOUT;
            return Err(Refusal::new(status, FaultCode::MessageNotSupported, reason));
        }
        Ok(Err(why)) if why.is::<LengthLimitError>() => return Err(too_large()),
        Ok(Err(why)) => return Err(Refusal::bad(format!("the body is broken off: {why}"))),
        Ok(Ok(collected)) => collected.to_bytes(),
    };
    Ok((head, bytes))
}

/// The body of a request, of one of these types; CBOR may stand for JSON.
pub(crate) async fn body(
    site: &ServerShared,
    request: Request<Incoming>,
    kinds: &[&str],
) -> Result<Value, Refusal> {
    let (head, bytes) = bytes(site, request).await?;
    read(kind(&head.headers)?.as_deref(), &bytes, kinds, &site.limits)
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
        let reason = format!("the body is of type {kind:?}; send {}", kinds.join(" or "));
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Refusal::new(status, FaultCode::MessageNotSupported, reason));
    }
    if kind == Some("application/x-www-form-urlencoded") {
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
