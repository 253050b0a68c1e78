//! What all requests of a server share.

use crate::Limits;
use crate::keys::Keys;
use crate::wakes::Wakes;
use motet_service::Node;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// What all requests share.
pub(crate) struct ServerShared {
    pub(crate) node: Node,
    pub(crate) hosts: Vec<String>,
    pub(crate) keys: Option<Keys>,
    /// Whether only those may connect who have a certificate.
    pub(crate) mutual: bool,
    pub(crate) limits: Limits,
    pub(crate) in_flight: Semaphore,
    pub(crate) wakes: Arc<Wakes>,
    /// The role of those who need none.
    pub(crate) anonymous: Arc<str>,
    pub(crate) stop: watch::Receiver<bool>,
}
