//! Handlers that change nothing: `&self`, and those without the service.

use super::cell::SharedService;
use super::{Served, misplaced};
use crate::context::Panicked;
use crate::deadlines::Over;
use crate::options::RequestEnvelope;
use crate::report::Traced;
use crate::service::{Common, ContractOf, OwnThreads};
use crate::service::{Entering, Figures, NewSubscription, OperationBody, OperationItem};
use crate::{Contract, Cx, Fault, Group};
use crate::{Serves, Service, Snapshot, State};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// What a handler that may wait has ended with, in its time.
pub(super) type Handled<C> = Result<Result<<C as Contract>::Outcome, Panicked>, Over>;

impl<S: Service> Served<S> {
    /// Handles an item whose handler does not wait.
    pub(super) fn concurrent(&self, mut item: OperationItem<ContractOf<S>>) {
        let common = &self.slot.common;
        let (begun, _, service) = match self.begin_concurrent(&mut item) {
            Ok(begun) => begun,
            Err(fault) => return self.refuse(item, fault),
        };
        let posted = item.envelope.posted.or(Some(begun));
        match item.what {
            OperationBody::Get(to) => {
                let snapshot = snapshot(common, service.state());
                self.slot
                    .common
                    .took(ContractOf::<S>::OPERATIONS.len(), posted, 1);
                if let Some(traced) = item.envelope.traced("get", || serde_json::Value::Null) {
                    let answer = Ok(serde_json::json!({ "version": snapshot.version }));
                    common.shared.captured(&common.path, traced, &answer);
                }
                if to.post(Ok(snapshot)).is_err() {
                    Figures::count(&common.figures.late);
                }
            }
            OperationBody::Subscribe(entering) => self.subscribe(&service, *entering),
            OperationBody::Unsubscribe(id, to) => {
                let there = self.slot.subscriptions.leave(id);
                let missing = || {
                    let reason = format!("there is no subscription {id}; it has ended");
                    Err(Fault::unknown_entry(reason).of_service(&common.path))
                };
                let answer = if there { Ok(()) } else { missing() };
                drop(to.post(answer));
            }
            OperationBody::Request(request, reply) => {
                let operation = ContractOf::<S>::operation(&request);
                let cx = Cx::new(common, item.envelope);
                let body = self.capture_of(&cx.envelope, &request);
                let ended = query_now::<S>(&service, &cx, request);
                self.slot.common.has_run(operation, begun, posted, 1);
                match ended {
                    Ok(outcome) => self.answer(outcome, reply, body),
                    Err(panicked) => self.panicked(panicked, reply, body),
                }
            }
            other => misplaced(other),
        }
    }

    /// Handles an item whose handler may wait.
    pub(super) async fn waiting(
        self: Arc<Self>,
        mut item: OperationItem<ContractOf<S>>,
        group: Group,
    ) {
        let begun = match group {
            Group::Exclusive => return self.exclusive_async(item).await,
            Group::Independent => {
                let begun = self.begin_independent(&mut item);
                begun.map(|(before, own)| (before, None, own))
            }
            _ => {
                let begun = self.begin_concurrent(&mut item);
                begun.map(|(_, before, service)| (before, Some(service), None))
            }
        };
        let (before, service, _threads) = match begun {
            Ok(begun) => begun,
            Err(fault) => return self.refuse(item, fault),
        };
        let (place, posted) = (item.what.place(), item.envelope.posted);
        match item.what {
            OperationBody::Request(request, reply) => {
                let cx = Cx::new(&self.slot.common, item.envelope);
                let body = self.capture_of(&cx.envelope, &request);
                // Where nobody waits it has all the time it wants.
                let until = reply.is_some().then(|| cx.deadline());
                let handled = self
                    .query(&cx, service.as_ref(), request, (before, until))
                    .await;
                self.finish(handled, reply, body);
            }
            other => misplaced(other),
        }
        place.inspect(|place| self.slot.common.took(*place, posted, 1));
    }

    /// What comes before a concurrent handler: when it begins, how many there were before, and the
    /// service.
    fn begin_concurrent(
        &self,
        item: &mut OperationItem<ContractOf<S>>,
    ) -> Result<(Instant, u64, SharedService<S>), Fault> {
        let common = &self.slot.common;
        item.room.leave();
        let begun = self.slot.common.in_time(item.envelope.deadline)?;
        self.slot.common.has_version(item.envelope.if_version())?;
        let service = self.cell.shared().ok_or_else(|| common.absence())?;
        let before = Figures::count(&common.figures.calls);
        Ok((begun, before, service))
    }

    fn subscribe(&self, service: &S, entering: Entering<ContractOf<S>>) {
        let common = &self.slot.common;
        let now = common.shared.deadlines.clock().now();
        let (version, state) = (common.version(), || service.state().snapshot());
        let Entering { how, sink, reply } = entering;
        let subscriptions = &self.slot.subscriptions;
        let id = subscriptions.enter(how, sink, version, now, state);
        let slot = Arc::downgrade(&self.slot);
        let new = NewSubscription::new(id, move |id| {
            if let Some(slot) = slot.upgrade() {
                slot.subscriptions.leave(id);
            }
        });
        // Who asked may have gone.
        drop(reply.post(Ok(new)));
        if common.has_ended() {
            // The node has ended meanwhile, and has told those who were there then.
            subscriptions.end(version);
        }
    }

    /// What comes before an independent handler: how many there were before, and what keeps the
    /// threads of the service.
    fn begin_independent(
        &self,
        item: &mut OperationItem<ContractOf<S>>,
    ) -> Result<(u64, Option<Arc<OwnThreads>>), Fault> {
        let common = &self.slot.common;
        item.room.leave();
        common.in_time(item.envelope.deadline)?;
        common.has_version(item.envelope.if_version())?;
        let threads = common.keep_threads()?;
        let before = Figures::count(&common.figures.calls);
        Ok((before, threads))
    }

    /// Runs a handler, of the service or independent of it, and until then at most.
    pub(super) async fn query(
        &self,
        cx: &Cx,
        service: Option<&SharedService<S>>,
        request: <ContractOf<S> as Contract>::Request,
        (calls_before, until): (u64, Option<Instant>),
    ) -> Handled<ContractOf<S>> {
        let common = &self.slot.common;
        let operation = ContractOf::<S>::operation(&request);
        let which = (operation, calls_before);
        let deadlines = &common.shared.deadlines;
        // Each is pinned where it is made: each move of it takes its room twice.
        match service {
            Some(service) => {
                let handler = pin!(ContractOf::<S>::concurrent(service, cx, request));
                let running = pin!(common.handled(&cx.context, which, handler));
                deadlines.before(until, running).await
            }
            None => {
                let context = cx.context(false);
                let handler = pin!(ContractOf::<S>::independent(cx, request));
                let running = pin!(common.handled(&context, which, handler));
                deadlines.before(until, running).await
            }
        }
    }

    /// Answers what a handler has ended with.
    fn finish(
        &self,
        handled: Handled<ContractOf<S>>,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
        captured: Option<Traced>,
    ) {
        match (handled, reply) {
            (Ok(Ok(outcome)), reply) => self.answer(outcome, reply, captured),
            (Ok(Err(panicked)), reply) => self.panicked(panicked, reply, captured),
            (Err(_), Some(reply)) => {
                let fault = crate::service::timeout(&self.slot.common.path);
                self.slot.common.keep_fault(captured, &fault);
                ContractOf::<S>::refuse(reply, fault);
            }
            (Err(_), None) => {}
        }
    }

    /// Answers, counts and logs.
    pub(super) fn answer(
        &self,
        outcome: <ContractOf<S> as Contract>::Outcome,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
        captured: Option<Traced>,
    ) {
        let common = &self.slot.common;
        common.count_fault::<ContractOf<S>>(&outcome);
        if let Some(traced) = captured {
            let answer = ContractOf::<S>::value(&outcome);
            common.shared.captured(&common.path, traced, &answer);
        }
        if let Some(reply) = reply
            && !ContractOf::<S>::post(reply, outcome)
        {
            common.came_too_late();
        }
    }

    /// What is kept of a request that is captured.
    pub(super) fn capture_of(
        &self,
        envelope: &RequestEnvelope,
        request: &<ContractOf<S> as Contract>::Request,
    ) -> Option<Traced> {
        let operation = ContractOf::<S>::operation(request).name;
        envelope.traced(operation, || {
            ContractOf::<S>::body(request).unwrap_or_default()
        })
    }

    /// Refuses what does not begin; a request that is captured is kept.
    pub(super) fn refuse(&self, item: OperationItem<ContractOf<S>>, fault: Fault) {
        if let OperationBody::Request(request, _) = &item.what {
            self.slot
                .common
                .keep_fault(self.capture_of(&item.envelope, request), &fault);
        }
        item.what.refuse(fault);
    }

    /// A handler has panicked: its caller is told; without one, the causality of the poster is.
    pub(super) fn panicked(
        &self,
        panicked: Panicked,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
        captured: Option<Traced>,
    ) {
        let fault = self.slot.common.panic_fault(&panicked);
        self.slot.common.keep_fault(captured, &fault);
        match reply {
            Some(reply) => ContractOf::<S>::refuse(reply, fault),
            None => resume_unwind(panicked.0),
        }
    }
}

/// Runs the handler of a method that is not async.
pub(super) fn query_now<S: Service>(
    service: &S,
    cx: &Cx,
    request: <ContractOf<S> as Contract>::Request,
) -> Result<<ContractOf<S> as Contract>::Outcome, Panicked> {
    let running = || ContractOf::<S>::concurrent_now(service, cx, request);
    cx.run_now(running)
}

/// The state with its version; the caller is in the interleave.
pub(super) fn snapshot<T: Clone>(common: &Common, state: &State<T>) -> Snapshot<T> {
    Snapshot {
        version: common.version(),
        state: state.snapshot(),
    }
}
