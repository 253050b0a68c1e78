//! Steps between neighbours that come as messages.

use crate::address::Status;
use crate::envelope::{Context, Envelope, MessageKind};

/// The steps from one neighbour on one ring or line, in one direction: what tells their messages
/// from all others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeighbourSteps {
    pub(crate) communicator: u32,
    pub(crate) status: Status,
}

impl NeighbourSteps {
    pub(super) fn has(&self, envelope: &Envelope) -> bool {
        let Context { communicator, kind } = envelope.context;
        matches!(kind, MessageKind::Step | MessageKind::StepsEnd)
            && communicator == self.communicator
            && envelope.status == self.status
    }
}
