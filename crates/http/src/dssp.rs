//! DSSP: operations as SOAP envelopes with WS-Addressing, POSTed to the path of a service.
//!
//! SOAP 1.2; 1.1 is read, and answered so. The action says the verb, the element in the body the
//! operation: its name, or any when there is but one of the verb. Not all of DSSP's text on the
//! wire is public: the names of elements in bodies are those of this project.
//!
//! Subscribe is answered like any other; what is told then is POSTed (`notify.rs`).

mod envelope;
mod notify;
pub(crate) mod state;
mod xml;

use crate::body::{HttpReply, typed};
use crate::caller::Caller;
use crate::headers::text;
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::weight;
use envelope::{ANONYMOUS, DSSP, SOAP_11, SOAP_12, envelope, kind, of_contract};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use motet_service::{AnyClient, Fault, FaultCode, Operation, Options, Value, Verb};
use xml::{XmlElement, escape};

/// The headers that are understood.
const KNOWN: [&str; 7] = [
    "Action",
    "MessageID",
    "To",
    "From",
    "ReplyTo",
    "FaultTo",
    "RelatesTo",
];

/// Whether a body is for this.
pub(crate) fn is_of(headers: &HeaderMap) -> bool {
    let kind = text(headers, &CONTENT_TYPE).ok().flatten();
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| {
        let kind = kind.trim().to_lowercase();
        matches!(kind.as_str(), "application/soap+xml" | "text/xml")
    })
}

/// A message, as far as its envelope tells.
pub(crate) struct DsspMessage {
    soap: &'static str,
    /// The verb, as the action has it.
    verb: String,
    id: Option<String>,
    pub(crate) body: Option<XmlElement>,
}

/// Answers a message by a message.
pub(crate) async fn answer(
    site: &ServerShared,
    service: &AnyClient,
    bytes: &[u8],
    options: Options,
    caller: &Caller,
) -> HttpReply {
    let limits = &site.limits;
    let message = match read(bytes, limits.depth, weight::most(limits)) {
        Ok(message) => message,
        Err((soap, fault)) => return refused(soap, None, &fault),
    };
    let (soap, id) = (message.soap, message.id.clone());
    match carried(site, service, message, options, caller).await {
        Ok((verb, body)) => {
            let action = format!("{verb}Response");
            let envelope = envelope(soap, ANONYMOUS, &relates(id.as_deref()), &action, &body);
            written(soap, StatusCode::OK, envelope)
        }
        Err(fault) => refused(soap, id.as_deref(), &fault),
    }
}

fn unfit(reason: impl Into<String>) -> Fault {
    Fault::new(FaultCode::MessageNotSupported, reason)
}

/// Reads an envelope; a fault comes with the version in which it is told.
pub(crate) fn read(
    bytes: &[u8],
    depth: usize,
    most: usize,
) -> Result<DsspMessage, (&'static str, Fault)> {
    let newest = |reason: String| (SOAP_12, unfit(reason));
    let text = std::str::from_utf8(bytes)
        .map_err(|_| newest("the message is no text in UTF-8".to_owned()))?;
    let root = xml::read(text, depth, most)
        .map_err(|why| newest(format!("the message is no XML that is taken here: {why}")))?;
    let soap = match &*root.namespace {
        SOAP_12 => SOAP_12,
        SOAP_11 => SOAP_11,
        _ => {
            return Err(newest(
                "the message is no envelope of SOAP 1.2 or 1.1".to_owned(),
            ));
        }
    };
    opened(root, soap).map_err(|fault| (soap, fault))
}

fn opened(mut root: XmlElement, soap: &'static str) -> Result<DsspMessage, Fault> {
    let is_soap =
        |element: &XmlElement, name: &str| element.name == name && &*element.namespace == soap;
    if !is_soap(&root, "Envelope") {
        return Err(unfit("the message is no envelope"));
    }
    let mut header = None;
    let mut body = None;
    for child in std::mem::take(&mut root.children) {
        match &child {
            child if is_soap(child, "Header") && header.is_none() && body.is_none() => {}
            child if is_soap(child, "Body") && body.is_none() => {}
            _ => return Err(unfit("an envelope has one Header and one Body")),
        }
        match child.name.as_str() {
            "Header" => header = Some(child),
            _ => body = Some(child),
        }
    }
    let mut body = body.ok_or_else(|| unfit("the envelope has no Body"))?;
    if body.children.len() > 1 {
        return Err(unfit("a Body has one element"));
    }
    let header = header.unwrap_or_default();
    for own in &header.children {
        let must = matches!(own.attribute("mustUnderstand"), Some("1" | "true"));
        if must && !KNOWN.contains(&own.name.as_str()) {
            return Err(unfit(format!("the header {} is not understood", own.name)));
        }
    }
    let anonymous = |name: &str| {
        let address = header.child(name).and_then(|to| to.child("Address"));
        address.is_none_or(|address| address.text.trim().ends_with("/anonymous"))
    };
    if !anonymous("ReplyTo") || !anonymous("FaultTo") {
        let reason = "answers go back the way the message came; leave ReplyTo out";
        return Err(Fault::new(FaultCode::ActionNotSupported, reason));
    }
    let content = |name: &str| header.child(name).map(|own| own.text.trim().to_owned());
    let action = content("Action").ok_or_else(|| unfit("the message has no Action"))?;
    let verb = action
        .strip_prefix(DSSP)
        .and_then(|rest| rest.strip_prefix(':'));
    let verb = verb
        .and_then(|verb| verb.strip_suffix("Request"))
        .ok_or_else(|| {
            let reason = format!("{action:?} is no action of DSSP; write {DSSP}:GetRequest");
            Fault::new(FaultCode::ActionNotSupported, reason)
        })?;
    Ok(DsspMessage {
        soap,
        verb: verb.to_owned(),
        id: content("MessageID"),
        body: body.children.pop(),
    })
}

/// Calls what a message asks for: the verb, and the body of the answer.
async fn carried(
    site: &ServerShared,
    service: &AnyClient,
    message: DsspMessage,
    options: Options,
    caller: &Caller,
) -> Result<(String, String), Fault> {
    let verb = message.verb;
    let nothing = XmlElement::default();
    let body = message.body.as_ref().unwrap_or(&nothing);
    let denied = |refusal: Refusal| refusal.into_fault();
    let mut text = String::new();
    let name = format!("{verb}Response");
    match verb.as_str() {
        "Get" => {
            let mut got = service.call_with("get", Value::Null, options).await?;
            let state = got["state"].take();
            let schema = service.state_schema();
            let name = schema["title"].as_str().unwrap_or("State");
            state::write(name, &state, &mut text);
        }
        "Lookup" => {
            let info = serde_json::to_value(service.lookup());
            let info = info.map_err(|why| Fault::failed(why.to_string()))?;
            state::write("ServiceInfo", &info, &mut text);
        }
        "Replace" => {
            caller.may_change().map_err(denied)?;
            let schema = service.state_schema();
            let state = state::value(body, &schema, &schema);
            service.call_with("replace", state, options).await?;
            state::write(&name, &Value::Null, &mut text);
        }
        "Drop" => {
            caller.may_change().map_err(denied)?;
            service.call_with("drop", Value::Null, options).await?;
            state::write(&name, &Value::Null, &mut text);
        }
        "Subscribe" => {
            // Who is told carries it out: that changes something there.
            caller.may_change().map_err(denied)?;
            let id = notify::subscribe(site, service, (message.soap, body), options).await?;
            state::write(&name, &id, &mut text);
        }
        _ => {
            let operation = operation(service, &verb, body)?;
            if operation.verb != Verb::Query {
                caller.may_change().map_err(denied)?;
            }
            let schema = (operation.body)();
            let given = state::value(body, &schema, &schema);
            let answer = service.call_with(operation.name, given, options).await?;
            state::write(&name, &answer, &mut text);
        }
    }
    Ok((verb, of_contract(text, service.contract())))
}

/// The operation of this verb that the body names.
fn operation(
    service: &AnyClient,
    verb: &str,
    body: &XmlElement,
) -> Result<&'static Operation, Fault> {
    let has_verb = |own: &&Operation| format!("{:?}", own.verb) == verb;
    let of_verb: Vec<&'static Operation> = service.operations().filter(has_verb).collect();
    let named = of_verb.iter().find(|own| own.name == body.name);
    match (named, of_verb.as_slice()) {
        (Some(own), _) => Ok(own),
        (None, [only]) => Ok(only),
        (None, []) => {
            let reason = format!("the service has no operation that is {verb}; see Lookup");
            Err(Fault::new(FaultCode::ActionNotSupported, reason).of_service(service.path()))
        }
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|own| own.name).collect();
            let reason = format!(
                "the element of the Body is {:?}; write one of {}",
                body.name,
                names.join(", ")
            );
            Err(unfit(reason).of_service(service.path()))
        }
    }
}

/// The header that says which message is answered.
fn relates(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| {
        format!("<a:RelatesTo>{}</a:RelatesTo>", escape(id))
    })
}

fn written(soap: &str, status: StatusCode, envelope: String) -> HttpReply {
    let mut reply = typed(kind(soap), envelope);
    *reply.status_mut() = status;
    reply
}

/// One of DSSP's ten sub-codes, and whether the sender is to blame.
fn code(fault: &Fault) -> (&'static str, bool) {
    match fault.code() {
        FaultCode::ActionNotSupported => ("ActionNotSupported", true),
        FaultCode::MessageNotSupported => ("MessageNotSupported", true),
        FaultCode::UnknownEntry | FaultCode::UnknownService => ("UnknownEntry", true),
        FaultCode::DuplicateEntry => ("DuplicateEntry", true),
        FaultCode::PermissionDenied | FaultCode::Unauthenticated => ("PermissionDenied", true),
        FaultCode::InsufficientResources => ("InsufficientResources", false),
        FaultCode::QueuingLimitExceeded => ("QueuingLimitExceeded", false),
        FaultCode::OperationCanceled => ("OperationCanceled", false),
        FaultCode::ResponseTimeout => ("ResponseTimeout", false),
        _ => ("OperationFailed", false),
    }
}

fn refused(soap: &str, id: Option<&str>, fault: &Fault) -> HttpReply {
    let (code, is_sender) = code(fault);
    let reason = escape(&fault.to_string());
    let body = match soap {
        SOAP_11 => {
            let side = if is_sender { "Client" } else { "Server" };
            format!(
                "<s:Fault><faultcode>s:{side}</faultcode><faultstring>{reason}</faultstring>\
                 <detail><d:{code}/></detail></s:Fault>"
            )
        }
        _ => {
            let side = if is_sender { "Sender" } else { "Receiver" };
            format!(
                "<s:Fault><s:Code><s:Value>s:{side}</s:Value><s:Subcode><s:Value>d:{code}</s:Value></s:Subcode>\
                 </s:Code><s:Reason><s:Text xml:lang=\"en\">{reason}</s:Text></s:Reason></s:Fault>"
            )
        }
    };
    let status = match is_sender && soap != SOAP_11 {
        true => StatusCode::BAD_REQUEST,
        false => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let envelope = envelope(soap, ANONYMOUS, &relates(id), "Fault", &body);
    written(soap, status, envelope)
}
