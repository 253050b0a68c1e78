//! Handlers that run on the thread of their caller: see `service/direct.rs`.

use super::Served;
use super::exclusive::Failed;
use crate::latency::ONE_IN;
use crate::options::Envelope;
use crate::service::{AtOnce, ContractOf, Figures, StateOf};
use crate::{Contract, Cx, Fault, Group, Operation, Service, Snapshot};
use std::sync::Arc;
use std::time::Instant;

impl<S: Service> AtOnce<ContractOf<S>> for Served<S> {
    fn get(&self, envelope: &Envelope) -> Option<Result<Snapshot<StateOf<S>>, Fault>> {
        let _entered = self.interleave.get()?.try_concurrent()?;
        Some(self.get_now(envelope))
    }

    fn run(
        self: Arc<Self>,
        operation: &Operation,
        request: <ContractOf<S> as Contract>::Request,
        envelope: Envelope,
    ) -> Result<
        Result<<ContractOf<S> as Contract>::Outcome, Fault>,
        (<ContractOf<S> as Contract>::Request, Envelope),
    > {
        let entered = self.interleave.get().and_then(|it| match operation.group {
            Group::Exclusive => it.try_exclusive(),
            _ => it.try_concurrent(),
        });
        let Some(_entered) = entered else {
            return Err((request, envelope));
        };
        if let Err(fault) = self.in_time_at_once(&envelope) {
            return Ok(Err(fault));
        }
        let common = &self.slot.common;
        let begun = self.sampled(Figures::count(&common.figures.calls));
        let cx = Cx::new(common, envelope);
        let ended = match operation.group {
            Group::Exclusive => self.change_now(&cx, request, None),
            _ => self.read_now(&cx, request),
        };
        let result = ended.map_err(|failed| match failed {
            Failed::Fault(fault) => fault,
            Failed::Panic(panicked) => self.panic_fault(&panicked),
        });
        self.took(operation.number, begun, ONE_IN);
        if let Ok(outcome) = &result
            && ContractOf::<S>::fault(outcome).is_some()
        {
            Figures::count(&common.figures.faults);
        }
        Ok(result)
    }
}

impl<S: Service> Served<S> {
    fn get_now(&self, envelope: &Envelope) -> Result<Snapshot<StateOf<S>>, Fault> {
        let common = &self.slot.common;
        self.in_time_at_once(envelope)?;
        self.has_version(envelope)?;
        // The state is read under the lock: that is quicker than to share the service.
        let cell = self.cell.lock();
        let service = cell.as_ref().ok_or_else(|| common.absence())?;
        let begun = self.sampled(Figures::count(&common.figures.calls));
        let snapshot = self.snapshot(service);
        self.took(ContractOf::<S>::OPERATIONS.len(), begun, ONE_IN);
        Ok(snapshot)
    }

    /// When a call begins that is to be measured, of those that are carried out at once.
    fn sampled(&self, before: u64) -> Option<Instant> {
        let clock = self.slot.common.shared.deadlines.clock();
        before.is_multiple_of(ONE_IN).then(|| clock.now())
    }

    fn read_now(
        &self,
        cx: &Cx,
        request: <ContractOf<S> as Contract>::Request,
    ) -> Result<<ContractOf<S> as Contract>::Outcome, Failed> {
        self.has_version(&cx.envelope).map_err(Failed::Fault)?;
        let Some(service) = self.cell.lock().clone() else {
            return Err(Failed::Fault(self.slot.common.absence()));
        };
        self.query_now(&service, cx, request).map_err(Failed::Panic)
    }

    /// As [`Served::in_time`], for a call that has been made just now.
    fn in_time_at_once(&self, envelope: &Envelope) -> Result<(), Fault> {
        match envelope.is_inherited() {
            true => self.in_time(envelope).map(drop),
            false => Ok(()),
        }
    }
}
