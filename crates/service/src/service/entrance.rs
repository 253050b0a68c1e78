//! The entrance of a service: what may be posted has an envelope, and room where it waits.

use super::slot::Common;
use crate::context::CallContext;
use crate::depth::DepthRoom;
use crate::options::{Options, RequestEnvelope};
use crate::{Fault, FaultCode, Group, Verb};
use std::time::{Duration, Instant};

/// An operation that may be posted.
pub(crate) struct EnteredOperation {
    pub(super) room: DepthRoom,
    pub(super) envelope: RequestEnvelope,
    /// Until when its answer may take.
    pub(super) deadline: Instant,
}

impl Common {
    /// Checks whether an operation may be asked for, and takes room. `waits`: for its answer.
    pub(super) fn enter(
        &self,
        (verb, group): (Verb, Group),
        mut options: Options,
        waits: bool,
    ) -> Result<EnteredOperation, Fault> {
        let context = CallContext::inherited();
        let mut envelope = self.envelop(verb, group, &mut options, context.as_ref(), waits)?;
        let room = match self.depth(group) {
            Some(depth) => depth.enter().ok_or_else(|| self.full(group))?,
            None => DepthRoom::none(),
        };
        let deadline = envelope.limit_to(self.shared.deadlines.clock(), self.shared.limit());
        if !waits {
            envelope.set_one_way();
        }
        Ok(EnteredOperation {
            room,
            envelope,
            deadline,
        })
    }

    /// As [`Common::enter`], and waits for room.
    pub(super) async fn enter_wait(
        &self,
        (verb, group): (Verb, Group),
        mut options: Options,
        context: Option<CallContext>,
    ) -> Result<EnteredOperation, Fault> {
        let mut envelope = self.envelop(verb, group, &mut options, context.as_ref(), true)?;
        let deadlines = &self.shared.deadlines;
        let deadline = envelope.limit_to(deadlines.clock(), self.shared.limit());
        let room = match self.depth(group) {
            Some(depth) => {
                let entered = deadlines.before(deadline, depth.enter_wait()).await;
                entered.map_err(|_| self.full(group))?
            }
            None => DepthRoom::none(),
        };
        Ok(EnteredOperation {
            room,
            envelope,
            deadline,
        })
    }

    #[cold]
    fn full(&self, group: Group) -> Fault {
        let limit = self.depth(group).map_or(0, |depth| depth.limit());
        let reason = format!("{limit} operations wait there already; try again, or wait for room");
        Fault::new(FaultCode::QueuingLimitExceeded, reason)
            .of_service(&self.path)
            .retry_after(Duration::from_millis(10))
    }
}
