//! Handlers that change nothing: `&self`, and those without the service.

use super::{Served, misplaced};
use crate::context::Panicked;
use crate::service::ContractOf;
use crate::service::{Figures, Item, What};
use crate::{Contract, Cx, Event, Fault, Group, Notification, Serves, Service, Snapshot};
use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;

impl<S: Service> Served<S> {
    /// Handles an item of the concurrent port.
    pub(super) async fn concurrent(self: Arc<Self>, item: Item<ContractOf<S>>) {
        let common = &self.slot.common;
        self.slot.leave(Group::Concurrent);
        if let Err(fault) = self
            .in_time(&item.envelope)
            .and_then(|()| self.has_version(&item.envelope))
        {
            return item.what.refuse(fault);
        }
        let Some(service) = self.cell.lock().clone() else {
            return item.what.refuse(common.absence());
        };
        Figures::count(&common.figures.calls);
        match item.what {
            What::Get(to) => {
                let version = common.version();
                let state = service.state().snapshot();
                if to.post(Ok(Snapshot { version, state })).is_err() {
                    Figures::count(&common.figures.late);
                }
            }
            What::Subscribe(entering) => {
                let now = common.shared.deadlines.clock().now();
                let (version, state) = (common.version(), || service.state().snapshot());
                let crate::service::Entering { how, sink, reply } = *entering;
                let id = self
                    .slot
                    .subscriptions
                    .enter(how, sink, version, now, state);
                if reply.post(Ok(id)).is_err() {
                    // Who asked has gone: nobody would end it.
                    self.slot.subscriptions.leave(id);
                }
            }
            What::Unsubscribe(id, to) => {
                let there = self.slot.subscriptions.leave(id);
                let missing = || {
                    let reason = format!("there is no subscription {id}; it has ended");
                    Err(Fault::unknown_entry(reason).of_service(&common.path))
                };
                let answer = if there { Ok(()) } else { missing() };
                drop(to.post(answer));
            }
            What::Request(request, reply) => {
                let cx = Cx::new(common, &item.envelope);
                let body = self.capture_of(&cx, &request);
                let handler = ContractOf::<S>::concurrent(&service, &cx, request);
                self.finish(&cx, true, handler, reply, body).await;
            }
            other => misplaced(other),
        }
    }

    /// Handles an item of the independent port.
    pub(super) async fn independent(self: Arc<Self>, item: Item<ContractOf<S>>) {
        self.slot.leave(Group::Independent);
        if let Err(fault) = self.in_time(&item.envelope) {
            return item.what.refuse(fault);
        }
        Figures::count(&self.slot.common.figures.calls);
        match item.what {
            What::Request(request, reply) => {
                let cx = Cx::new(&self.slot.common, &item.envelope);
                let body = self.capture_of(&cx, &request);
                let handler = ContractOf::<S>::independent(&cx, request);
                self.finish(&cx, false, handler, reply, body).await;
            }
            other => misplaced(other),
        }
    }

    /// Runs a handler until its deadline at most, and answers.
    async fn finish(
        &self,
        cx: &Cx,
        holds: bool,
        handler: impl Future<Output = <ContractOf<S> as Contract>::Outcome>,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
        captured: Option<serde_json::Value>,
    ) {
        let common = &self.slot.common;
        let running = cx.context(holds).run(handler);
        let ended = match reply.is_some() {
            true => common.shared.deadlines.before(cx.deadline(), running).await,
            // Nobody waits: it has all the time it wants.
            false => Ok(running.await),
        };
        match (ended, reply) {
            (Ok(Ok(outcome)), reply) => self.answer(cx, outcome, reply, captured),
            (Ok(Err(panicked)), reply) => self.panicked(panicked, reply),
            (Err(_), Some(reply)) => {
                ContractOf::<S>::refuse(reply, crate::service::timeout(&common.path));
            }
            (Err(_), None) => {}
        }
    }

    /// Answers, counts and logs.
    pub(super) fn answer(
        &self,
        cx: &Cx,
        outcome: <ContractOf<S> as Contract>::Outcome,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
        captured: Option<serde_json::Value>,
    ) {
        let common = &self.slot.common;
        if ContractOf::<S>::fault(&outcome).is_some() {
            Figures::count(&common.figures.faults);
        }
        if let Some((name, body)) = captured.and_then(|body| {
            let name = body.get("operation")?.as_str()?.to_owned();
            Some((name, body))
        }) {
            let answer = ContractOf::<S>::value(&outcome);
            common
                .shared
                .captured(&common.path, &name, &body["body"], &answer);
        }
        if let Some(reply) = reply
            && !ContractOf::<S>::post(reply, outcome)
        {
            Figures::count(&common.figures.late);
            cx.warn("an answer came too late: its caller had gone");
        }
    }

    /// What is kept of a request that is captured.
    pub(super) fn capture_of(
        &self,
        cx: &Cx,
        request: &<ContractOf<S> as Contract>::Request,
    ) -> Option<serde_json::Value> {
        cx.envelope.is_captured().then(|| {
            let name = ContractOf::<S>::operation(request).name;
            let body = ContractOf::<S>::body(request).unwrap_or_default();
            serde_json::json!({ "operation": name, "body": body })
        })
    }

    /// A handler has panicked: its caller is told; without one, the causality of the poster is.
    pub(super) fn panicked(
        &self,
        panicked: Panicked,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
    ) {
        let common = &self.slot.common;
        Figures::count(&common.figures.panics);
        let reason = format!("the handler panicked: {}", panicked.message());
        common
            .shared
            .log(crate::report::Level::Error, "panic", &common.path, &reason);
        match reply {
            Some(reply) => {
                ContractOf::<S>::refuse(reply, Fault::failed(reason).of_service(&common.path))
            }
            None => resume_unwind(panicked.0),
        }
    }

    /// Tells subscribers of the state as it is.
    pub(super) fn notify_state(&self, version: u64, service: &S) {
        let state = || service.state().snapshot();
        if self.slot.subscriptions.are_wanted() {
            let notification = Notification::new(version, Event::Replace(state()));
            self.slot.notify(&notification, state);
        }
    }
}
