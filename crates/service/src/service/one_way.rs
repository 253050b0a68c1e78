//! Operations of which no answer is wanted, where they are posted: see `direct.rs`.

use super::direct::Nested;
use super::run_now::run_now;
use super::slot::ServiceSlot;
use crate::context::CallContext;
use crate::options::Options;
use crate::{Contract, Fault};
use motet_dispatch::Causalities;
use std::sync::Arc;

/// Carries out an operation of which no answer is wanted where it is posted, if that may be done
/// now. Else it comes back.
///
/// # Errors
/// The fault that its poster gets.
pub(super) fn begin_one_way<C: Contract>(
    slot: &Arc<ServiceSlot<C>>,
    request: C::Request,
    mut options: Options,
) -> Result<Option<(C::Request, Options)>, Fault> {
    let (operation, common) = (C::operation(&request), &slot.common);
    // Its panic would go to those.
    let may = !operation.is_async && !options.is_own && Causalities::active().is_empty();
    let Some(_nested) = may.then(Nested::enter_more).flatten() else {
        return Ok(Some((request, options)));
    };
    let context = CallContext::inherited();
    // What a handler posts to a service that waits for it runs later. What is captured is posted.
    let is_posted = |context: &CallContext| {
        let is_traced = context.inherited.trace.is_some() && !common.path.starts_with("/sys/");
        is_traced || context.is_held_by(&**common)
    };
    let is_posted = context.as_ref().is_some_and(is_posted);
    options.is_one_way = true;
    let direct = || slot.direct(Some(operation), Some(&options), None);
    let at_once = (!is_posted).then(direct).flatten();
    if at_once.is_none() {
        return Ok(Some((request, options)));
    }
    // It inherits nothing else: nobody waits for it.
    let principal = || context.as_ref().and_then(CallContext::principal);
    options.principal = options.principal.take().or_else(principal);
    if let Some(context) = &context {
        options.inherit_trace(context);
    }
    common.admit(operation.verb, operation.group, Some(&options), None, false)?;
    let slot = Arc::clone(slot);
    // Nothing of it is the poster's: neither a call, nor a panic beside the handler.
    let run = || {
        run_now(
            slot,
            operation,
            request,
            Some(&mut options),
            None,
            &mut None,
        )
    };
    match CallContext::default().run_now(run) {
        // What it would be answered nobody hears.
        Ok(Ok(_answer)) => Ok(None),
        Ok(Err((request, _))) => Ok(Some((request, options))),
        Err(panicked) => {
            common.raise(panicked);
            Ok(None)
        }
    }
}
