//! From a request to its answer: who may ask, where the request goes.

use crate::body::{HttpReply, json, typed};
use crate::caller::Caller;
use crate::headers::{FETCH_SITE, all};
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::{cbor, console, events, metrics, openapi, resource, several, target::RequestTarget};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method, Request, StatusCode};
use motet_service::{AnyClient, FaultCode, Lifecycle};
use serde_json::{Value, json};
use std::sync::Arc;

/// Answers a request, whatever it is. The certificate of the connection tells `role`.
pub(crate) async fn answer(
    site: &ServerShared,
    request: &mut Request<Incoming>,
    role: Option<Arc<str>>,
) -> HttpReply {
    let wants_cbor = cbor::is_wanted(request.headers());
    let answered = match admit(site, request) {
        Ok(()) => route(site, request, role).await,
        Err(refusal) => Err(refusal),
    };
    match answered {
        Ok(reply) if wants_cbor => cbor::instead_of_json(reply),
        answered => answered.unwrap_or_else(Refusal::into_response),
    }
}

/// Refuses what a page of another site may have sent.
fn admit(site: &ServerShared, request: &Request<Incoming>) -> Result<(), Refusal> {
    let headers = request.headers();
    if headers.len() > site.limits.headers {
        let most = site.limits.headers;
        let reason = format!("the head has more than {most} lines; send fewer");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Refusal::new(status, FaultCode::MessageNotSupported, reason));
    }
    let mut hosts = all(headers, &HOST);
    let (host, second) = (
        hosts.next().and_then(|host| host.to_str().ok()),
        hosts.next(),
    );
    let (Some(host), None) = (host, second) else {
        return Err(Refusal::bad(
            "the request has not one header Host; send one",
        ));
    };
    let named = request.uri().host();
    if !is_ours(site, host) || named.is_some_and(|named| !is_ours(site, named)) {
        let reason = format!(
            "this server is not {host:?}; ask for localhost, or give the server this name (--host)"
        );
        let status = StatusCode::MISDIRECTED_REQUEST;
        return Err(Refusal::new(status, FaultCode::PermissionDenied, reason));
    }
    let reads = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if !reads && comes_from_elsewhere(headers, host) {
        let reason = "a page of another site sends this; changes are for the console and programs";
        let status = StatusCode::FORBIDDEN;
        return Err(Refusal::new(status, FaultCode::PermissionDenied, reason));
    }
    Ok(())
}

fn is_ours(site: &ServerShared, host: &str) -> bool {
    let place = |of: u8| host.bytes().position(|byte| byte == of);
    let end = match host.starts_with('[') {
        true => place(b']').map(|end| end + 1),
        false => place(b':'),
    };
    let end = end.unwrap_or(host.len());
    let (name, port) = host.split_at(end);
    let has_port = port.is_empty() || port[1..].parse::<u16>().is_ok();
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    let is_known = ["localhost", "127.0.0.1", "[::1]"].into_iter().any(is_name);
    has_port && (is_known || site.hosts.iter().any(|known| is_name(known)))
}

fn comes_from_elsewhere(headers: &HeaderMap, host: &str) -> bool {
    let fetched = all(headers, &FETCH_SITE).next();
    if fetched.is_some_and(|site| site != "same-origin" && site != "none") {
        return true;
    }
    let Some(origin) = all(headers, &ORIGIN).next() else {
        return false;
    };
    let origin = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    origin.is_none_or(|(_, origin)| !origin.eq_ignore_ascii_case(host))
}

/// Whether the server answers there itself, whatever services there are.
pub(crate) fn is_own(path: &str) -> bool {
    let is_file = matches!(
        path,
        "/healthz" | "/readyz" | "/openapi.json" | "/metrics" | "/events"
    );
    is_file || console::is_of(path)
}

async fn route(
    site: &ServerShared,
    request: &mut Request<Incoming>,
    role: Option<Arc<str>>,
) -> Result<HttpReply, Refusal> {
    let target = RequestTarget::read(request.uri())?;
    // These answer however much there is to do.
    match target.path.as_str() {
        "/healthz" => return only_get(request, || json(&json!({"status": "ok"}))),
        "/readyz" => return only_get(request, || readiness(site)),
        path if console::is_of(path) => {
            return console::answer(path, request.method(), request.headers());
        }
        _ => {}
    }
    let caller = Caller::of(site, request.headers(), role)?;
    let Some(_place) = site.in_flight.enter() else {
        let most = site.limits.in_flight;
        return Err(Refusal::busy(format!(
            "{most} requests are being answered already; try again"
        )));
    };
    match target.path.as_str() {
        "/" => only_get(request, || directory(site)),
        "/openapi.json" => only_get(request, || json(&openapi::document(&site.node))),
        "/metrics" => only_get(request, || {
            let text = metrics::text(&site.node, &site.connections);
            typed("text/plain; version=0.0.4", text)
        }),
        "/events" => {
            only_reads(request)?;
            let stream = several::stream(site, &target, request.headers(), &caller);
            // In a box, as what is rare: all requests have room for what is awaited here.
            Box::pin(stream).await
        }
        _ => {
            let (service, rest) = find(site, &target.path)?;
            match rest {
                "/-/events" => {
                    only_reads(request)?;
                    let stream =
                        events::stream(site, &service, &target, request.headers(), &caller);
                    // In a box, as what is rare: all requests have room for what is awaited here.
                    Box::pin(stream).await
                }
                _ => resource::answer(site, &service, rest, &target, request, &caller).await,
            }
        }
    }
}

/// The service whose path is the longest front of `path`, and what is behind it.
fn find<'a>(site: &ServerShared, path: &'a str) -> Result<(AnyClient, &'a str), Refusal> {
    if let Some(found) = site.node.find_front(path) {
        return Ok(found);
    }
    let reason = format!("there is no service at {path}; GET / lists those that there are");
    let status = StatusCode::NOT_FOUND;
    Err(Refusal::new(status, FaultCode::UnknownService, reason))
}

fn only_reads(request: &Request<Incoming>) -> Result<(), Refusal> {
    match *request.method() {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Refusal::method(
            "GET, HEAD",
            "this place is only read; use GET",
        )),
    }
}

fn only_get(
    request: &Request<Incoming>,
    reply: impl FnOnce() -> HttpReply,
) -> Result<HttpReply, Refusal> {
    only_reads(request).map(|()| reply())
}

/// Which services there are.
fn directory(site: &ServerShared) -> HttpReply {
    let services = site.node.clients();
    let listed = services.iter().map(|service| {
        json!({
            "path": service.path(),
            "kind": service.kind(),
            "contract": service.contract(),
            "lifecycle": service.lifecycle(),
            "version": service.state_version(),
            "partners": service.partners(),
        })
    });
    json(&json!({"node": site.node.name(), "services": listed.collect::<Vec<_>>()}))
}

/// Whether all services serve, and why changes cannot be stored, if the last was not.
fn readiness(site: &ServerShared) -> HttpReply {
    let services = site.node.clients();
    let all = services
        .iter()
        .map(|service| (service.path(), service.lifecycle()));
    let waiting: Vec<Value> = all
        .filter(|(_, lifecycle)| *lifecycle != Lifecycle::Running)
        .map(|(path, lifecycle)| json!({"path": path, "lifecycle": lifecycle}))
        .collect();
    let mut told = json!({"ready": waiting.is_empty(), "waiting": waiting});
    if let Some(fault) = site.node.store_fault() {
        told["store"] = fault.reason().into();
    }
    let mut reply = json(&told);
    if !waiting.is_empty() {
        *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    reply
}
