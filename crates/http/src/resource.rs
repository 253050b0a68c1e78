//! A service as a resource: its state, parts of it, and its operations.

use crate::body::{HttpReply, empty, json, json_with, typed};
use crate::caller::Caller;
#[cfg(feature = "dssp")]
use crate::content::bytes;
use crate::content::{MERGE_PATCH, body, fitting, kind};
#[cfg(feature = "dssp")]
use crate::dssp;
use crate::headers::{
    BODY, CAPTURE, CHAIN, KEY, TIMEOUT, is_known, tag, tagged, text, trace_parent, version,
};
use crate::part::{self, AddressedPart};
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::target::{RequestTarget, body_of};
use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH, LOCATION};
use hyper::{Method, Request, StatusCode};
use motet_service::{AnyClient, Fault, FaultCode, Operation, Options, Value, Verb};
use std::sync::Arc;
use std::time::Duration;

const JSON_PATCH: &str = "application/json-patch+json";

/// Answers a request for a service, or for what is behind its path.
pub(crate) async fn answer(
    site: &ServerShared,
    service: &AnyClient,
    rest: &str,
    target: &RequestTarget,
    request: &mut Request<Incoming>,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    let answered = answer_at(site, service, rest, target, request, caller).await;
    answered.map_err(|refusal| {
        refusal.allowing(|| match rest {
            "" => allowed(service),
            // No method is for an operation that is not there.
            _ => "",
        })
    })
}

/// The methods that are for the state of a service.
fn allowed(service: &AnyClient) -> &'static str {
    let (is_set, is_patched) = (service.takes("replace"), service.takes("patch"));
    match (is_set, is_patched, deletion(service).is_some()) {
        (true, true, true) => "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
        (true, true, false) => "GET, HEAD, PUT, PATCH, OPTIONS",
        (true, false, true) => "GET, HEAD, PUT, DELETE, OPTIONS",
        (true, false, false) => "GET, HEAD, PUT, OPTIONS",
        (false, true, true) => "GET, HEAD, PATCH, DELETE, OPTIONS",
        (false, true, false) => "GET, HEAD, PATCH, OPTIONS",
        (false, false, true) => "GET, HEAD, DELETE, OPTIONS",
        (false, false, false) => "GET, HEAD, OPTIONS",
    }
}

/// The operation that `DELETE` calls: the one of the contract with this verb, if there is one.
fn deletion(service: &AnyClient) -> Option<&'static str> {
    let mut deleting = service.operations().filter(|own| own.verb == Verb::Delete);
    let only = deleting.next()?;
    deleting.next().is_none().then_some(only.name)
}

async fn answer_at(
    site: &ServerShared,
    service: &AnyClient,
    rest: &str,
    target: &RequestTarget,
    request: &mut Request<Incoming>,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    // Whether a method is for this place is told first.
    let options = options(request.headers(), caller);
    if let Some(name) = named(rest) {
        let called = CalledOperation::of(service, name);
        if !called.reads {
            caller.may_change()?;
        }
        return operation(site, service, &called, target, options, request).await;
    }
    if let Some(pointer) = pointed(service, rest, target, request.method()) {
        let has_slash = target.has_slash && !rest.is_empty();
        let part = AddressedPart { pointer, has_slash };
        let answered = part::answer(site, service, &part, options, request, caller);
        // In a box, as what is rare: all requests have room for what is awaited here.
        return Box::pin(answered).await;
    }
    of_state(site, service, target, options, request, caller).await
}

/// The pointer to the part of the state that is meant: by the path behind that of the service, or
/// by the query. The query of `DELETE` is the body of the operation that deletes, if there is one.
fn pointed(
    service: &AnyClient,
    rest: &str,
    target: &RequestTarget,
    method: &Method,
) -> Option<String> {
    if !rest.is_empty() {
        return Some(part::pointer(rest));
    }
    let is_other = match *method {
        Method::OPTIONS => true,
        Method::DELETE => deletion(service).is_some(),
        _ => false,
    };
    let pointer = target.parameter("at").filter(|_| !is_other);
    pointer.map(str::to_owned)
}

/// Answers a request for the whole state.
async fn of_state(
    site: &ServerShared,
    service: &AnyClient,
    target: &RequestTarget,
    options: Result<Options, Refusal>,
    request: &mut Request<Incoming>,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    match *request.method() {
        Method::GET | Method::HEAD => state(site, service, options?, request.headers()).await,
        Method::PUT => {
            may_set(caller, request.headers())?;
            let options = options?;
            let (body, headers) = body(site, request, &["application/json"]).await?;
            change(site, service, "replace", options, (body, headers)).await
        }
        Method::PATCH => {
            may_set(caller, request.headers())?;
            let options = options?;
            let kinds = [MERGE_PATCH, "application/json", JSON_PATCH];
            let operation = match kind(request.headers())?.as_deref() {
                Some(JSON_PATCH) => "patch_json",
                _ => "patch",
            };
            let (body, headers) = body(site, request, &kinds).await?;
            change(site, service, operation, options, (body, headers)).await
        }
        Method::DELETE => delete(site, service, target, options, request.headers(), caller).await,
        #[cfg(feature = "dssp")]
        Method::POST if dssp::is_of(request.headers()) => {
            let options = options?;
            let bytes = bytes(site, request).await?;
            let answered = dssp::answer(site, service, &bytes, options, caller);
            // In a box, as what is rare: all requests have room for what is awaited here.
            Ok(Box::pin(answered).await)
        }
        Method::OPTIONS => described(service),
        _ => Err(Refusal::method(
            allowed(service),
            "the state is read, set and patched here; POST operations to -/NAME, -/drop ends the service",
        )),
    }
}

/// The operation that is called by what is behind the path of a service.
fn named(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix("/-/")?;
    (!name.contains('/')).then_some(name)
}

/// What the headers say of the call.
pub(crate) fn options(headers: &HeaderMap, caller: &Caller) -> Result<Options, Refusal> {
    let mut options = Options::default();
    options.principal = Some(Arc::clone(&caller.role));
    // Few calls say more.
    let says = |name: &HeaderName| name.as_str().starts_with(['m', 'i', 't']);
    if !headers.keys().any(says) {
        return Ok(options);
    }
    if let Some(span) = text(headers, &TIMEOUT)? {
        let span = span.parse().map_err(|_| {
            let reason = format!("Motet-Timeout is {span:?}; write milliseconds, such as 250");
            Refusal::bad(reason)
        })?;
        options.within = Some(Duration::from_millis(span));
    }
    if let Some(key) = text(headers, &KEY)? {
        if key.is_empty() || key.len() > 256 {
            let reason = "Idempotency-Key has 1 to 256 characters";
            return Err(Refusal::bad(reason));
        }
        options.key = Some(key.into());
    }
    options.capture = match text(headers, &CAPTURE)? {
        None | Some("0") => false,
        Some("1") => true,
        Some(other) => {
            let reason = format!("Motet-Capture is {other:?}; write 1, or leave it out");
            return Err(Refusal::bad(reason));
        }
    };
    options.named = match text(headers, &BODY)? {
        None => None,
        Some("fields") => Some(true),
        Some("argument") => Some(false),
        Some(other) => {
            let reason =
                format!("Motet-Body is {other:?}; write fields or argument, or leave it out");
            return Err(Refusal::bad(reason));
        }
    };
    options.chain = text(headers, &CHAIN)?.map(Arc::from);
    options.trace_parent = trace_parent(headers).map(Arc::new);
    match text(headers, &IF_MATCH)? {
        None | Some("*") => {}
        Some(tag) => {
            options.if_version = Some(version(tag).ok_or_else(|| {
                let reason = format!("If-Match is {tag:?}; write the ETag of one version, \"v17\"");
                Refusal::bad(reason)
            })?);
        }
    }
    Ok(options)
}

/// Refuses who changes nothing, and a change that is to be made only if there is no state, which
/// there is, or not a certain one.
fn may_set(caller: &Caller, headers: &HeaderMap) -> Result<(), Refusal> {
    caller.may_change()?;
    match text(headers, &IF_NONE_MATCH)? {
        None => Ok(()),
        Some("*") => {
            let reason = "the service has a state, and If-None-Match wants none";
            Err(Fault::new(FaultCode::PreconditionFailed, reason).into())
        }
        Some(_) => Err(Refusal::bad(
            "If-None-Match is for GET; a change takes If-Match, with the ETag of the state",
        )),
    }
}

/// Replace, or a patch. Of the version that it has made the answer has the ETag, if that tells who
/// asks what the state is now (RFC 9110, 9.3.4).
async fn change(
    site: &ServerShared,
    service: &AnyClient,
    operation: &str,
    options: Options,
    (body, headers): (Value, HeaderMap),
) -> Result<HttpReply, Refusal> {
    // In a box, as what each call awaits.
    let changed = Box::pin(service.change(operation, body, options));
    let version = site.wakes.wait(changed).await?;
    let reply = json_with(headers, &Value::Null);
    Ok(match version {
        Some(version) => tagged(reply, &tag(version)),
        None => reply,
    })
}

/// Delete. What is to be deleted stands in the query, as the body of a read does.
async fn delete(
    site: &ServerShared,
    service: &AnyClient,
    target: &RequestTarget,
    options: Result<Options, Refusal>,
    headers: &HeaderMap,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    let Some(name) = deletion(service) else {
        let reason = "the contract has no operation that deletes, or several: POST to -/NAME; \
                      -/drop ends the service";
        return Err(Refusal::method(allowed(service), reason));
    };
    may_set(caller, headers)?;
    let options = options?;
    let body = fitting(body_of(&target.parameters), site.limits.depth)?;
    let called = CalledOperation::of(service, name);
    carry_out(site, service, &called, options, (body, HeaderMap::new())).await
}

/// Get.
async fn state(
    site: &ServerShared,
    service: &AnyClient,
    options: Options,
    headers: &HeaderMap,
) -> Result<HttpReply, Refusal> {
    let get = service.state_text(options);
    let (version, state) = site.wakes.wait(get).await?;
    let tag = tag(version);
    let reply = match is_known(headers, &tag)? {
        true => empty(StatusCode::NOT_MODIFIED),
        false => typed("application/json", state),
    };
    Ok(tagged(reply, &tag))
}

/// Lookup, with what may be done here.
fn described(service: &AnyClient) -> Result<HttpReply, Refusal> {
    let mut reply = json(&lookup(service)?);
    let headers = reply.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allowed(service)));
    Ok(reply)
}

fn lookup(service: &AnyClient) -> Result<Value, Refusal> {
    let written = serde_json::to_value(service.lookup());
    written.map_err(|why| Fault::failed(format!("Lookup does not fit JSON: {why}")).into())
}

/// The operation that a request calls.
struct CalledOperation<'a> {
    name: &'a str,
    /// Whether it changes nothing.
    reads: bool,
    /// Whether it answers with a job.
    job: bool,
}

impl<'a> CalledOperation<'a> {
    fn of(service: &AnyClient, name: &'a str) -> Self {
        let own = service.operation(name);
        let is_query = |own: &Operation| own.verb == Verb::Query;
        CalledOperation {
            name,
            reads: matches!(name, "get" | "lookup") || own.is_some_and(is_query),
            job: own.is_some_and(|own| own.job),
        }
    }
}

/// Of an operation that is called by other methods, or by none, since it is not taken here.
fn not_called_so(service: &AnyClient, called: &CalledOperation<'_>) -> Refusal {
    let name = called.name;
    if !service.takes(name) {
        let path = service.path();
        let reason = format!("{path} does not take {name}; {path}/-/lookup tells what it takes");
        return Refusal::method("", reason);
    }
    let allow = match called.reads {
        true => "GET, HEAD, POST",
        false => "POST",
    };
    Refusal::method(allow, format!("{name} is called by {allow}"))
}

/// An operation by its name.
async fn operation(
    site: &ServerShared,
    service: &AnyClient,
    called: &CalledOperation<'_>,
    target: &RequestTarget,
    options: Result<Options, Refusal>,
    request: &mut Request<Incoming>,
) -> Result<HttpReply, Refusal> {
    let name = called.name;
    let (options, (body, headers)) = match *request.method() {
        Method::GET | Method::HEAD if name == "lookup" => return Ok(json(&lookup(service)?)),
        Method::GET | Method::HEAD if called.reads => {
            let body = body_of(&target.parameters);
            let body = fitting(body, site.limits.depth);
            (options?, (body?, HeaderMap::new()))
        }
        Method::POST => {
            let kinds = ["application/json", "application/x-www-form-urlencoded"];
            (options?, body(site, request, &kinds).await?)
        }
        _ => return Err(not_called_so(service, called)),
    };
    carry_out(site, service, called, options, (body, headers)).await
}

/// Calls an operation with a body, and answers with these headers, too.
async fn carry_out(
    site: &ServerShared,
    service: &AnyClient,
    called: &CalledOperation<'_>,
    options: Options,
    (body, headers): (Value, HeaderMap),
) -> Result<HttpReply, Refusal> {
    let answer = site.call(service, called.name, body, options).await?;
    let mut reply = json_with(headers, &answer);
    if called.job
        && let Some(path) = answer["path"].as_str()
    {
        *reply.status_mut() = StatusCode::ACCEPTED;
        if let Ok(path) = HeaderValue::from_str(path) {
            reply.headers_mut().insert(LOCATION, path);
        }
    }
    Ok(reply)
}
