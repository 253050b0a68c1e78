//! Clients: how a service is called.

use super::any_call::entered;
use super::any_service::AnyService;
use super::call::{Call, Make, Uniform};
use super::entrance::EnteredOperation;
use super::new_subscription::NewSubscription;
use super::notification::Notification;
use super::one_way::begin_one_way;
use super::remote::{Remote, call_out};
use super::slot::{OperationBody, OperationItem, ServiceSlot};
use super::subscriptions::{Entering, Sink};
use crate::json::To;
use crate::options::Options;
use crate::patch::Patch;
use crate::{Contract, Fault, FaultCode, ServiceInfo, Snapshot, Subscribe, Subscription};
use motet_dispatch::Causalities;
use motet_ports::{Port, Reply, reply};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Calls a service that has the contract `C`, here or elsewhere. What
/// [`contract`](macro@crate::contract) makes derefs to it and adds the contract's own operations.
///
/// It is bound to the place of the service: while the service is started anew, calls end with
/// [`Unavailable`](FaultCode::Unavailable); after its end, with [`Gone`](FaultCode::Gone).
pub struct Client<C: Contract> {
    target: Target<C>,
}

enum Target<C: Contract> {
    Here(Arc<ServiceSlot<C>>),
    Elsewhere(Arc<dyn Remote>),
}

/// # Uniform operations
impl<C: Contract> Client<C> {
    /// Get: the whole state, with its version.
    pub fn get(&self) -> Call<C, Snapshot<C::State>> {
        Call::new(
            self.clone(),
            Make::Get(OperationBody::Get, |snapshot| snapshot),
        )
    }

    /// Replace: sets the whole state.
    pub fn replace(&self, state: C::State) -> Call<C, ()> {
        self.uniform(
            Uniform::Replace(Box::new(state)),
            |uniform, to| match uniform {
                Uniform::Replace(state) => OperationBody::Replace(state, to),
                _ => unreachable!("it was made above"),
            },
        )
    }

    /// Update by merge patch (RFC 7396), if the contract allows it.
    pub fn patch(&self, patch: Value) -> Call<C, ()> {
        self.patched(Patch::Merge(patch))
    }

    /// Update by JSON Patch (RFC 6902), if the contract allows patches: all its operations, or
    /// none. A `test` that does not hold is a
    /// [`PreconditionFailed`](FaultCode::PreconditionFailed).
    pub fn patch_json(&self, patch: Value) -> Call<C, ()> {
        self.patched(Patch::Json(patch))
    }

    fn patched(&self, patch: Patch) -> Call<C, ()> {
        self.uniform(Uniform::Patch(patch), |uniform, to| match uniform {
            Uniform::Patch(patch) => OperationBody::Patch(patch, to),
            _ => unreachable!("it was made above"),
        })
    }

    /// Stores the state, if the service has a store.
    pub fn save(&self) -> Call<C, ()> {
        self.uniform(Uniform::Save, |_, to| OperationBody::Save(to))
    }

    /// Drop: ends the service, when what runs has ended.
    pub fn drop_service(&self) -> Call<C, ()> {
        self.uniform(Uniform::Drop, |_, to| OperationBody::Drop(Some(to)))
    }

    /// Query by JSON Pointer (RFC 6901).
    ///
    /// # Errors
    /// [`UnknownEntry`](FaultCode::UnknownEntry) when there is nothing at `pointer`; and as
    /// [`Client::get`].
    pub async fn query_pointer(&self, pointer: &str) -> Result<Value, Fault> {
        let snapshot = self.get().await?;
        let state = crate::json::to_value(&*snapshot.state)?;
        state.pointer(pointer).cloned().ok_or_else(|| {
            let reason = format!("the state has nothing at {pointer:?}");
            Fault::unknown_entry(reason).of_service(self.path())
        })
    }

    /// Lookup: what the service is. Answered beside its handlers, so also while these are busy.
    ///
    /// # Errors
    /// The fault of the way to a service of another process.
    pub async fn lookup(&self) -> Result<ServiceInfo, Fault> {
        match &self.target {
            Target::Here(slot) => Ok((&**slot as &dyn AnyService).info()),
            Target::Elsewhere(remote) => {
                let info = call_out(remote, "lookup", Value::Null, Options::default())?.await?;
                crate::json::from_value("the answer of lookup", info)
            }
        }
    }

    /// Subscribe: has the changes of the state posted to a port, which is what this gives.
    ///
    /// # Errors
    /// As a call; [`ActionNotSupported`](FaultCode::ActionNotSupported) across processes.
    pub async fn subscribe(&self, how: Subscribe) -> Result<Subscription<C>, Fault> {
        let port = Port::new();
        let id = self
            .enter(how, Sink::Port(port.clone()), Options::default())
            .await?;
        Ok(Subscription::new(self.clone(), id, port))
    }

    /// Subscribe, and has the notifications sent to `to` as what `make` makes of them: an operation
    /// that takes notifications, of whose group they are.
    ///
    /// # Errors
    /// As [`Client::subscribe`].
    pub async fn subscribe_to<D: Contract>(
        &self,
        how: Subscribe,
        to: &Client<D>,
        make: fn(Notification<C>) -> D::Request,
    ) -> Result<Subscription<C>, Fault> {
        let Target::Here(slot) = &to.target else {
            return Err(not_here(to.path()));
        };
        let slot = Arc::downgrade(slot);
        let limit = how.limit;
        let sink = Sink::Call(Arc::new(move |notification| {
            let Some(slot) = slot.upgrade() else {
                return false;
            };
            // Beyond the limit of its port the subscription ends: the service does not keep up. Who
            // tells has changed his state, and does not carry out what others do with that.
            let has_room = slot.common.changes.look().0 < limit;
            let post = || post(&slot, make(notification), Options::default());
            has_room && post().is_ok()
        }));
        let id = self.enter(how, sink, Options::default()).await?;
        Ok(Subscription::new(self.clone(), id, Port::new()))
    }

    pub(crate) async fn enter(
        &self,
        how: Subscribe,
        sink: Sink<C>,
        options: Options,
    ) -> Result<u64, Fault> {
        let Target::Here(slot) = &self.target else {
            return Err(not_here(self.path()));
        };
        let (until, answer) = slot.begin_entering(how, sink, options)?;
        entered(&slot.common, until, answer).await
    }

    pub(crate) fn unsubscribe(&self, id: u64) -> Call<C, ()> {
        self.uniform(Uniform::Unsubscribe(id), |uniform, to| match uniform {
            Uniform::Unsubscribe(id) => OperationBody::Unsubscribe(id, to),
            _ => unreachable!("it was made above"),
        })
    }

    /// Forgets a subscription at once; what is on its way may still come.
    pub(crate) fn forget(&self, id: u64) {
        if let Target::Here(slot) = &self.target {
            slot.subscriptions.leave(id);
        }
    }

    fn uniform<T: Send + 'static>(
        &self,
        uniform: Uniform<C>,
        make: fn(Uniform<C>, To<T>) -> OperationBody<C>,
    ) -> Call<C, T> {
        Call::new(self.clone(), Make::Uniform(uniform, make))
    }
}

/// # Operations of the contract
impl<C: Contract> Client<C> {
    /// A call of an operation: where its answer goes, and what its outcome is to the caller.
    /// Clients that the attribute has made have a method for each.
    pub fn call<T: Send + 'static>(
        &self,
        request: C::Request,
        reply: fn(To<T>) -> C::Reply,
        read: fn(C::Outcome) -> Result<T, Fault>,
    ) -> Call<C, T> {
        Call::new(self.clone(), Make::Operation(request, reply, read))
    }

    /// Posts an operation and wants no answer. Its panic goes to the causality of the poster. It is
    /// carried out however long it waits, and may call whoever has posted it. A short one may be
    /// carried out before this returns.
    ///
    /// # Errors
    /// A fault when the operation was not posted.
    pub fn post(&self, request: C::Request) -> Result<(), Fault> {
        self.post_with(request, Options::default())
    }

    /// As [`Client::post`], by a job of the service itself, which may do what the service may. It
    /// is never carried out before this returns.
    pub(crate) fn post_by_itself(&self, request: C::Request) -> Result<(), Fault> {
        let options = Options {
            is_own: true,
            ..Options::default()
        };
        self.post_with(request, options)
    }

    fn post_with(&self, request: C::Request, options: Options) -> Result<(), Fault> {
        let Target::Here(slot) = &self.target else {
            return Err(not_here(self.path()));
        };
        match begin_one_way(slot, request, options)? {
            None => Ok(()),
            Some((request, options)) => post(slot, request, options),
        }
    }

    /// The path of the service.
    #[must_use]
    pub fn path(&self) -> &str {
        match &self.target {
            Target::Here(slot) => &slot.common.path,
            Target::Elsewhere(remote) => remote.path(),
        }
    }

    /// A client of a service of another process.
    #[must_use]
    pub fn elsewhere(remote: Arc<dyn Remote>) -> Self {
        Client {
            target: Target::Elsewhere(remote),
        }
    }

    pub(crate) fn here(slot: Arc<ServiceSlot<C>>) -> Self {
        Client {
            target: Target::Here(slot),
        }
    }

    /// The slot, or the way there.
    pub(super) fn into_slot(self) -> Result<Arc<ServiceSlot<C>>, Arc<dyn Remote>> {
        match self.target {
            Target::Here(slot) => Ok(slot),
            Target::Elsewhere(remote) => Err(remote),
        }
    }
}

/// Posts an operation of which no answer is wanted.
fn post<C: Contract>(
    slot: &ServiceSlot<C>,
    request: C::Request,
    options: Options,
) -> Result<(), Fault> {
    let what = OperationBody::Request(request, None);
    begin(slot, what, options, false).map(drop)
}

/// Checks whether `what` may be asked for, takes room and posts it. Until when the answer may take.
pub(crate) fn begin<C: Contract>(
    slot: &ServiceSlot<C>,
    what: OperationBody<C>,
    options: Options,
    waits: bool,
) -> Result<Instant, Fault> {
    let entered = slot.common.enter(what.verb(), options, waits)?;
    Ok(slot.post_entered(what, entered))
}

impl<C: Contract> ServiceSlot<C> {
    /// Asks for a subscription. Until when the answer may take.
    pub(super) fn begin_entering(
        &self,
        how: Subscribe,
        sink: Sink<C>,
        options: Options,
    ) -> Result<(Instant, Reply<Result<NewSubscription, Fault>>), Fault> {
        let (to, answer) = reply();
        let entering = Entering {
            how,
            sink,
            reply: to,
        };
        let what = OperationBody::Subscribe(Box::new(entering));
        Ok((begin(self, what, options, true)?, answer))
    }

    /// Posts an operation that may be. Until when the answer may take.
    pub(super) fn post_entered(
        &self,
        what: OperationBody<C>,
        entered: EnteredOperation,
    ) -> Instant {
        self.post(OperationItem {
            room: entered.room,
            what,
            envelope: entered.envelope,
            under: Causalities::none(),
        });
        entered.deadline
    }
}

pub(crate) fn timeout(path: &str) -> Fault {
    let reason = "no answer in the time of the call; allow it more, or see what the service does";
    Fault::new(FaultCode::ResponseTimeout, reason).of_service(path)
}

pub(crate) fn no_answer(path: &str) -> Fault {
    let reason = "the handler ended without an answer";
    Fault::new(FaultCode::NoAnswer, reason).of_service(path)
}

fn not_here(path: &str) -> Fault {
    let reason = "this way to a service of another process carries two-way calls only";
    Fault::new(FaultCode::ActionNotSupported, reason).of_service(path)
}

impl<C: Contract> Clone for Client<C> {
    fn clone(&self) -> Self {
        let target = match &self.target {
            Target::Here(slot) => Target::Here(Arc::clone(slot)),
            Target::Elsewhere(remote) => Target::Elsewhere(Arc::clone(remote)),
        };
        Client { target }
    }
}

impl<C: Contract> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("contract", &C::URI)
            .field("path", &self.path())
            .finish()
    }
}
