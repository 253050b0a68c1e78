//! Operations whose methods are not async, and Get, on the thread of their caller: see `direct.rs`.

use super::direct::{AtOnce, GotState, NotRun, RanOr};
use super::slot::{Common, Figures, ServiceSlot};
use crate::context::{CallContext, CallingService};
use crate::latency::{ONE_IN, is_measured};
use crate::options::{Options, RequestEnvelope};
use crate::{Contract, Cx, Fault, Group, Operation, Verb};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Get, if it is let in. `None`: it would have to wait.
#[inline]
pub(super) fn get_now<C: Contract>(
    slot: &ServiceSlot<C>,
    at_once: &AtOnce<C>,
    options: Option<&Options>,
    context: Option<&CallContext>,
) -> Option<GotState<C>> {
    let _entered = at_once.enter(Group::Concurrent)?;
    let common = &*slot.common;
    let admitted = common.admit_at_once(Verb::Get, Group::Concurrent, options, context);
    let wanted = options.and_then(|options| options.if_version);
    let fits = admitted.and_then(|()| common.has_version(wanted));
    Some(fits.and_then(|()| at_once.service.get(slot)))
}

/// Runs the handler of an operation, if it is let in, and leaves its outcome in the last argument.
/// Its context keeps the slot. When it would have to wait, the request and the slot come back, and
/// the options are as they were.
#[inline]
pub(super) fn run_now<C: Contract>(
    own: Arc<ServiceSlot<C>>,
    operation: &Operation,
    request: C::Request,
    options: Option<&mut Options>,
    context: Option<&CallContext>,
    outcome: &mut Option<C::Outcome>,
) -> RanOr<C> {
    // From here on the context of the handler keeps the slot: nothing is counted to get to it.
    let mut cx = Cx::of(own, RequestEnvelope::default());
    let slot = slot_in::<C>(&cx.context.own);
    let enter = |at_once| AtOnce::enter(at_once, operation.group).map(|it| (at_once, it));
    let Some((at_once, _entered)) = slot.direct.at_once().and_then(enter) else {
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
    let service = &at_once.service;
    let result = service.run(slot, group, &cx, request, outcome);
    // Of a call that is refused nothing is learnt.
    let has_run = outcome.is_some() || matches!(result, Err(NotRun::Panic(_)));
    let result = result.map_err(|failed| failed.fault(common, is_one_way));
    if let Some(begun) = begun.filter(|_| has_run) {
        common.has_run(operation, begun, None, calls);
    }
    if let Some(outcome) = outcome {
        common.count_fault::<C>(outcome);
    }
    Ok(result)
}

/// The slot that a context keeps.
#[inline]
fn slot_in<C: Contract>(own: &Option<Arc<dyn CallingService>>) -> &ServiceSlot<C> {
    let slot = own.as_ref().and_then(|own| {
        let own: &dyn Any = &**own;
        own.downcast_ref()
    });
    slot.expect("it was made of a slot")
}

/// As [`slot_in`]; the context is not needed any more.
fn into_slot<C: Contract>(context: CallContext) -> Arc<ServiceSlot<C>> {
    let own = context.own.map(|own| own as Arc<dyn Any + Send + Sync>);
    let slot = own.and_then(|own| own.downcast().ok());
    slot.expect("it was made of a slot")
}

impl Common {
    /// When a call begins that is to be measured, of those that are carried out at once.
    #[inline]
    pub(crate) fn sampled(&self, before: u64) -> Option<Instant> {
        is_measured(before).then(|| self.shared.deadlines.clock().now())
    }

    /// What is asked of every call, of one that is made just now.
    #[inline]
    pub(crate) fn admit_at_once(
        &self,
        verb: Verb,
        group: Group,
        options: Option<&Options>,
        context: Option<&CallContext>,
    ) -> Result<(), Fault> {
        if options.is_none() && context.is_none() {
            // It says nothing that could be refused.
            return Ok(());
        }
        self.admit(verb, group, options, context, true)?;
        // What it has said itself has just begun.
        match context.and_then(|context| context.inherited.deadline) {
            Some(inherited) => self.in_time(Some(inherited)).map(drop),
            None => Ok(()),
        }
    }
}
