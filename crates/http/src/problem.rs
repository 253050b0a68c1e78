//! Refusals: faults as statuses and `application/problem+json` (RFC 9457).

use crate::body::{Body, HttpReply};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use motet_service::{Fault, FaultCode};
use serde_json::json;
use std::time::Duration;

/// Why a request is not carried out.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    fault: Fault,
    /// The methods that are allowed, when this one is not.
    allow: Option<&'static str>,
}

impl Refusal {
    /// Of a request that no service has seen.
    pub(crate) fn new(status: StatusCode, code: FaultCode, reason: impl Into<String>) -> Self {
        Refusal {
            status,
            fault: Fault::new(code, reason),
            allow: None,
        }
    }

    /// Of a request that cannot be read.
    pub(crate) fn bad(reason: impl Into<String>) -> Self {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            FaultCode::MessageNotSupported,
            reason,
        )
    }

    /// Of a method that is not for this place.
    pub(crate) fn method(allow: &'static str, reason: impl Into<String>) -> Self {
        let (status, code) = (
            StatusCode::METHOD_NOT_ALLOWED,
            FaultCode::ActionNotSupported,
        );
        Refusal {
            allow: Some(allow),
            ..Refusal::new(status, code, reason)
        }
    }

    /// Of a request for which there is no room now.
    pub(crate) fn busy(reason: impl Into<String>) -> Self {
        let mut refusal = Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            FaultCode::QueuingLimitExceeded,
            reason,
        );
        refusal.fault = refusal.fault.retry_after(Duration::from_secs(1));
        refusal
    }

    /// With the methods that are allowed, if this one is not and they are not told yet.
    pub(crate) fn allowing(mut self, allow: impl FnOnce() -> &'static str) -> Self {
        if self.status == StatusCode::METHOD_NOT_ALLOWED && self.allow.is_none() {
            self.allow = Some(allow());
        }
        self
    }

    /// The fault alone.
    #[cfg(feature = "dssp")]
    pub(crate) fn into_fault(self) -> Fault {
        self.fault
    }

    /// The problem that an answer tells.
    pub(crate) fn told(&self) -> String {
        let (status, fault) = (self.status, &self.fault);
        let code = format!("{:?}", fault.code());
        let written = json!({
            "type": format!("urn:motet:fault:{code}"),
            "title": code,
            "status": status.as_u16(),
            "detail": fault.reason(),
            "instance": fault.service(),
            "fault": fault,
        });
        written.to_string()
    }

    pub(crate) fn into_response(self) -> HttpReply {
        let (status, fault) = (self.status, &self.fault);
        let mut response = Response::new(Body::of(self.told()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let problem = HeaderValue::from_static("application/problem+json");
        headers.insert(CONTENT_TYPE, problem);
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(span) = fault.retry_in() {
            // The header knows whole seconds only; `fault` in the body is exact.
            let seconds = span.as_millis().div_ceil(1000).max(1) as u64;
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Refusal {
            status: status(fault.code()),
            fault,
            allow: None,
        }
    }
}

fn status(code: FaultCode) -> StatusCode {
    match code {
        FaultCode::ActionNotSupported => StatusCode::METHOD_NOT_ALLOWED,
        FaultCode::MessageNotSupported => StatusCode::UNPROCESSABLE_ENTITY,
        FaultCode::UnknownEntry | FaultCode::UnknownService => StatusCode::NOT_FOUND,
        FaultCode::DuplicateEntry => StatusCode::CONFLICT,
        FaultCode::PermissionDenied => StatusCode::FORBIDDEN,
        FaultCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        FaultCode::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        FaultCode::InsufficientResources => StatusCode::INSUFFICIENT_STORAGE,
        FaultCode::QueuingLimitExceeded | FaultCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        FaultCode::ResponseTimeout => StatusCode::GATEWAY_TIMEOUT,
        FaultCode::Gone => StatusCode::GONE,
        FaultCode::SelfCall => StatusCode::LOOP_DETECTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
