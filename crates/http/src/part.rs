//! A part of a state as a resource: an entry, which is read, added, set, patched and removed.

use crate::body::{HttpReply, empty, json, json_with};
use crate::caller::Caller;
use crate::content::{MERGE_PATCH, given_body};
use crate::headers::{is_known, tag, tagged, text};
use crate::problem::Refusal;
use crate::site::ServerShared;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, IF_MATCH, IF_NONE_MATCH};
use hyper::{Method, Request, StatusCode};
use motet_service::{AnyClient, EntryChange, Fault, FaultCode, Options, Value};

/// The part of a state that a request is for.
#[derive(Debug)]
pub(crate) struct AddressedPart {
    pub(crate) pointer: String,
    /// Whether the path that has told it had a slash behind it: a client that has left out a name
    /// means another part.
    pub(crate) has_slash: bool,
}

/// The JSON Pointer that the path behind that of a service stands for.
pub(crate) fn pointer(rest: &str) -> String {
    let segments = rest.split('/').skip(1);
    let escaped = segments.map(|segment| segment.replace('~', "~0").replace('/', "~1"));
    escaped.map(|segment| format!("/{segment}")).collect()
}

/// The methods that are for a part of the state of a service.
fn allowed(service: &AnyClient) -> &'static str {
    match service.takes("patch") {
        true => "GET, HEAD, POST, PUT, PATCH, DELETE",
        false => "GET, HEAD",
    }
}

/// Answers a request for this part.
pub(crate) async fn answer(
    site: &ServerShared,
    service: &AnyClient,
    part: &AddressedPart,
    options: Result<Options, Refusal>,
    request: &mut Request<Incoming>,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    let method = request.method().clone();
    if matches!(method, Method::GET | Method::HEAD) {
        return read(site, service, &part.pointer, options?, request.headers()).await;
    }
    let is_change = matches!(
        method,
        Method::POST | Method::PUT | Method::PATCH | Method::DELETE
    );
    let is_patched = service.takes("patch");
    if !is_change || !is_patched {
        let reason = match is_patched {
            true => "parts of a state are read, and changed by POST, PUT, PATCH and DELETE",
            false => {
                "the contract allows no patches: parts of this state are only read, and changed \
                 by operations"
            }
        };
        return Err(Refusal::method(allowed(service), reason));
    }
    caller.may_change()?;
    if part.has_slash {
        return Err(Refusal::bad(
            "the path ends with /: it names no entry; take the / off, or name the entry by ?at=",
        ));
    }
    let options = options?;
    let wanted = WantedEntry::of(request.headers(), &method)?;
    let kinds: &[&str] = match method {
        Method::PATCH => &[MERGE_PATCH, "application/json"],
        _ => &["application/json"],
    };
    let (value, headers) = match method {
        Method::DELETE => (Value::Null, HeaderMap::new()),
        _ => given_body(site, request, kinds).await?,
    };
    let change = match (method, wanted) {
        (Method::POST, _) | (Method::PUT, WantedEntry::Absent) => EntryChange::Insert(value),
        (Method::PUT, WantedEntry::Present) => EntryChange::Replace(value),
        (Method::PUT, WantedEntry::Any) => EntryChange::Upsert(value),
        (Method::PATCH, _) => EntryChange::Update(value),
        _ => EntryChange::Delete,
    };
    // In a box, as what each call awaits.
    let changed = Box::pin(service.change_entry(&part.pointer, change, options));
    let changed = site.wakes.wait(changed).await;
    let changed = changed.map_err(|fault| wanted.refused(fault))?;
    let mut reply = json_with(headers, &Value::Null);
    if changed.created {
        *reply.status_mut() = StatusCode::CREATED;
    }
    Ok(match changed.version {
        Some(version) => tagged(reply, &tag(version)),
        None => reply,
    })
}

/// Query by pointer. The tag is that of the state, which changes whenever the part does.
async fn read(
    site: &ServerShared,
    service: &AnyClient,
    pointer: &str,
    options: Options,
    headers: &HeaderMap,
) -> Result<HttpReply, Refusal> {
    let get = service.call_with("get", Value::Null, options);
    let snapshot = site.wakes.wait(get).await?;
    let part = snapshot["state"].pointer(pointer).ok_or_else(|| {
        let reason = format!("the state has nothing at {pointer:?}");
        Fault::unknown_entry(reason).of_service(service.path())
    })?;
    let tag = tag(snapshot["version"].as_u64().unwrap_or_default());
    let reply = match is_known(headers, &tag)? {
        true => empty(StatusCode::NOT_MODIFIED),
        false => json(part),
    };
    Ok(tagged(reply, &tag))
}

/// What a change wants of the entry, beside a version of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedEntry {
    Any,
    /// `If-Match: *`
    Present,
    /// `If-None-Match: *`
    Absent,
}

impl WantedEntry {
    fn of(headers: &HeaderMap, method: &Method) -> Result<Self, Refusal> {
        let is_present = text(headers, &IF_MATCH)? == Some("*");
        match text(headers, &IF_NONE_MATCH)? {
            None if !is_present => Ok(WantedEntry::Any),
            None if *method == Method::POST => Err(unfit("If-Match wants an entry, and POST none")),
            None => Ok(WantedEntry::Present),
            Some("*") if is_present => {
                Err(unfit("If-Match wants an entry, and If-None-Match none"))
            }
            Some("*") if matches!(*method, Method::POST | Method::PUT) => Ok(WantedEntry::Absent),
            Some("*") => Err(unfit(
                "If-None-Match wants no entry, and PATCH and DELETE are for one",
            )),
            Some(_) => Err(Refusal::bad(
                "If-None-Match of a change is *: there is no such entry; for a version send \
                 If-Match, with the ETag of the state",
            )),
        }
    }

    /// The fault of who has said what the entry must be.
    fn refused(self, fault: Fault) -> Refusal {
        let is_unfit = matches!(
            (self, fault.code()),
            (WantedEntry::Present, FaultCode::UnknownEntry)
                | (WantedEntry::Absent, FaultCode::DuplicateEntry)
        );
        match is_unfit {
            true => unfit(fault.reason()),
            false => fault.into(),
        }
    }
}

/// What the entry must be cannot be, or is not.
fn unfit(reason: &str) -> Refusal {
    Fault::new(FaultCode::PreconditionFailed, reason).into()
}
