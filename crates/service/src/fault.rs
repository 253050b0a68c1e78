//! Faults: why an operation did not do what it was asked for.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::any::type_name;
use std::fmt;
use std::time::Duration;

/// The kinds of faults: the ten of DSS, and seven that it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub enum FaultCode {
    /// The service does not have this operation.
    ActionNotSupported,
    /// The operation is known, its body is not.
    MessageNotSupported,
    /// What was to be read or changed is not there.
    UnknownEntry,
    /// What was to be inserted is there already.
    DuplicateEntry,
    /// The caller may not do this.
    PermissionDenied,
    /// There is not enough of something to serve the request.
    InsufficientResources,
    /// As many operations wait as may.
    QueuingLimitExceeded,
    /// The operation was cancelled.
    OperationCanceled,
    /// Everything else.
    OperationFailed,
    /// No answer has come in the time of the call.
    ResponseTimeout,
    /// The service has ended.
    Gone,
    /// There is no service of this name.
    UnknownService,
    /// The state has another version than the caller wants.
    PreconditionFailed,
    /// The service is being started anew.
    Unavailable,
    /// The service waits for itself.
    SelfCall,
    /// The handler ended without an answer.
    NoAnswer,
    /// The caller has not said who it is.
    Unauthenticated,
}

/// Why an operation did not do what it was asked for: a code to act on, and a reason to read.
///
/// Errors of a service's own derive [`IntoFault`](crate::IntoFault): a fault of the code that the
/// variant names, which carries the error ([`Fault::domain`]).
///
/// ```
/// use motet_service::{Fault, FaultCode, IntoFault, serde::{Deserialize, Serialize}};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize, IntoFault)]
/// # #[serde(crate = "motet_service::serde")]
/// enum TillFault {
///     #[fault(PreconditionFailed)]
///     Lacks(u64),
/// }
///
/// let fault = Fault::from(TillFault::Lacks(7));
/// assert_eq!(fault.code(), FaultCode::PreconditionFailed);
/// assert_eq!(fault.domain(), Some(TillFault::Lacks(7)));
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Fault(Box<Inner>);

#[derive(Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Inner {
    code: FaultCode,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<Domain>,
}

/// An error of a service's own.
#[derive(Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
struct Domain {
    name: String,
    value: Value,
}

impl Fault {
    /// The bytes of memory that it takes, told from above.
    pub(crate) fn weight(&self) -> usize {
        let Fault(inner) = self;
        let service = inner.service.as_ref().map_or(0, String::len);
        let domain = inner.domain.as_ref();
        let domain = domain.map_or(0, |it| it.name.len() + crate::weight::weight(&it.value));
        size_of::<Inner>() + inner.reason.len() + service + domain
    }

    /// A fault with a reason: what failed, where, and what to do.
    #[must_use]
    pub fn new(code: FaultCode, reason: impl Into<String>) -> Self {
        Fault(Box::new(Inner {
            code,
            reason: reason.into(),
            service: None,
            retry_after_ms: None,
            domain: None,
        }))
    }

    /// A fault that carries an error of the service's own.
    #[must_use]
    pub fn of_domain<E: Serialize + fmt::Debug>(code: FaultCode, error: &E) -> Self {
        let mut fault = Fault::new(code, format!("{error:?}"));
        fault.0.domain = serde_json::to_value(error).ok().map(|value| Domain {
            name: type_name::<E>().to_owned(),
            value,
        });
        fault
    }

    /// [`FaultCode::OperationFailed`] with a reason.
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Fault::new(FaultCode::OperationFailed, reason)
    }

    /// [`FaultCode::UnknownEntry`] with a reason.
    #[must_use]
    pub fn unknown_entry(reason: impl Into<String>) -> Self {
        Fault::new(FaultCode::UnknownEntry, reason)
    }

    /// [`FaultCode::DuplicateEntry`] with a reason.
    #[must_use]
    pub fn duplicate_entry(reason: impl Into<String>) -> Self {
        Fault::new(FaultCode::DuplicateEntry, reason)
    }

    /// The same fault, as one of the service at `path`.
    #[must_use]
    pub fn of_service(mut self, path: &str) -> Self {
        self.0.service.get_or_insert_with(|| path.to_owned());
        self
    }

    /// The same fault, with the time after which another try may succeed.
    #[must_use]
    pub fn retry_after(mut self, span: Duration) -> Self {
        self.0.retry_after_ms = u64::try_from(span.as_millis()).ok();
        self
    }

    /// What to act on.
    #[must_use]
    pub fn code(&self) -> FaultCode {
        self.0.code
    }

    /// What to read.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The path of the service.
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        self.0.service.as_deref()
    }

    /// When another try may succeed, if that is known.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.0.retry_after_ms.map(Duration::from_millis)
    }

    /// The error of the service's own that it carries, if it is an `E`.
    #[must_use]
    pub fn domain<E: DeserializeOwned>(&self) -> Option<E> {
        let domain = self.0.domain.as_ref()?;
        let same = domain.name == type_name::<E>();
        same.then(|| E::deserialize(&domain.value).ok()).flatten()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.code)?;
        if let Some(service) = &self.0.service {
            write!(f, " of {service}")?;
        }
        write!(f, ": {}", self.0.reason)
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault({self})")
    }
}

impl std::error::Error for Fault {}

/// As any other error of a service, with nothing to add.
impl From<FaultCode> for Fault {
    fn from(code: FaultCode) -> Self {
        Fault::new(code, "the service gives no reason")
    }
}
