//! The end of a service.

use super::cell::SharedService;
use super::steps::ServedSteps;
use super::storing::{commit, forget, tell};
use super::{Running, Served};
use crate::context::Panicked;
use crate::json::to_value;
use crate::lifecycle::Lifecycle;
use crate::service::{ContractOf, OperationBody, OperationItem};
use crate::{Contract, Cx, Fault, Serves, Service};
use motet_dispatch::{Causalities, spawn};
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;

/// Runs the last handler; what gives its answer.
type Last = Pin<Box<dyn Future<Output = LastAnswer> + Send>>;

/// Answers whoever has ended the service; the panic of a handler whose caller wants no answer goes
/// on.
type LastAnswer = Box<dyn FnOnce() -> Option<Panicked> + Send>;

/// Ends a service: nothing else of it runs any more.
async fn end(served: Arc<dyn ServedSteps>, last: Last, under: Causalities) {
    under.add();
    let common = served.common();
    common.set_life(Lifecycle::Draining);
    let timers = std::mem::take(&mut served.work().lock().timers);
    timers.iter().for_each(|timer| {
        timer.cancel();
    });
    let answer = last.await;
    // What is dropped here keeps nothing from its end, and the caller not from its answer.
    common.queue.guarded(|| served.end_subscriptions());
    // In this order: nothing is told of it when it has been told that it is not there.
    common.set_life(Lifecycle::Dropped);
    common.shared.remove(&common.path);
    common.queue.guarded(|| served.refuse_rest());
    let work = std::mem::take(&mut *served.work().lock());
    if let Some(independent) = work.independent {
        independent.cleanup();
    }
    if let Some(panicked) = answer() {
        let again = async move { resume_unwind(panicked.0) };
        // A queue that takes no task has nobody to tell.
        drop(spawn(&common.shared.queue, again));
    }
    // Last: it runs on them.
    drop(work.threads);
}

impl<S: Service> Served<S> {
    /// Handles the item of the teardown port.
    pub(super) fn teardown(self: Arc<Self>, item: OperationItem<ContractOf<S>>) -> Running {
        let under = item.under;
        let cx = Cx::new(&self.slot.common, item.envelope);
        let last = Box::pin(Arc::clone(&self).run_last(cx, item.what));
        Box::pin(end(self, last, under))
    }

    /// Runs the last handler, or stops the service.
    async fn run_last(self: Arc<Self>, cx: Cx, what: OperationBody<ContractOf<S>>) -> LastAnswer {
        let common = &self.slot.common;
        let service = self
            .cell
            .end()
            .and_then(|service| SharedService::try_unwrap(service).ok());
        if let Some(service) = &service
            && forget(&*self)
            && let Err(fault) = commit(&*self, to_value(&**service.state())).await
        {
            tell(&*self, &fault);
        }
        let answer = match (what, service) {
            (OperationBody::Request(request, reply), Some(service)) => {
                let captured = self.capture_of(&cx.envelope, &request);
                let handler = ContractOf::<S>::teardown(service, &cx, request);
                let ended = cx.context(true).run(handler).await;
                let ended = ended.map_err(|panicked| (common.panic_fault(&panicked), panicked));
                if captured.is_some() {
                    let kept = match &ended {
                        Ok(outcome) => ContractOf::<S>::value(outcome),
                        Err((fault, _)) => Err(fault.clone()),
                    };
                    common.keep_answer(captured, &kept);
                }
                Answer::Operation(reply, ended)
            }
            (what, service) => {
                let stopping = service.map(|service| service.stop(&cx));
                let mut answer = Ok(());
                if let Some(stopping) = stopping
                    && let Err(panicked) = cx.context(true).run(stopping).await
                {
                    answer = Err(common.panic_fault_of("stop", &panicked));
                }
                Answer::Drop(what, answer)
            }
        };
        Box::new(move || answer.give())
    }
}

/// What whoever has ended the service is told.
enum Answer<C: Contract> {
    Operation(Option<C::Reply>, Result<C::Outcome, (Fault, Panicked)>),
    Drop(OperationBody<C>, Result<(), Fault>),
}

impl<C: Contract> Answer<C> {
    /// Gives it; the panic of a handler whose caller wants no answer goes on.
    fn give(self) -> Option<Panicked> {
        match self {
            Answer::Operation(Some(reply), Ok(outcome)) => {
                C::post(reply, outcome);
            }
            Answer::Operation(Some(reply), Err((fault, _))) => C::refuse(reply, fault),
            Answer::Operation(None, Err((_, panicked))) => return Some(panicked),
            Answer::Drop(OperationBody::Drop(Some(to)), answer) => drop(to.post(answer)),
            Answer::Drop(what, Err(fault)) => what.refuse(fault),
            Answer::Operation(None, Ok(_)) | Answer::Drop(_, Ok(())) => {}
        }
        None
    }
}
