//! Handlers that run on the thread of their caller: see `service/direct.rs`.

use super::Served;
use super::exclusive::Failed;
use super::telling::Telling;
use crate::context::CallContext;
use crate::latency::{ONE_IN, is_measured};
use crate::options::{Options, RequestEnvelope};
use crate::service::{AtOnce, ContractOf, Figures, RanOr, SlotOf, StateOf};
use crate::{Contract, Cx, Fault, Group, Operation, Service, Snapshot, Verb};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Instant;

impl<S: Service> AtOnce<ContractOf<S>> for Served<S> {
    fn get(
        &self,
        options: &Options,
        context: Option<&CallContext>,
    ) -> Option<Result<Snapshot<StateOf<S>>, Fault>> {
        let _entered = self.interleave.get()?.try_concurrent()?;
        Some(self.get_now(options, context))
    }

    fn run(
        self: Arc<Self>,
        operation: &Operation,
        request: <ContractOf<S> as Contract>::Request,
        options: &mut Options,
        context: Option<&CallContext>,
        own: Arc<SlotOf<S>>,
    ) -> RanOr<ContractOf<S>> {
        let entered = self.interleave.get().and_then(|it| match operation.group {
            Group::Exclusive => it.try_exclusive(),
            _ => it.try_concurrent(),
        });
        let Some(_entered) = entered else {
            return Err((request, own));
        };
        let (verb, group) = (operation.verb, operation.group);
        if let Err(fault) = self.admit_at_once(verb, group, options, context) {
            return Ok(Err(fault));
        }
        let common = &self.slot.common;
        let before = match operation.group {
            Group::Exclusive => Figures::count_alone(&common.figures.changes),
            _ => Figures::count(&common.figures.calls),
        };
        let clock = common.shared.deadlines.clock();
        let is_measured = options.at_once || common.lengths.is_unknown(operation);
        let (begun, calls) = match is_measured {
            true => (Some(clock.now()), 1),
            false => (self.sampled(before), ONE_IN),
        };
        let cx = Cx::of(own, RequestEnvelope::new(options, context, clock, None));
        let ended = match operation.group {
            Group::Exclusive => self
                .change_now(&cx, request, None)
                .map(|(outcome, telling)| {
                    self.tell_at_once(telling);
                    outcome
                }),
            _ => self.read_now(&cx, request),
        };
        let result = ended.map_err(|failed| match failed {
            Failed::Fault(fault) => fault,
            Failed::Panic(panicked) => self.slot.common.panic_fault(&panicked),
        });
        if let Some(begun) = begun {
            self.slot.common.has_run(operation, begun, None, calls);
        }
        if let Ok(outcome) = &result
            && ContractOf::<S>::fault(outcome).is_some()
        {
            Figures::count(&common.figures.faults);
        }
        Ok(result)
    }
}

impl<S: Service> Served<S> {
    /// Tells subscribers of a change. That is no call of the caller, in whose context this runs.
    fn tell_at_once(&self, telling: Option<Box<Telling<ContractOf<S>>>>) {
        if telling.is_some() {
            let told = CallContext::default().run_now(|| drop(self.tells(telling)));
            told.unwrap_or_else(|panicked| resume_unwind(panicked.0));
        }
    }

    #[inline]
    fn get_now(
        &self,
        options: &Options,
        context: Option<&CallContext>,
    ) -> Result<Snapshot<StateOf<S>>, Fault> {
        let common = &self.slot.common;
        self.admit_at_once(Verb::Get, Group::Concurrent, options, context)?;
        self.slot.common.has_version(options.if_version)?;
        // The state is read where the service is: that is quicker than to share the service.
        let read = self.cell.with(|cell| {
            let service = cell.as_ref()?;
            let begun = self.sampled(Figures::count(&common.figures.calls));
            Some((begun, self.snapshot(service)))
        });
        let (begun, snapshot) = read.ok_or_else(|| common.absence())?;
        self.slot
            .common
            .took(ContractOf::<S>::OPERATIONS.len(), begun, ONE_IN);
        Ok(snapshot)
    }

    /// When a call begins that is to be measured, of those that are carried out at once.
    fn sampled(&self, before: u64) -> Option<Instant> {
        let clock = self.slot.common.shared.deadlines.clock();
        is_measured(before).then(|| clock.now())
    }

    fn read_now(
        &self,
        cx: &Cx,
        request: <ContractOf<S> as Contract>::Request,
    ) -> Result<<ContractOf<S> as Contract>::Outcome, Failed> {
        self.slot
            .common
            .has_version(cx.envelope.if_version())
            .map_err(Failed::Fault)?;
        let Some(service) = self.cell.with(|cell| cell.clone()) else {
            return Err(Failed::Fault(self.slot.common.absence()));
        };
        self.query_now(&service, cx, request).map_err(Failed::Panic)
    }

    /// What is asked of every call, of one that is made just now.
    #[inline]
    fn admit_at_once(
        &self,
        verb: Verb,
        group: Group,
        options: &Options,
        context: Option<&CallContext>,
    ) -> Result<(), Fault> {
        self.slot
            .common
            .admit(verb, group, options, context, true)?;
        // What it has said itself has just begun.
        match context.and_then(|context| context.deadline) {
            Some(inherited) => self.slot.common.in_time(Some(inherited)).map(drop),
            None => Ok(()),
        }
    }
}
