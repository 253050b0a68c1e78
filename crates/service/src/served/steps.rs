//! What a service at work does of its own. What is the same for all of them asks it for that, and
//! is compiled once.

use super::cell::SharedService;
use super::{Served, SetGoing, schema_hash};
use crate::json::{from_value, to_value};
use crate::patch::Patch;
use crate::service::{AnyServed, Beginning, Common, ContractOf, ServicePlan, SlotOf, StateOf};
use crate::{Fault, Service};
use motet_sync::Mutex;
use serde_json::Value;
use std::any::Any;
use std::sync::Arc;

/// A [`SharedService`], whatever its type.
pub(super) type AnyOne = Box<dyn Any + Send + Sync>;

/// Tells subscribers of a change when it is dropped.
pub(super) type Untold<'a> = Box<dyn Send + 'a>;

/// A state that is to be set.
pub(super) enum NewState {
    Whole(Box<dyn Any + Send>),
    Patched(Patch),
}

/// The steps that depend on the type of a service, or on its contract.
pub(super) trait ServedSteps: AnyServed {
    fn common(&self) -> &Arc<Common>;
    fn plan(&self) -> &ServicePlan;
    fn work(&self) -> &Mutex<SetGoing>;

    /// Builds it anew, and serves again.
    fn begin_again(self: Arc<Self>) -> Beginning;

    /// What is held goes on, unless it is suspended.
    fn go_on(&self);

    /// The service as it is.
    fn shared(&self) -> Option<AnyOne>;
    /// Takes the service out of its cell.
    fn take(&self) -> Option<AnyOne>;
    /// Puts it back.
    fn put(&self, service: AnyOne);
    /// Whether nothing is in the cell.
    fn is_empty(&self) -> bool;

    /// Its state as JSON.
    fn state_value(&self, service: &AnyOne) -> Result<Value, Fault>;
    /// A state that is to be its own, as JSON.
    fn new_value(&self, state: &(dyn Any + Send)) -> Result<Value, Fault>;
    /// What tells the schema of its state from another.
    fn schema_hash(&self) -> u64;
    /// Sets the state: it as JSON, if that was needed. The caller has the service alone.
    fn set(&self, service: &mut AnyOne, state: NewState) -> Result<Option<Value>, Fault>;
    /// Has subscribers told of the whole state, of this version.
    fn telling_all<'a>(&'a self, version: u64, service: &AnyOne) -> Untold<'a>;

    /// Tells subscribers that nothing follows.
    fn end_subscriptions(&self);
    /// Answers whatever still comes.
    fn refuse_rest(&self);
}

/// The service of the type that it has.
fn typed<S: Service>(service: &AnyOne) -> &SharedService<S> {
    service.downcast_ref().expect("it came out of this cell")
}

impl<S: Service> ServedSteps for Served<S> {
    fn common(&self) -> &Arc<Common> {
        &self.slot.common
    }

    fn plan(&self) -> &ServicePlan {
        &self.plan
    }

    fn work(&self) -> &Mutex<SetGoing> {
        &self.work
    }

    fn begin_again(self: Arc<Self>) -> Beginning {
        self.beginning(true)
    }

    fn go_on(&self) {
        self.slot.go_on();
    }

    fn shared(&self) -> Option<AnyOne> {
        self.cell
            .shared()
            .map(|service| Box::new(service) as AnyOne)
    }

    fn take(&self) -> Option<AnyOne> {
        self.cell.take().map(|service| Box::new(service) as AnyOne)
    }

    fn put(&self, service: AnyOne) {
        let service = service.downcast();
        let service: Box<SharedService<S>> = service.expect("it came out of this cell");
        self.cell.put(*service);
    }

    fn is_empty(&self) -> bool {
        self.cell.is_empty()
    }

    fn state_value(&self, service: &AnyOne) -> Result<Value, Fault> {
        to_value(&**typed::<S>(service).state())
    }

    fn new_value(&self, state: &(dyn Any + Send)) -> Result<Value, Fault> {
        let state = state.downcast_ref::<StateOf<S>>();
        to_value(state.expect("it came by the slot of this service"))
    }

    fn schema_hash(&self) -> u64 {
        schema_hash::<ContractOf<S>>()
    }

    fn set(&self, service: &mut AnyOne, state: NewState) -> Result<Option<Value>, Fault> {
        let mut written = None;
        let state: Box<StateOf<S>> = match state {
            NewState::Whole(state) => {
                let state = state.downcast();
                state.expect("it came by the slot of this service")
            }
            NewState::Patched(patch) => {
                let mut value = self.state_value(service)?;
                let entry = patch.entry();
                patch.apply(&mut value)?;
                let state: Box<StateOf<S>> = Box::new(from_value("the patched state", value)?);
                if let Some(entry) = entry {
                    entry.check(written.insert(to_value(&*state)?))?;
                }
                state
            }
        };
        let service = service.downcast_mut::<SharedService<S>>();
        let service = service.and_then(SharedService::get_mut);
        let service = service.expect("an exclusive handler is alone");
        service.state_mut().set(*state);
        service.state_mut().take_changed();
        Ok(written)
    }

    fn telling_all<'a>(&'a self, version: u64, service: &AnyOne) -> Untold<'a> {
        let state = typed::<S>(service).state();
        Box::new(self.slot.tells(self.slot.telling_state(version, state)))
    }

    fn end_subscriptions(&self) {
        self.slot.subscriptions.end(self.slot.common.version());
    }

    fn refuse_rest(&self) {
        SlotOf::<S>::refuse_all(&self.slot);
    }
}
