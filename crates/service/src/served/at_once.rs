//! Handlers that run on the thread of their caller: see `service/direct.rs`.

use super::begun;
use super::cell::{ServiceCell, enter};
use super::concurrent::{query_now, snapshot};
use super::exclusive::Failed;
use super::telling::Telling;
use crate::context::{CallContext, CallingService};
use crate::latency::{ONE_IN, is_measured};
use crate::options::{Options, RequestEnvelope};
use crate::service::{AtOnce, Common, ContractOf, Figures, GotState, RanOr, ServiceSlot, SlotOf};
use crate::{Contract, Cx, Fault, Group, Operation, Service, Verb};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Instant;

/// What carries out the operations of the service in this cell where they are called.
pub(super) fn of<S: Service>(cell: &Arc<ServiceCell<S>>) -> AtOnce<ContractOf<S>> {
    AtOnce {
        get: get::<S>,
        run: run::<S>,
        begin: begun::begin::<S>,
        cell: Arc::clone(cell) as _,
    }
}

/// As `GetNow` says.
fn get<S: Service>(
    slot: &SlotOf<S>,
    options: Option<&Options>,
    context: Option<&CallContext>,
) -> Option<GotState<ContractOf<S>>> {
    let (cell, _entered) = enter::<S>(slot, Group::Concurrent)?;
    Some(get_now(slot, cell, options, context))
}

#[inline]
fn get_now<S: Service>(
    slot: &SlotOf<S>,
    cell: &ServiceCell<S>,
    options: Option<&Options>,
    context: Option<&CallContext>,
) -> GotState<ContractOf<S>> {
    let common = &*slot.common;
    common.admit_at_once(Verb::Get, Group::Concurrent, options, context)?;
    common.has_version(options.and_then(|options| options.if_version))?;
    // The state is read where the service is: that is quicker than to share the service.
    let read = cell.read(|service| {
        let begun = common.sampled(Figures::count(&common.figures.calls));
        (begun, snapshot(common, service.state()))
    });
    let (begun, snapshot) = read.ok_or_else(|| common.absence())?;
    common.took(ContractOf::<S>::OPERATIONS.len(), begun, ONE_IN);
    Ok(snapshot)
}

/// As `RunNow` says.
fn run<S: Service>(
    own: Arc<SlotOf<S>>,
    operation: &Operation,
    request: <ContractOf<S> as Contract>::Request,
    options: Option<&mut Options>,
    context: Option<&CallContext>,
    outcome: &mut Option<<ContractOf<S> as Contract>::Outcome>,
) -> RanOr<ContractOf<S>> {
    // From here on the context of the handler keeps the slot: nothing is counted to get to it.
    let mut cx = Cx::of(own, RequestEnvelope::default());
    let slot = slot_in::<ContractOf<S>>(&cx.context.own);
    let Some((cell, _entered)) = enter::<S>(slot, operation.group) else {
        return Err((request, into_slot(cx.context)));
    };
    let (verb, group, common) = (operation.verb, operation.group, &*slot.common);
    // What is posted was let in there: a refusal is the poster's.
    let says = |what: fn(&Options) -> bool| options.as_deref().is_some_and(what);
    let is_one_way = says(|options| options.is_one_way);
    if !is_one_way
        && let Err(fault) = common.admit_at_once(verb, group, options.as_deref(), context)
    {
        return Ok(Err(fault));
    }
    let before = match group {
        Group::Exclusive => Figures::count_alone(&common.figures.changes),
        _ => Figures::count(&common.figures.calls),
    };
    let clock = common.shared.deadlines.clock();
    let is_measured = says(|options| options.at_once) || common.lengths.is_unknown(operation);
    let (begun, calls) = match is_measured {
        true => (Some(clock.now()), 1),
        false => (common.sampled(before), ONE_IN),
    };
    // Else they are as they were made.
    if options.is_some() || context.is_some() {
        cx.envelope = RequestEnvelope::new(options, context, clock, None);
        cx.context.inherited = cx.envelope.inherited();
    }
    let ended = match group {
        Group::Exclusive => cell.change_now(slot, &cx, request, None, outcome),
        _ => {
            let read = read_now(common, cell, &cx, request);
            read.map(|read| {
                *outcome = Some(read);
                None
            })
        }
    };
    let result = ended.map(|telling| tell_at_once(slot, telling));
    let result = result.map_err(|failed| match failed {
        Failed::Fault(fault) => fault,
        Failed::Panic(panicked) => {
            let fault = common.panic_fault(&panicked);
            if is_one_way {
                common.raise(panicked);
            }
            fault
        }
    });
    if let Some(begun) = begun {
        common.has_run(operation, begun, None, calls);
    }
    if let Some(outcome) = outcome {
        common.count_fault::<ContractOf<S>>(outcome);
    }
    Ok(result)
}

/// The slot that a context keeps.
fn slot_in<C: Contract>(own: &Option<Arc<dyn CallingService>>) -> &ServiceSlot<C> {
    let slot = own.as_ref().and_then(|own| own.as_any().downcast_ref());
    slot.expect("it was made of a slot")
}

/// As [`slot_in`]; the context is not needed any more.
fn into_slot<C: Contract>(context: CallContext) -> Arc<ServiceSlot<C>> {
    let own = context.own.map(CallingService::into_any);
    let slot = own.and_then(|own| own.downcast().ok());
    slot.expect("it was made of a slot")
}

/// Tells subscribers of a change. That is no call of the caller, in whose context this runs.
fn tell_at_once<C: Contract>(slot: &ServiceSlot<C>, telling: Option<Box<Telling<C>>>) {
    if telling.is_some() {
        let told = CallContext::default().run_now(|| drop(slot.tells(telling)));
        told.unwrap_or_else(|panicked| resume_unwind(panicked.0));
    }
}

fn read_now<S: Service>(
    common: &Common,
    cell: &ServiceCell<S>,
    cx: &Cx,
    request: <ContractOf<S> as Contract>::Request,
) -> Result<<ContractOf<S> as Contract>::Outcome, Failed> {
    common
        .has_version(cx.envelope.if_version())
        .map_err(Failed::Fault)?;
    let Some(service) = cell.shared() else {
        return Err(Failed::Fault(common.absence()));
    };
    query_now::<S>(&service, cx, request).map_err(Failed::Panic)
}

impl Common {
    /// When a call begins that is to be measured, of those that are carried out at once.
    fn sampled(&self, before: u64) -> Option<Instant> {
        is_measured(before).then(|| self.shared.deadlines.clock().now())
    }

    /// What is asked of every call, of one that is made just now.
    #[inline]
    pub(super) fn admit_at_once(
        &self,
        verb: Verb,
        group: Group,
        options: Option<&Options>,
        context: Option<&CallContext>,
    ) -> Result<(), Fault> {
        self.admit(verb, group, options, context, true)?;
        // What it has said itself has just begun.
        match context.and_then(|context| context.inherited.deadline) {
            Some(inherited) => self.in_time(Some(inherited)).map(drop),
            None => Ok(()),
        }
    }
}
