//! A call of another node is sent, again and again if it may be, until it is answered.

use crate::access::cannot;
use crate::jitter::Jitter;
use crate::lines::{Failed, LARGEST, Lines, encode, fault_of, send, whole};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, ETAG, IF_MATCH};
use hyper::http::request::Builder;
use hyper::http::response::Parts;
use hyper::{Method, StatusCode};
use motet_service::{Fault, FaultCode, Options, Value};
use motet_sync::atomic::Ordering;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// A call that does not say how long it may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Before a call is sent again, at least, whatever its fault says.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// A pause is no longer, whatever the fault says.
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// A call without an end ends then: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A body of so many bytes is written when the answer comes: it has room in the buffers of a
/// connection.
const ON_THE_WAY: usize = 64 << 10;

/// Sends a call, again and again if it may be, until it is answered or its time is over.
pub(crate) async fn until_answered(
    lines: &Lines,
    path: &str,
    operation: &str,
    body: &Value,
    options: &Options,
) -> Result<Value, Fault> {
    let until = Instant::now() + options.within.unwrap_or(LIMIT).min(LONGEST);
    let is_repeatable = matches!(operation, "get" | "lookup") || options.key.is_some();
    let (mut pause, mut jitter) = (FIRST_PAUSE, None);
    let over = || {
        let reason = format!("no answer from {} in the time of the call", lines.host);
        Fault::new(FaultCode::ResponseTimeout, reason).of_service(path)
    };
    loop {
        let sent = timeout_at(until, once(lines, path, operation, body, options, until)).await;
        let fault = match sent.map_err(|_| over())? {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(fault)) if fault.retry_in().is_none() => return Err(fault),
            Ok(Err(fault)) => fault,
            Err(Failed::Before(why)) => {
                let reason = format!(
                    "cannot reach {}: {why}; see whether the node runs there",
                    lines.host
                );
                Fault::new(FaultCode::Unavailable, reason).of_service(path)
            }
            Err(Failed::Refused(why)) => {
                let reason = format!("no connection with {}: {why}", lines.host);
                return Err(cannot(reason).of_service(path));
            }
            Err(Failed::After(why)) => {
                let reason = format!(
                    "the connection to {} failed: {why}; {operation} may have been carried out: \
                     call with a key to repeat safely",
                    lines.host
                );
                Fault::new(FaultCode::NoAnswer, reason).of_service(path)
            }
        };
        let told = fault.retry_in();
        pause = told.unwrap_or(pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        let left = until.saturating_duration_since(Instant::now());
        // Nothing says that there is such a node.
        let is_unknown = !lines.reached.load(Ordering::Relaxed);
        if is_unknown || !is_repeatable || pause >= left {
            return Err(fault);
        }
        let jitter = jitter.get_or_insert_with(Jitter::own);
        sleep(wait(pause, told.is_some(), left, jitter)).await;
    }
}

/// How long a call waits before it is sent again: any time up to `pause`. If that was told it is no
/// less, and any time more of which as much again is `left` for the answer.
fn wait(pause: Duration, is_told: bool, left: Duration, jitter: &mut Jitter) -> Duration {
    match is_told {
        true => {
            let more = left.saturating_sub(pause) / 2;
            jitter.between(pause, pause + more.min(pause))
        }
        false => jitter.between(FIRST_PAUSE, pause),
    }
}

/// What a call says beside its body.
fn with_options(mut request: Builder, options: &Options) -> Builder {
    if let Some(key) = &options.key {
        request = request.header("idempotency-key", &**key);
    }
    if let Some(version) = options.if_version {
        request = request.header(IF_MATCH, format!("\"v{version}\""));
    }
    if options.capture {
        request = request.header("motet-capture", "1");
    }
    if let Some(named) = options.named {
        let kind = if named { "fields" } else { "argument" };
        request = request.header("motet-body", kind);
    }
    if let Some(chain) = &options.chain {
        request = request.header("motet-chain", &**chain);
    }
    if let Some(trace) = &options.trace_parent {
        request = request.header("traceparent", trace.child().to_string());
    }
    request
}

/// One try.
async fn once(
    lines: &Lines,
    path: &str,
    operation: &str,
    body: &Value,
    options: &Options,
    until: Instant,
) -> Result<Result<Value, Fault>, Failed> {
    let is_get = operation == "get";
    let (method, place) = match operation {
        "get" => (Method::GET, encode(path)),
        "lookup" => (Method::GET, format!("{}/-/lookup", encode(path))),
        name => (Method::POST, format!("{}/-/{}", encode(path), encode(name))),
    };
    let left = until.saturating_duration_since(Instant::now()).as_millis();
    let mut request = lines
        .request(&method, place)
        .header("motet-timeout", left.to_string());
    request = with_options(request, options);
    let bytes = match method {
        Method::GET => Bytes::new(),
        _ => {
            request = request.header(CONTENT_TYPE, "application/json");
            Bytes::from(body.to_string())
        }
    };
    let is_short = bytes.len() <= ON_THE_WAY;
    let request = request.body(Full::new(bytes));
    let request =
        request.map_err(|why| Failed::Before(format!("the call is no request: {why}")))?;
    let (response, line) = send(lines, request).await?;
    let (head, body) = response.into_parts();
    let tag = head.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    let version = tag.and_then(version_of);
    let bytes = match whole(body, LARGEST).await? {
        Ok(bytes) => bytes,
        Err(fault) => return Ok(Err(fault.of_service(path))),
    };
    // A refusal may have come while the body was written. hyper looks for the next request before
    // it writes the last of that, and not again: whoever waited for the connection would for ever.
    if is_short || head.status.is_success() {
        lines.give_back(line);
    }
    let answer: Value = match serde_json::from_slice(&bytes) {
        Ok(answer) => answer,
        Err(_) if head.status == StatusCode::SERVICE_UNAVAILABLE => Value::Null,
        Err(why) if is_passing(head.status) => {
            let why = format!("its answer, {}, is no JSON: {why}", head.status);
            return Err(Failed::After(why));
        }
        Err(_) => return Ok(Err(no_json(&lines.host, &head).of_service(path))),
    };
    Ok(match (head.status.is_success(), version) {
        (true, Some(version)) if is_get => Ok(json!({"version": version, "state": answer})),
        (true, None) if is_get => Err(no_version(&lines.host).of_service(path)),
        (true, _) => Ok(answer),
        (false, _) => Err(fault_of(&answer, &head)),
    })
}

/// The version that an ETag tells. A proxy that compresses an answer makes the tag a weak one.
fn version_of(tag: &str) -> Option<u64> {
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    tag.strip_prefix("\"v")?.strip_suffix('"')?.parse().ok()
}

/// Whether whoever stands between says that it has not reached the node: it may later.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Of an answer that no service gives: asked for again, it would be the same.
fn no_json(host: &str, head: &Parts) -> Fault {
    let kind = head.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let reason = format!(
        "{host} answers {} with the type {kind:?}, not with JSON: it is no node of motet, or this is \
         not the path of a service",
        head.status
    );
    Fault::new(FaultCode::UnknownService, reason)
}

/// Of a state without its version: changes that ask for that would ask for another one.
fn no_version(host: &str) -> Fault {
    let reason = format!(
        "{host} answers Get without the ETag of a version: it is no node of motet, or this is not the \
         path of a service, or whoever stands between takes the header out"
    );
    Fault::new(FaultCode::UnknownService, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g420_calls_that_failed_together_are_sent_again_at_different_times() {
        let ms = Duration::from_millis;
        for (pause, is_told, left, least, most) in [
            (10, false, 30_000, 5, 10),
            (640, false, 650, 5, 640),
            (1_000, true, 30_000, 1_000, 2_000),
            // Half of what is left is for the answer.
            (1_000, true, 1_100, 1_000, 1_050),
            (5, true, 6, 5, 6),
        ] {
            let waits = (0..100).map(|seed| {
                let jitter = &mut Jitter::seeded(seed);
                wait(ms(pause), is_told, ms(left), jitter)
            });
            let waits: std::collections::BTreeSet<Duration> = waits.collect();
            let (first, last) = (waits.first().unwrap(), waits.last().unwrap());
            assert!(*first >= ms(least) && *last <= ms(most), "{waits:?}");
            assert!(waits.len() > 90, "{waits:?}");
        }
    }

    #[test]
    fn a_version_is_read_of_a_tag_that_was_made_weak_too() {
        for (tag, version) in [
            ("\"v17\"", Some(17)),
            ("W/\"v17\"", Some(17)),
            ("\"17\"", None),
            ("", None),
        ] {
            assert_eq!(version_of(tag), version, "{tag}");
        }
    }
}
