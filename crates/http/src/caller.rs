//! Who calls, and whether he may change anything.

use crate::headers::text;
use crate::problem::Refusal;
use crate::site::ServerShared;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};
use motet_service::FaultCode;
use std::sync::Arc;

/// Whoever sends a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// His role, to which the rules of a service are applied.
    pub(crate) role: Arc<str>,
}

/// The role that changes nothing, whatever a service allows.
const VIEWER: &str = "viewer";

impl Caller {
    /// Who sends a request with these headers: whoever has a token, where the server asks for one,
    /// or else the certificate that tells `role`.
    pub(crate) fn of(
        site: &ServerShared,
        headers: &HeaderMap,
        role: Option<Arc<str>>,
    ) -> Result<Caller, Refusal> {
        let Some(keys) = &site.keys else {
            // Whoever comes from outside is somebody: rules are for him, too.
            let role = Arc::clone(&site.anonymous);
            return Ok(Caller { role });
        };
        let is_silent = !headers.contains_key(AUTHORIZATION);
        if let (Some(role), true) = (role, is_silent) {
            return Ok(Caller { role });
        }
        let Some(token) = bearer(headers)? else {
            return Err(unknown(
                "this node asks for a token; send Authorization: Bearer TOKEN, or connect with a certificate of its \
                 authority (`motet keys leaf`)",
            ));
        };
        match keys.role(token) {
            Ok(role) => Ok(Caller { role: role.into() }),
            #[cfg(feature = "tls")]
            Err(crate::keys::NotKnown::Expired(name)) => Err(unknown(format!(
                "the time of the token {name} is over; ask for another (`motet keys token`)"
            ))),
            Err(_) => Err(unknown(
                "nobody has this token; ask for one (`motet keys token`)",
            )),
        }
    }

    /// Whether he may do what changes something.
    pub(crate) fn may_change(&self) -> Result<(), Refusal> {
        if &*self.role != VIEWER {
            return Ok(());
        }
        let reason = "a viewer changes nothing; ask for a token with another role";
        let status = StatusCode::FORBIDDEN;
        Err(Refusal::new(status, FaultCode::PermissionDenied, reason))
    }
}

/// The token that the headers give.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let given = text(headers, &AUTHORIZATION)?;
    Ok(given.and_then(|given| {
        let (scheme, token) = given.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }))
}

fn unknown(reason: impl Into<String>) -> Refusal {
    let status = StatusCode::UNAUTHORIZED;
    Refusal::new(status, FaultCode::Unauthenticated, reason)
}
