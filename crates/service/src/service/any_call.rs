//! What all services have, called by name and JSON. What depends on the contract is asked of the
//! slot; the rest is compiled once.

use super::Any;
use super::any_service::{AnyClient, AnyService, OperationInfo, ServiceFigures, ServiceInfo};
use super::calling::{Calling, Stage};
use super::client::{no_answer, timeout};
use super::new_subscription::NewSubscription;
use super::slot::{Common, UNIFORM};
use crate::context::CallContext;
use crate::json::{To, from_value, to_text, to_value};
use crate::latency::OperationLatency;
use crate::options::{Options, ToldVersion};
use crate::patch::{ChangedEntry, EntryChange, EntryPatch, Patch};
use crate::{Fault, Group, Operation, Snapshot, StateRef, StateType, Verb};
use motet_ports::{Reply, reply};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// A change, or an end, that all services have.
pub(crate) enum AnyUniform {
    /// The state, of the type that the service has.
    Replace(Box<dyn std::any::Any + Send>),
    Patch(Patch),
    Save,
    Drop,
    Unsubscribe(u64),
}

impl AnyUniform {
    fn verb(&self) -> (Verb, Group) {
        match self {
            AnyUniform::Replace(_) => (Verb::Replace, Group::Exclusive),
            AnyUniform::Patch(patch) => (patch.verb(), Group::Exclusive),
            AnyUniform::Save => (Verb::Submit, Group::Exclusive),
            AnyUniform::Unsubscribe(_) => (Verb::Subscribe, Group::Concurrent),
            AnyUniform::Drop => (Verb::Drop, Group::Teardown),
        }
    }
}

/// A state whose type is not known, as JSON.
pub(crate) trait StateJson: Send + Sync {
    /// With its version.
    fn value(self: Box<Self>, version: u64) -> Result<Value, Fault>;
    fn text(&self) -> Result<Vec<u8>, Fault>;
}

impl<S: StateType> StateJson for StateRef<S> {
    fn value(self: Box<Self>, version: u64) -> Result<Value, Fault> {
        let state = *self;
        to_value(&Snapshot { version, state })
    }

    fn text(&self) -> Result<Vec<u8>, Fault> {
        to_text(&**self)
    }
}

/// Calls an operation that all services have, or one that the contract does not list.
pub(super) async fn call_uniform(
    service: Any,
    operation: String,
    body: Value,
    options: Options,
) -> Result<Value, Fault> {
    let what = match operation.as_str() {
        "get" => {
            let (version, state) = service.get(options).await?;
            return state.value(version);
        }
        "lookup" => return to_value(&service.info()),
        "drop" => AnyUniform::Drop,
        "save" => AnyUniform::Save,
        "patch" => AnyUniform::Patch(Patch::Merge(body)),
        "patch_json" => AnyUniform::Patch(Patch::Json(body)),
        "replace" => AnyUniform::Replace(service.read_state(body)?),
        "unsubscribe" => AnyUniform::Unsubscribe(from_value("unsubscribe", body)?),
        name => {
            let path = Arc::clone(&service.common().path);
            let answer = service.call_own(name, body, options).await;
            return answer.map_err(|fault| fault.of_service(&path));
        }
    };
    ask(&service, what, options).await.map(|()| Value::Null)
}

/// Replace or a patch, and the version that it has made: see [`super::AnyClient::change`].
pub(super) async fn change(
    service: &Any,
    operation: &str,
    body: Value,
    options: Options,
) -> Result<Option<u64>, Fault> {
    let mut is_as_sent = true;
    let what = match operation {
        "replace" => {
            let state = service.read_state(body.clone())?;
            is_as_sent = service.is_as_sent(&*state, &body);
            AnyUniform::Replace(state)
        }
        "patch" => AnyUniform::Patch(Patch::Merge(body)),
        "patch_json" => AnyUniform::Patch(Patch::Json(body)),
        name => {
            let answer = Arc::clone(service).call(name, body, options).await;
            return answer.map(|_| None);
        }
    };
    let version = ask_version(service, what, options).await?;
    Ok(version.filter(|_| is_as_sent))
}

impl AnyClient {
    /// Changes an entry of the state, which a JSON Pointer (RFC 6901) names: Insert, Upsert, Update
    /// or Delete by pointer, where the contract allows patches. The state is checked against its
    /// type, and is changed as a whole or not at all. The rules of the service must allow the verb,
    /// and Update, too.
    ///
    /// # Errors
    /// As a call. There is an entry, or there is none, and the change is not for that; or the
    /// changed state does not fit its type, which may have no place for the entry or always have
    /// it.
    pub async fn change_entry(
        &self,
        pointer: &str,
        change: EntryChange,
        options: Options,
    ) -> Result<ChangedEntry, Fault> {
        let entry = Arc::new(EntryPatch::new(pointer, change));
        let what = AnyUniform::Patch(Patch::Entry(Arc::clone(&entry)));
        let version = ask_version(&self.0, what, options).await?;
        Ok(entry.made(version))
    }
}

/// Has a change made: the version that it has made, unless its key has made it before.
async fn ask_version(
    service: &Any,
    what: AnyUniform,
    mut options: Options,
) -> Result<Option<u64>, Fault> {
    let told = Arc::new(ToldVersion::default());
    let header: Arc<dyn std::any::Any + Send + Sync> = Arc::<ToldVersion>::clone(&told);
    options.headers.push(header);
    ask(service, what, options).await?;
    Ok(told.told())
}

/// Has it done, as a call of a client that knows the contract.
async fn ask(service: &Any, what: AnyUniform, mut options: Options) -> Result<(), Fault> {
    let (common, verb) = (service.common(), what.verb());
    let context = CallContext::inherited();
    options.capture |= context.as_ref().is_some_and(CallContext::is_captured);
    if let AnyUniform::Patch(Patch::Entry(_)) = &what {
        // A rule for the verb alone is for the operations of the contract: their handlers look at
        // what is changed.
        common.permit(Verb::Update, Some(&options), context.as_ref())?;
    }
    let entered = match options.wait_for_room {
        true => common.enter_wait(verb, options, context).await?,
        false => common.enter(verb, options, true)?,
    };
    let (to, answer): (To<()>, _) = reply();
    let until = service.post_uniform(what, to, entered);
    Calling(Stage::posted(Ok(until), answer, common)).await
}

/// The number of a subscription that is asked for, until then.
pub(super) async fn entered(
    common: &Common,
    until: Instant,
    answer: Reply<Result<NewSubscription, Fault>>,
) -> Result<u64, Fault> {
    match common.shared.deadlines.before(until, answer).await {
        Ok(Ok(result)) => result.map(NewSubscription::take),
        Ok(Err(_)) => Err(no_answer(&common.path)),
        Err(_) => Err(timeout(&common.path)),
    }
}

impl dyn AnyService {
    /// What the service is.
    pub(crate) fn info(&self) -> ServiceInfo {
        let common = self.common();
        let now = common.shared.deadlines.clock().now();
        let (replace, patch) = self.lets_set();
        let mut listed = operations(self.operations());
        let further = common.further.get().into_iter().flatten();
        listed.extend(further.map(|operation| written(operation)));
        ServiceInfo {
            path: common.path.to_string(),
            kind: common.kind.to_owned(),
            contract: common.uri.to_owned(),
            lifecycle: common.life.lock().clone(),
            version: common.version(),
            partners: common.partners.lock().clone(),
            operations: listed,
            uncalled: crate::operation::uncalled(self.operations()),
            subscriptions: self.subscriptions(now),
            state: self.state_schema(),
            replace,
            patch,
        }
    }

    /// How often what has happened there.
    pub(crate) fn figures(&self) -> ServiceFigures {
        let common = self.common();
        let depths = [common.reads.look(), common.changes.look()];
        common.figures.told(depths)
    }

    /// How long its operations take.
    pub(crate) fn latencies(&self) -> Vec<OperationLatency> {
        let names = self.operations().iter().map(|operation| operation.name);
        self.common().latencies.look(names.chain(UNIFORM))
    }
}

/// The operations of a contract that clients may call.
pub(crate) fn operations(all: &[Operation]) -> Vec<OperationInfo> {
    let called = all.iter().filter(|operation| operation.called);
    called.map(written).collect()
}

fn written(operation: &Operation) -> OperationInfo {
    OperationInfo {
        name: operation.name.to_owned(),
        verb: operation.verb,
        group: operation.group,
        about: operation.about.to_owned(),
        job: operation.job,
        body: (operation.body)(),
        answer: (operation.answer)(),
    }
}
