//! Changes that all services have: Replace, and patches.

use super::Served;
use super::exclusive::{Keyed, Looked, TakenService, alone};
use crate::json::To;
use crate::options::RequestEnvelope;
use crate::patch::Patch;
use crate::service::{ContractOf, OperationBody, StateOf};
use crate::{Contract, Fault, FaultCode, Service};
use serde_json::Value;
use std::sync::Arc;

impl<S: Service> Served<S> {
    pub(super) async fn replace(
        self: &Arc<Self>,
        state: StateOf<S>,
        to: To<()>,
        envelope: &RequestEnvelope,
    ) {
        if !ContractOf::<S>::REPLACE {
            return drop(to.post(Err(self.not_allowed("Replace"))));
        }
        let looked = self.look_up_as("replace", || crate::json::to_value(&state), envelope);
        self.set(|_| Ok(state), looked, to, envelope).await;
    }

    pub(super) async fn patch(
        self: &Arc<Self>,
        patch: Patch,
        to: To<()>,
        envelope: &RequestEnvelope,
    ) {
        if !ContractOf::<S>::PATCH {
            return drop(to.post(Err(self.not_allowed("a patch"))));
        }
        let (name, body) = match &patch {
            Patch::Merge(body) => ("patch", body),
            Patch::Json(body) => ("patch_json", body),
        };
        let looked = self.look_up_as(name, || Ok(body.clone()), envelope);
        let patched = move |service: &S| {
            let mut value = crate::json::to_value(&**service.state())?;
            patch.apply(&mut value)?;
            crate::json::from_value("the patched state", value)
        };
        self.set(patched, looked, to, envelope).await;
    }

    /// Sets the state, unless the key of the request was answered already.
    async fn set(
        self: &Arc<Self>,
        make: impl FnOnce(&S) -> Result<<ContractOf<S> as Contract>::State, Fault>,
        looked: Looked,
        to: To<()>,
        envelope: &RequestEnvelope,
    ) {
        // An asker that has gone need not know, here and below.
        let keyed: Option<Keyed> = match looked {
            Looked::Unkeyed => None,
            Looked::New(keyed) => Some(keyed),
            Looked::Answered(answer) => return drop(to.post(answer.map(|_| ()))),
        };
        if let Err(fault) = self.has_version(envelope.if_version()) {
            return drop(to.post(Err(fault)));
        }
        let common = &self.slot.common;
        let _taken = TakenService::of(self);
        let Some(mut shared) = self.cell.lock().take() else {
            return OperationBody::<ContractOf<S>>::Save(to).refuse(common.absence());
        };
        let service = alone(&mut shared);
        let set = make(service).map(|state| {
            service.state_mut().set(state);
            service.state_mut().take_changed();
            common.next_version();
        });
        let answer = set.map_err(|fault| fault.of_service(&common.path));
        let is_to_be_stored = answer.is_ok() || keyed.is_some();
        if let Some(keyed) = keyed {
            self.keep(keyed, answer.clone().map(|()| Value::Null));
        }
        if is_to_be_stored
            && self.is_stored_each_time()
            && let Err(fault) = self.commit(&shared).await
        {
            drop(shared);
            drop(to.post(Err(fault.clone())));
            return self.restart(&fault);
        }
        let telling = match answer.is_ok() {
            true => self.telling_state(common.version(), &shared),
            false => None,
        };
        *self.cell.lock() = Some(shared);
        let tells = self.tells(telling);
        drop(to.post(answer));
        drop(tells);
    }

    fn not_allowed(&self, what: &str) -> Fault {
        let reason = format!("{} does not allow {what}", ContractOf::<S>::URI);
        Fault::new(FaultCode::ActionNotSupported, reason).of_service(&self.slot.common.path)
    }
}
