//! Async handlers that begin on the thread of their caller: see `service/direct.rs`.
//!
//! ```text
//!   let in ──► polled here ──► ended: the outcome is there
//!                  └─────────► waits: stays in its group, and goes on as a task
//! ```

use super::Served;
use super::cell::enter;
use super::exclusive::Ended;
use crate::context::CallContext;
use crate::latency::{ONE_IN, is_measured};
use crate::options::{Options, RequestEnvelope};
use crate::service::{BegunHandler, BegunOr, Common, ContractOf, Figures, Nested, RestOfHandler};
use crate::service::{SlotOf, no_answer, timeout};
use crate::{Contract, Cx, Fault, Group, Operation, Service};
use motet_dispatch::Causalities;
use motet_ports::SentInterleave;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// As `BeginNow` says.
pub(super) fn begin<S: Service>(
    own: Arc<SlotOf<S>>,
    request: <ContractOf<S> as Contract>::Request,
    options: Option<&mut Options>,
    context: Option<&CallContext>,
) -> BegunOr<ContractOf<S>> {
    let operation = ContractOf::<S>::operation(&request);
    let (verb, group) = (operation.verb, operation.group);
    let entered = enter::<S>(&own, group);
    let entered = entered.and_then(|(cell, entered)| Some((cell.served()?, entered.into_sent())));
    let Some((served, mut entered)) = entered else {
        return Err((request, own));
    };
    let common = &served.slot.common;
    if let Err(fault) = common.admit_at_once(verb, group, options.as_deref(), context) {
        return Ok(BegunHandler::Ended(Err(fault)));
    }
    let clock = common.shared.deadlines.clock();
    let mut envelope = RequestEnvelope::new(options, context, clock, None);
    let until = envelope.limit_to(clock, common.shared.limit());
    // From here on the context of the handler keeps the slot: it is not counted anew.
    let cx = Cx::of(own, envelope);
    let here = Arc::clone(&served);
    // What runs is pinned where it is made, and dropped before what has let it in.
    let rest: RestOfHandler<_> = match group {
        Group::Exclusive => Box::pin(async move {
            let running = pin!(change(&served, cx, operation, request));
            held(&mut entered, operation, running).await
        }),
        _ => Box::pin(async move {
            let running = pin!(query(&served, cx, operation, request));
            held(&mut entered, operation, running).await
        }),
    };
    Ok(begun(&here.slot.common, until, rest))
}

/// Polls a handler for the first time.
fn begun<O>(common: &Arc<Common>, until: Instant, mut rest: RestOfHandler<O>) -> BegunHandler<O> {
    let _nested = Nested::enter();
    let (polled, under) = {
        let handler = rest.as_mut();
        // What it does beside its handler is no call of the caller. Whoever goes on with it polls
        // it at once, with a waker.
        let poll = || handler.poll(&mut Context::from_waker(Waker::noop()));
        let poll = || {
            let polled = CallContext::default().run_now(poll);
            (polled, Causalities::active())
        };
        // What it makes of the causalities that are active is not its caller's.
        Causalities::active().run(poll)
    };
    match polled {
        Ok(Poll::Ready(ended)) => BegunHandler::Ended(ended),
        Ok(Poll::Pending) => BegunHandler::Waits {
            of: Arc::clone(common),
            until,
            under,
            rest,
        },
        Err(panicked) => {
            common.raise(panicked);
            BegunHandler::Ended(Err(no_answer(&common.path)))
        }
    }
}

/// Runs a handler, which stays in its group when it waits.
async fn held<F: Future>(
    entered: &mut SentInterleave,
    operation: &'static Operation,
    mut running: Pin<&mut F>,
) -> F::Output {
    poll_fn(|cx| {
        let polled = running.as_mut().poll(cx);
        if polled.is_pending() {
            entered.stay(operation.name);
        }
        polled
    })
    .await
}

/// Runs an exclusive handler.
async fn change<S: Service>(
    served: &Arc<Served<S>>,
    cx: Cx,
    operation: &'static Operation,
    request: <ContractOf<S> as Contract>::Request,
) -> Result<<ContractOf<S> as Contract>::Outcome, Fault> {
    let common = &served.slot.common;
    let before = Figures::count_alone(&common.figures.changes);
    let posted = cx.envelope.posted.filter(|_| is_measured(before));
    let answer = |ended, _| match ended {
        Ended::Outcome(outcome) => {
            common.count_fault::<ContractOf<S>>(&outcome);
            Ok(outcome)
        }
        Ended::Answered(Err(fault)) => Err(fault),
        Ended::Answered(Ok(_)) => unreachable!("it has no key"),
        Ended::Panicked(panicked) => Err(common.panic_fault(&panicked)),
    };
    let ended = served.change(request, cx, before, answer).await;
    common.took(operation.number, posted, ONE_IN);
    ended
}

/// Runs a concurrent handler.
async fn query<S: Service>(
    served: &Arc<Served<S>>,
    cx: Cx,
    operation: &'static Operation,
    request: <ContractOf<S> as Contract>::Request,
) -> Result<<ContractOf<S> as Contract>::Outcome, Fault> {
    let common = &served.slot.common;
    common.has_version(cx.envelope.if_version())?;
    let service = served.cell.shared().ok_or_else(|| common.absence())?;
    let before = Figures::count(&common.figures.calls);
    let posted = cx.envelope.posted.filter(|_| is_measured(before));
    let when = (before, cx.envelope.deadline);
    let handled = served.query(&cx, Some(&service), request, when).await;
    common.took(operation.number, posted, ONE_IN);
    match handled {
        Ok(Ok(outcome)) => {
            common.count_fault::<ContractOf<S>>(&outcome);
            Ok(outcome)
        }
        Ok(Err(panicked)) => Err(common.panic_fault(&panicked)),
        Err(_) => Err(timeout(&common.path)),
    }
}
