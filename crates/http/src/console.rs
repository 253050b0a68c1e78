//! The console: a page of its own, which uses what everybody can use.

use crate::body::{HttpReply, empty, typed};
use crate::problem::Refusal;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, StatusCode};
use motet_service::FaultCode;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where it is.
pub(crate) const PLACE: &str = "/console/";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Name, type and text of its files.
const FILES: [(&str, &str, &str); 19] = [
    (
        "",
        "text/html; charset=utf-8",
        include_str!("../console/index.html"),
    ),
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../console/style.css"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../console/icon.svg"),
    ),
    ("api.js", SCRIPT, include_str!("../console/api.js")),
    ("app.js", SCRIPT, include_str!("../console/app.js")),
    ("dom.js", SCRIPT, include_str!("../console/dom.js")),
    ("forms.js", SCRIPT, include_str!("../console/forms.js")),
    ("jobs.js", SCRIPT, include_str!("../console/jobs.js")),
    ("live.js", SCRIPT, include_str!("../console/live.js")),
    ("log.js", SCRIPT, include_str!("../console/log.js")),
    (
        "manifests.js",
        SCRIPT,
        include_str!("../console/manifests.js"),
    ),
    ("mesh.js", SCRIPT, include_str!("../console/mesh.js")),
    ("plot.js", SCRIPT, include_str!("../console/plot.js")),
    ("service.js", SCRIPT, include_str!("../console/service.js")),
    (
        "services.js",
        SCRIPT,
        include_str!("../console/services.js"),
    ),
    ("store.js", SCRIPT, include_str!("../console/store.js")),
    ("trace.js", SCRIPT, include_str!("../console/trace.js")),
    ("tree.js", SCRIPT, include_str!("../console/tree.js")),
    ("waiting.js", SCRIPT, include_str!("../console/waiting.js")),
];

/// What the page may load: what is here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether a path is the console's.
pub(crate) fn is_of(path: &str) -> bool {
    path == "/console" || path.starts_with(PLACE)
}

/// Answers a request for one of its files.
pub(crate) fn answer(
    path: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Result<HttpReply, Refusal> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Refusal::method(
            "GET, HEAD",
            "the console is only read; use GET",
        ));
    }
    let Some(name) = path.strip_prefix(PLACE) else {
        let mut reply = empty(StatusCode::PERMANENT_REDIRECT);
        let place = HeaderValue::from_static(PLACE);
        reply.headers_mut().insert(LOCATION, place);
        return Ok(reply);
    };
    let Some((_, kind, text)) = FILES.iter().find(|(own, ..)| *own == name) else {
        let reason = format!("the console has no file {name:?}; GET {PLACE} is its page");
        let status = StatusCode::NOT_FOUND;
        return Err(Refusal::new(status, FaultCode::UnknownEntry, reason));
    };
    let tag = tag(text);
    let is_known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut reply = match is_known {
        true => empty(StatusCode::NOT_MODIFIED),
        false => typed(kind, *text),
    };
    let all = reply.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        all.insert(ETAG, tag);
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        all.insert(name, HeaderValue::from_static(value));
    }
    Ok(reply)
}

/// What tells a text from that of another version.
fn tag(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
