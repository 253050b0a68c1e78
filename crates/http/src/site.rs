//! What all requests of a server share.

use crate::Limits;
use crate::crossing::Crossing;
use crate::keys::Keys;
use crate::problem::Refusal;
use motet_service::{AnyClient, Node, Options, Value};
use tokio::sync::{Semaphore, watch};

/// What all requests share.
pub(crate) struct Site {
    pub(crate) node: Node,
    pub(crate) crossing: Crossing,
    pub(crate) hosts: Vec<String>,
    pub(crate) keys: Option<Keys>,
    /// Whether only those may connect who have a certificate.
    pub(crate) mutual: bool,
    pub(crate) limits: Limits,
    pub(crate) in_flight: Semaphore,
    pub(crate) stop: watch::Receiver<bool>,
}

impl Site {
    /// Calls an operation that may change something.
    pub(crate) async fn call(
        &self,
        service: &AnyClient,
        operation: &str,
        body: Value,
        options: Options,
    ) -> Result<Value, Refusal> {
        let answering = service.call_with(operation, body, options);
        Ok(self.crossing.call(answering).await?)
    }
}
