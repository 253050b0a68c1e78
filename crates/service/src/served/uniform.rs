//! Changes that all services have: Replace, and patches.

use super::Served;
use super::exclusive::{Keyed, Looked, TakenService, alone};
use crate::json::To;
use crate::options::RequestEnvelope;
use crate::patch::Patch;
use crate::report::Traced;
use crate::service::{ContractOf, StateOf};
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
        let body = || crate::json::to_value(&state);
        let kept = envelope.trace().map(|_| body().unwrap_or_default());
        let give = self.giving("replace", kept, to, envelope);
        if !ContractOf::<S>::REPLACE {
            return give(Err(self.not_allowed("Replace")));
        }
        let looked = self.look_up_as("replace", body, envelope);
        self.set(|_| Ok(state), looked, give, envelope).await;
    }

    pub(super) async fn patch(
        self: &Arc<Self>,
        patch: Patch,
        to: To<()>,
        envelope: &RequestEnvelope,
    ) {
        let (name, body) = match &patch {
            Patch::Merge(body) => ("patch", body),
            Patch::Json(body) => ("patch_json", body),
        };
        let kept = envelope.trace().map(|_| body.clone());
        let give = self.giving(name, kept, to, envelope);
        if !ContractOf::<S>::PATCH {
            return give(Err(self.not_allowed("a patch")));
        }
        let looked = self.look_up_as(name, || Ok(body.clone()), envelope);
        let patched = move |service: &S| {
            let mut value = crate::json::to_value(&**service.state())?;
            patch.apply(&mut value)?;
            crate::json::from_value("the patched state", value)
        };
        self.set(patched, looked, give, envelope).await;
    }

    /// What answers, and has the answer kept if the change, of this `body`, is captured.
    fn giving(
        &self,
        operation: &'static str,
        body: Option<Value>,
        to: To<()>,
        envelope: &RequestEnvelope,
    ) -> impl FnOnce(Result<(), Fault>) + Send {
        let captured = envelope.trace().zip(body).map(|(trace, body)| Traced {
            trace,
            posted: envelope.posted,
            operation,
            body,
        });
        let common = &self.slot.common;
        move |answer: Result<(), Fault>| {
            if let Some(traced) = captured {
                let kept = answer.clone().map(|()| Value::Null);
                common.shared.captured(&common.path, traced, &kept);
            }
            // An asker that has gone need not know.
            drop(to.post(answer));
        }
    }

    /// Sets the state, unless the key of the request was answered already.
    async fn set(
        self: &Arc<Self>,
        make: impl FnOnce(&S) -> Result<<ContractOf<S> as Contract>::State, Fault>,
        looked: Looked,
        give: impl FnOnce(Result<(), Fault>),
        envelope: &RequestEnvelope,
    ) {
        let keyed: Option<Keyed> = match looked {
            Looked::Unkeyed => None,
            Looked::New(keyed) => Some(keyed),
            Looked::Answered(answer) => return give(answer.map(drop)),
        };
        if let Err(fault) = self.has_version(envelope.if_version()) {
            return give(Err(fault));
        }
        let common = &self.slot.common;
        let _taken = TakenService::of(self);
        let Some(mut shared) = self.cell.lock().take() else {
            return give(Err(common.absence()));
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
            give(Err(fault.clone()));
            return self.restart(&fault);
        }
        let telling = match answer.is_ok() {
            true => self.telling_state(common.version(), &shared),
            false => None,
        };
        *self.cell.lock() = Some(shared);
        let tells = self.tells(telling);
        give(answer);
        drop(tells);
    }

    fn not_allowed(&self, what: &str) -> Fault {
        let reason = format!("{} does not allow {what}", ContractOf::<S>::URI);
        Fault::new(FaultCode::ActionNotSupported, reason).of_service(&self.slot.common.path)
    }
}
