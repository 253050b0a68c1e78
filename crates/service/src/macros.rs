//! What the code calls that the attributes make. Not for programs.

pub use crate::json::{Answering, To, body_schema, from_value, schema, to_value};
pub use crate::weight::length;

use crate::Client;
use crate::json::body_from_value;
use crate::{Contract, Fault, FaultCode, Notification, Options};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Answers with a fault.
pub fn refuse<T: Send>(to: To<T>, fault: Fault) {
    drop(to.post(Err(fault)));
}

/// Answers; `false` when nobody waits any more.
#[must_use]
pub fn answer<T: Send>(to: To<T>, result: Result<T, Fault>) -> bool {
    to.post(result).is_ok()
}

/// Answers with an answer that was given before.
pub fn answer_stored<T: DeserializeOwned + Send>(to: To<T>, value: Value) {
    drop(to.post(from_value("an answer that was given before", value)));
}

/// An answer as JSON.
///
/// # Errors
/// The fault that it is, or one that says why it does not fit.
pub fn outcome<T: Serialize>(result: &Result<T, Fault>) -> Result<Value, Fault> {
    match result {
        Ok(answer) => to_value(answer),
        Err(fault) => Err(fault.clone()),
    }
}

/// Calls an operation with a body of JSON.
pub fn named<C, B, T>(
    client: Client<C>,
    body: Value,
    options: Options,
    request: fn(B) -> C::Request,
    reply: fn(To<T>) -> C::Reply,
    read: fn(C::Outcome) -> Result<T, Fault>,
) -> Answering
where
    C: Contract,
    B: DeserializeOwned + 'static,
    T: Serialize + DeserializeOwned + Send + 'static,
{
    Box::pin(async move {
        let called = async {
            let body = body_from_value("the operation", body)?;
            let call = client.call(request(body), reply, read).with(options);
            to_value(&call.await?)
        };
        let answer = called.await;
        answer.map_err(|fault| fault.of_service(client.path()))
    })
}

/// There is no such operation.
#[must_use]
pub fn unknown<C: Contract>(operation: &str) -> Answering {
    let known: Vec<&str> = C::OPERATIONS
        .iter()
        .filter(|o| o.called)
        .map(|o| o.name)
        .collect();
    let reason = format!(
        "{} has no operation {operation:?}; it has {}, and those that all services have",
        C::URI,
        known.join(", ")
    );
    let fault = Fault::new(FaultCode::ActionNotSupported, reason);
    Box::pin(async move { Err(fault) })
}

/// An operation was run in a group that is not its own.
#[must_use]
pub fn misplaced() -> Fault {
    Fault::failed("an operation was posted to a group that is not its own")
}

/// The bytes of what a notification tells, as JSON.
#[must_use]
pub fn told_length<C: Contract>(told: &Notification<C>) -> usize {
    told.length()
}

/// The result of a job as JSON.
///
/// # Errors
/// The fault that it is, or one that says why it does not fit JSON.
pub fn job_result<T: Serialize>(result: Result<T, Fault>) -> Result<crate::job::JobResult, Fault> {
    result
        .and_then(|result| to_value(&result))
        .map(crate::job::JobResult)
}
