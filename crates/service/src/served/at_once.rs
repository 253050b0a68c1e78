//! Handlers that run on the thread of their caller: see `service/direct.rs`.

use super::begun;
use super::cell::ServiceCell;
use super::concurrent::{query_now, snapshot};
use super::telling::Telling;
use crate::context::CallContext;
use crate::latency::ONE_IN;
use crate::service::{AtOnce, ContractOf, Figures, GotState, NotRun, ServesAtOnce};
use crate::service::{ServiceSlot, SlotOf};
use crate::{Contract, Cx, Group, Service};
use motet_ports::ActiveInterleave;
use std::sync::Arc;

/// What carries out the operations of the service in this cell where they are called.
pub(super) fn of<S: Service>(
    cell: &Arc<ServiceCell<S>>,
    interleave: ActiveInterleave,
) -> AtOnce<ContractOf<S>> {
    AtOnce {
        interleave,
        begin: begun::begin::<S>,
        service: Arc::clone(cell) as _,
    }
}

impl<S: Service> ServesAtOnce<ContractOf<S>> for ServiceCell<S> {
    #[inline]
    fn get(&self, slot: &SlotOf<S>) -> GotState<ContractOf<S>> {
        let common = &*slot.common;
        // The state is read where the service is: that is quicker than to share the service.
        let read = self.read(|service| {
            let begun = common.sampled(Figures::count(&common.figures.calls));
            (begun, snapshot(common, service.state()))
        });
        let (begun, snapshot) = read.ok_or_else(|| common.absence())?;
        common.took(ContractOf::<S>::OPERATIONS.len(), begun, ONE_IN);
        Ok(snapshot)
    }

    #[inline]
    fn run(
        &self,
        slot: &SlotOf<S>,
        group: Group,
        cx: &Cx,
        request: <ContractOf<S> as Contract>::Request,
        outcome: &mut Option<<ContractOf<S> as Contract>::Outcome>,
    ) -> Result<(), NotRun> {
        if group == Group::Exclusive {
            let telling = self.change_now(slot, cx, request, None, outcome)?;
            tell_at_once(slot, telling);
            return Ok(());
        }
        let common = &*slot.common;
        let fits = common.has_version(cx.envelope.if_version());
        fits.map_err(NotRun::Fault)?;
        let Some(service) = self.shared() else {
            return Err(NotRun::Fault(common.absence()));
        };
        let read = query_now::<S>(&service, cx, request).map_err(NotRun::Panic)?;
        *outcome = Some(read);
        Ok(())
    }
}

/// Tells subscribers of a change. That is no call of the caller, in whose context this runs: a
/// panic of what is told does not keep its answer from it.
fn tell_at_once<C: Contract>(slot: &ServiceSlot<C>, telling: Option<Box<Telling<C>>>) {
    if telling.is_some() {
        let told = CallContext::default().run_now(|| drop(slot.tells(telling)));
        told.unwrap_or_else(|panicked| slot.common.raise(panicked));
    }
}
