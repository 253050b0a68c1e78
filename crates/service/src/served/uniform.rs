//! Changes that all services have: Replace, patches, and Save.

use super::records::{Keyed, Looked};
use super::restart::{TakenService, restart};
use super::steps::{NewState, ServedSteps, Untold};
use super::storing::{commit, is_stored_each_time, store_later};
use crate::json::To;
use crate::options::{RequestEnvelope, ToldVersion};
use crate::patch::Patch;
use crate::report::Traced;
use crate::service::Common;
use crate::{Fault, FaultCode};
use serde_json::Value;
use std::any::Any;
use std::sync::Arc;

/// A change that all services have.
pub(super) enum UniformChange {
    Replace(Box<dyn Any + Send>),
    Patch(Patch),
    Save,
}

/// What a contract lets clients set.
pub(super) struct Allowed {
    pub(super) replace: bool,
    pub(super) patch: bool,
}

/// Carries out a change that all services have. The caller is in the exclusive group.
pub(super) async fn change_uniform(
    served: Arc<dyn ServedSteps>,
    change: UniformChange,
    to: To<()>,
    envelope: RequestEnvelope,
    allowed: Allowed,
) {
    let common = served.common();
    let (state, name, what, is_allowed) = match change {
        UniformChange::Save => {
            let saved = match served.shared() {
                Some(service) => commit(&*served, served.state_value(&service)).await,
                None => Err(common.absence()),
            };
            return drop(to.post(saved));
        }
        UniformChange::Replace(state) => (
            NewState::Whole(state),
            "replace",
            "Replace",
            allowed.replace,
        ),
        UniformChange::Patch(patch) => {
            let name = patch.name();
            (NewState::Patched(patch), name, "a patch", allowed.patch)
        }
    };
    let giving = UniformAnswer {
        common,
        captured: envelope.traced(name, || body_of(&*served, &state).unwrap_or_default()),
        to,
    };
    if !is_allowed {
        let reason = format!("{} does not allow {what}", common.uri);
        let fault = Fault::new(FaultCode::ActionNotSupported, reason);
        return giving.give(Err(fault.of_service(&common.path)));
    }
    let looked = common.look_up_as(name, &|| body_of(&*served, &state), &envelope);
    set(&served, state, looked, giving, &envelope).await;
}

/// What is asked for, as JSON.
fn body_of(served: &dyn ServedSteps, state: &NewState) -> Result<Value, Fault> {
    match state {
        NewState::Whole(state) => served.new_value(&**state),
        NewState::Patched(patch) => Ok(patch.body()),
    }
}

/// What answers, and has the answer kept if the change is captured.
struct UniformAnswer<'a> {
    common: &'a Common,
    captured: Option<Traced>,
    to: To<()>,
}

impl UniformAnswer<'_> {
    fn give(self, answer: Result<(), Fault>) {
        if self.captured.is_some() {
            let kept = answer.clone().map(|()| Value::Null);
            self.common.keep_answer(self.captured, &kept);
        }
        // An asker that has gone need not know.
        drop(self.to.post(answer));
    }
}

/// Sets the state, unless the key of the request was answered already.
async fn set(
    served: &Arc<dyn ServedSteps>,
    state: NewState,
    looked: Looked,
    giving: UniformAnswer<'_>,
    envelope: &RequestEnvelope,
) {
    let keyed: Option<Keyed> = match looked {
        Looked::Unkeyed => None,
        Looked::New(keyed) => Some(keyed),
        Looked::Answered(answer) => return giving.give(answer.map(drop)),
    };
    let common = served.common();
    if let Err(fault) = common.has_version(envelope.if_version()) {
        return giving.give(Err(fault));
    }
    let _taken = TakenService::of(served);
    let Some(mut service) = served.take() else {
        return giving.give(Err(common.absence()));
    };
    let is_stored = is_stored_each_time(&**served);
    let (set, written) = match served.set(&mut service, state) {
        Ok(written) => (Ok(()), written.filter(|_| is_stored)),
        Err(fault) => (Err(fault), None),
    };
    if set.is_ok() {
        common.next_version();
    }
    let answer = set.map_err(|fault| fault.of_service(&common.path));
    let is_to_be_stored = answer.is_ok() || keyed.is_some();
    if let Some(keyed) = keyed {
        common.keep(keyed, answer.clone().map(|()| Value::Null));
    }
    if is_to_be_stored && is_stored {
        // A large state is written once where it can be.
        let written = written.map_or_else(|| served.state_value(&service), Ok);
        if let Err(fault) = commit(&**served, written).await {
            drop(service);
            giving.give(Err(fault.clone()));
            return restart(Arc::clone(served), &fault);
        }
    }
    if is_to_be_stored {
        store_later(served);
    }
    if answer.is_ok()
        && let Some(told) = envelope.header::<ToldVersion>()
    {
        told.tell(common.version());
    }
    let tells: Option<Untold<'_>> = match answer.is_ok() {
        true => Some(served.telling_all(common.version(), &service)),
        false => None,
    };
    served.put(service);
    giving.give(answer);
    drop(tells);
}
