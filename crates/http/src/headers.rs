//! Headers as text.

use crate::body::HttpReply;
use crate::problem::Refusal;
use hyper::header::{ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};
use motet_service::TraceParent;

/// How long a call may take, in milliseconds.
pub(crate) static TIMEOUT: HeaderName = HeaderName::from_static("motet-timeout");

/// What tells a repeated call from a new one.
pub(crate) static KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Whether the node's debugger keeps the call.
pub(crate) static CAPTURE: HeaderName = HeaderName::from_static("motet-capture");

/// Whether the body has arguments by their names (`fields`), or is one (`argument`).
pub(crate) static BODY: HeaderName = HeaderName::from_static("motet-body");

/// The services that wait for the call.
pub(crate) static CHAIN: HeaderName = HeaderName::from_static("motet-chain");

/// The trace of which the call is a part (W3C Trace Context).
pub(crate) static TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// The event that was seen last.
pub(crate) static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Whether a page of this site has sent the request.
pub(crate) static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The headers of this name. Few heads have many lines: to look at each takes less than to find one
/// by its hash.
pub(crate) fn all<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a HeaderValue> {
    let given = headers.iter().filter(move |(own, _)| *own == name);
    given.map(|(_, value)| value)
}

/// The header of this name, if there is one.
pub(crate) fn text<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Refusal> {
    let mut given = all(headers, name);
    let (first, second) = (given.next(), given.next());
    if second.is_some() {
        return Err(Refusal::bad(format!("{name} is given twice; give it once")));
    }
    let text = first.map(|first| first.to_str());
    let text = text.transpose();
    text.map_err(|_| Refusal::bad(format!("{name} is no text; use ASCII")))
}

/// The trace of which a request is a part. A header that is wrong, or given twice, is none, as the
/// standard says.
pub(crate) fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut given = all(headers, &TRACE_PARENT);
    let (first, second) = (given.next()?, given.next());
    let text = first.to_str().ok().filter(|_| second.is_none());
    TraceParent::parse(text?)
}

/// Whether `If-None-Match` names this tag, or any version (RFC 9110, 13.1.2), by the weak
/// comparison.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> Result<bool, Refusal> {
    let known = text(headers, &IF_NONE_MATCH)?.unwrap_or_default();
    let known = known.split(',').map(str::trim);
    Ok(known
        .map(|known| known.strip_prefix("W/").unwrap_or(known))
        .any(|known| known == tag || known == "*"))
}

/// The version that an ETag stands for.
pub(crate) fn version(tag: &str) -> Option<u64> {
    tag.strip_prefix("\"v")?.strip_suffix('"')?.parse().ok()
}

/// The ETag that stands for a version.
pub(crate) fn tag(version: u64) -> String {
    format!("\"v{version}\"")
}

/// An answer with an ETag.
pub(crate) fn tagged(mut reply: HttpReply, tag: &str) -> HttpReply {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        reply.headers_mut().insert(ETAG, tag);
    }
    reply
}
