//! Services of other processes: the way there.

use super::client::timeout;
use crate::Fault;
use crate::context::CallContext;
use crate::json::Answering;
use crate::options::Options;
use serde_json::Value;
use std::sync::Arc;

/// The way to a service of another process: what carries a call there and the answer back.
pub trait Remote: Send + Sync {
    /// The path of the service.
    fn path(&self) -> &str;

    /// Calls an operation by its name, a uniform one by the name of its verb.
    fn call(&self, operation: &str, body: Value, options: Options) -> Answering;
}

/// Calls a service of another process: the answer is there by the caller's deadline.
pub(crate) fn call_out(
    remote: &Arc<dyn Remote>,
    name: &str,
    body: Value,
    mut options: Options,
) -> Result<Answering, Fault> {
    let context = CallContext::current();
    let waiting = context.link();
    options.inherit_trace(&context);
    let Some((own, until, within)) = context.call_out(remote.path(), options.within)? else {
        return Ok(remote.call(name, body, options));
    };
    options.within = Some(within);
    options.add_waiting(waiting);
    let sent = remote.call(name, body, options);
    let path = remote.path().to_owned();
    Ok(Box::pin(async move {
        let answer = own.deadlines().before(until, sent).await;
        answer.unwrap_or_else(|_| Err(timeout(&path)))
    }))
}
