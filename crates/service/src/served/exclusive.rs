//! Handlers that change the state: `&mut self`, alone.

use super::cell::{ServiceCell, SharedService};
use super::records::{Keyed, Looked};
use super::restart::{BuiltAnew, TakenService};
use super::steps::ServedSteps;
use super::storing::{commit, is_stored_each_time, store_later, take_step};
use super::telling::Telling;
use super::uniform::{Allowed, UniformChange, change_uniform};
use super::{Served, misplaced};
use crate::context::Panicked;
use crate::json::to_value;
use crate::options::RequestEnvelope;
use crate::report::Traced;
use crate::service::{Common, ContractOf, Figures, NotRun, OperationBody, OperationItem, SlotOf};
use crate::{Contract, Cx, Fault, Serves, Service, StateRef};
use motet_dispatch::spawn;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;

/// What is kept of the time before an exclusive handler.
struct Before<C: Contract> {
    /// The state, if it may have to be restored.
    state: Option<StateRef<C::State>>,
    /// Whether a change is told, and the request of which it comes.
    told: Option<Arc<C::Request>>,
}

/// What has come of a change.
struct Changed {
    failed: bool,
    changed: bool,
    keyed: bool,
}

/// Whom to tell of a change.
type ToTell<S> = Option<Box<Telling<ContractOf<S>>>>;

/// How an operation that may wait has ended.
pub(super) enum Ended<C: Contract> {
    Outcome(C::Outcome),
    /// Without its handler, or against what that has said.
    Answered(Result<Value, Fault>),
    Panicked(Panicked),
}

impl<S: Service> Served<S> {
    /// Handles the items of a batch, whose handlers do not wait. The service has no store.
    pub(super) fn batch(self: &Arc<Self>) {
        let (mut panicked, _running) = (None, self.slot.batches.run());
        for item in self.slot.batches.take() {
            // Of a handler whose caller wants no answer, or of a destructor: it must not keep the
            // others, and each is told.
            let handled = catch_unwind(AssertUnwindSafe(|| self.exclusive(item)));
            if let Some(before) = handled.err().and_then(|payload| panicked.replace(payload)) {
                let kept = self.slot.common.keep_threads();
                let again = async move {
                    let _threads = kept;
                    resume_unwind(before)
                };
                // A queue that takes no task has nobody to tell.
                drop(spawn(&self.slot.common.queue, again));
            }
        }
        if let Some(payload) = panicked {
            resume_unwind(payload);
        }
    }

    fn exclusive(self: &Arc<Self>, mut item: OperationItem<ContractOf<S>>) {
        item.room.leave();
        let begun = match self.slot.common.in_time(item.envelope.deadline) {
            Ok(begun) => begun,
            Err(fault) => return self.refuse(item, fault),
        };
        Figures::count_alone(&self.slot.common.figures.changes);
        let OperationBody::Request(request, reply) = item.what else {
            return misplaced(item.what);
        };
        let operation = ContractOf::<S>::operation(&request);
        let cx = Cx::new(&self.slot.common, item.envelope);
        let captured = self.capture_of(&cx.envelope, &request);
        let keyed = match self.look_up(&request, &cx.envelope) {
            Looked::Unkeyed => None,
            Looked::New(keyed) => Some(keyed),
            Looked::Answered(answer) => return self.give(reply, answer, captured),
        };
        let mut outcome = None;
        let ended = self
            .cell
            .change_now(&self.slot, &cx, request, keyed, &mut outcome);
        // Of a call that is refused nothing is learnt.
        let has_run = outcome.is_some() || matches!(ended, Err(NotRun::Panic(_)));
        if has_run && !matches!(ended, Ok(Some(_))) {
            self.slot
                .common
                .has_run(operation, begun, cx.envelope.posted, 1);
        }
        match ended {
            Ok(telling) => {
                let outcome = outcome.expect("a handler that ends has one");
                let is_told = telling.is_some();
                let tells = self.slot.tells(telling);
                self.answer(outcome, reply, captured);
                drop(tells);
                if is_told {
                    // With many to tell it is not short: its caller is to have it posted.
                    self.slot
                        .common
                        .has_run(operation, begun, cx.envelope.posted, 1);
                }
            }
            Err(NotRun::Fault(fault)) => self.give(reply, Err(fault), captured),
            Err(NotRun::Panic(panicked)) => self.panicked(panicked, reply, captured),
        }
    }

    /// Handles an item whose handler may wait, for itself or for a commit.
    pub(super) async fn exclusive_async(self: &Arc<Self>, mut item: OperationItem<ContractOf<S>>) {
        item.room.leave();
        let fits = self
            .slot
            .common
            .in_time(item.envelope.deadline)
            .and_then(|_| match item.what {
                OperationBody::Save(_) => self.slot.common.has_version(item.envelope.if_version()),
                // A key is looked up before the version, which its first request has changed.
                _ => Ok(()),
            });
        if let Err(fault) = fits {
            return self.refuse(item, fault);
        }
        if let OperationBody::Own(step) = item.what {
            // No call: it is not counted.
            let served = Arc::clone(self) as Arc<dyn ServedSteps>;
            return Box::pin(take_step(served, step)).await;
        }
        let common = &self.slot.common;
        let before = Figures::count_alone(&common.figures.changes);
        let (place, posted) = (item.what.place(), item.envelope.posted);
        let (change, to) = match item.what {
            OperationBody::Request(request, reply) => {
                let answer = |ended, captured| match ended {
                    Ended::Outcome(outcome) => self.answer(outcome, reply, captured),
                    Ended::Answered(answer) => self.give(reply, answer, captured),
                    Ended::Panicked(panicked) => self.panicked(panicked, reply, captured),
                };
                let cx = Cx::new(common, item.envelope);
                self.change(request, cx, before, answer).await;
                return place.map_or((), |place| common.took(place, posted, 1));
            }
            OperationBody::Replace(state, to) => (UniformChange::Replace(state), to),
            OperationBody::Patch(patch, to) => (UniformChange::Patch(patch), to),
            OperationBody::Save(to) => (UniformChange::Save, to),
            other => return misplaced(other),
        };
        let allowed = Allowed {
            replace: ContractOf::<S>::REPLACE,
            patch: ContractOf::<S>::PATCH,
        };
        let served = Arc::clone(self) as Arc<dyn ServedSteps>;
        // In a box: few changes are of this kind, and each future has room for the largest.
        let changing = change_uniform(served, change, to, item.envelope, allowed);
        Box::pin(changing).await;
        place.inspect(|place| self.slot.common.took(*place, posted, 1));
    }

    /// Runs an exclusive operation of the contract that may wait. `answer` gets its end, before
    /// subscribers are told.
    pub(super) async fn change<A>(
        self: &Arc<Self>,
        request: <ContractOf<S> as Contract>::Request,
        cx: Cx,
        changes_before: u64,
        answer: impl FnOnce(Ended<ContractOf<S>>, Option<Traced>) -> A,
    ) -> A {
        let common = &self.slot.common;
        let operation = ContractOf::<S>::operation(&request);
        let captured = self.capture_of(&cx.envelope, &request);
        let keyed = match self.look_up(&request, &cx.envelope) {
            Looked::Unkeyed => None,
            Looked::New(keyed) => Some(keyed),
            Looked::Answered(stored) => return answer(Ended::Answered(stored), captured),
        };
        if let Err(fault) = self.slot.common.has_version(cx.envelope.if_version()) {
            return answer(Ended::Answered(Err(fault)), captured);
        }
        let mut taken = TakenService::of(&*self.cell);
        let Some(mut shared) = self.cell.take() else {
            let absence = Err(common.absence());
            return answer(Ended::Answered(absence), captured);
        };
        let service = alone(&mut shared);
        let before = before::<S>(&self.slot, service, &request);
        let ended = {
            // Pinned where it is made: each move of it takes its room twice.
            let handler = pin!(ContractOf::<S>::exclusive(service, &cx, request));
            let which = (operation, changes_before);
            taken.waits = true;
            let ended = common.handled(&cx.context, which, handler).await;
            taken.waits = false;
            ended
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(panicked) => {
                if let Some(before) = before.state {
                    alone(&mut shared).state_mut().restore(before);
                    self.cell.put(shared);
                } else {
                    drop(shared);
                    self.cell.torn(&panicked);
                }
                // It is built anew for this panic: not once more, when that goes on from here.
                drop(taken);
                return answer(Ended::Panicked(panicked), captured);
            }
        };
        let changed = settle::<S>(common, service, &before, keyed, &outcome);
        if self.is_to_be_stored(&changed, &cx) {
            if let Err(fault) = commit(&**self, to_value(&**shared.state())).await {
                // What is not stored is not served: the state is read again.
                drop(shared);
                let given = answer(Ended::Answered(Err(fault.clone())), captured);
                self.cell.build_anew(&fault);
                return given;
            }
        } else if common.is_stored && (changed.changed || changed.keyed) {
            store_later(&(Arc::clone(self) as Arc<dyn ServedSteps>));
        }
        let told = before.told.filter(|_| changed.changed);
        let telling = self.slot.telling(&cx, shared.state(), told, changed.failed);
        self.cell.put(shared);
        let tells = self.slot.tells(telling);
        let given = answer(Ended::Outcome(outcome), captured);
        drop(tells);
        given
    }

    /// Whether the answer waits for a commit.
    fn is_to_be_stored(&self, ended: &Changed, cx: &Cx) -> bool {
        let is_wanted = cx.wants_save() && !ended.failed;
        is_wanted || (is_stored_each_time(self) && (ended.changed || ended.keyed))
    }

    /// What is known of the key of a request.
    fn look_up(
        &self,
        request: &<ContractOf<S> as Contract>::Request,
        envelope: &RequestEnvelope,
    ) -> Looked {
        let operation = ContractOf::<S>::operation(request).name;
        let body = || ContractOf::<S>::body(request);
        self.slot.common.look_up_as(operation, &body, envelope)
    }

    /// Answers, if an answer is wanted, with what no handler has just given.
    fn give(
        &self,
        reply: Option<<ContractOf<S> as Contract>::Reply>,
        answer: Result<Value, Fault>,
        captured: Option<Traced>,
    ) {
        self.slot.common.keep_answer(captured, &answer);
        match (reply, answer) {
            (Some(reply), Ok(value)) => ContractOf::<S>::post_stored(reply, value),
            (Some(reply), Err(fault)) => ContractOf::<S>::refuse(reply, fault),
            (None, _) => {}
        }
    }
}

impl<S: Service> ServiceCell<S> {
    /// Runs the handler of a method that is not async, which leaves its outcome where it is to be:
    /// to hand it on takes as long as a short handler. The caller is alone, and the service has no
    /// store. Subscribers are not told yet.
    #[inline]
    pub(super) fn change_now(
        &self,
        slot: &SlotOf<S>,
        cx: &Cx,
        request: <ContractOf<S> as Contract>::Request,
        keyed: Option<Keyed>,
        outcome: &mut Option<<ContractOf<S> as Contract>::Outcome>,
    ) -> Result<ToTell<S>, NotRun> {
        let common = &*slot.common;
        common
            .has_version(cx.envelope.if_version())
            .map_err(NotRun::Fault)?;
        let _taken = TakenService::of(self);
        let Some(mut held) = self.hold() else {
            return Err(NotRun::Fault(common.absence()));
        };
        let service = alone(&mut held);
        let before = before::<S>(slot, service, &request);
        let outcome = cx.run_now(|| {
            let given = ContractOf::<S>::exclusive_now(&mut *service, cx, request);
            &*outcome.insert(given)
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(panicked) => {
                if let Some(before) = &before.state {
                    service.state_mut().restore(before.clone());
                    drop(held.put());
                } else {
                    drop(held);
                    self.torn(&panicked);
                }
                return Err(NotRun::Panic(panicked));
            }
        };
        let changed = settle::<S>(common, service, &before, keyed, outcome);
        if cx.wants_save() && !changed.failed {
            drop(held);
            let fault = common.no_store();
            self.build_anew(&fault);
            return Err(NotRun::Fault(fault));
        }
        let told = before.told.filter(|_| changed.changed);
        let telling = slot.telling(cx, held.state(), told, changed.failed);
        // After the end it is dropped.
        drop(held.put());
        Ok(telling)
    }

    /// A handler has panicked and may have left the state torn, which is never served.
    fn torn(&self, panicked: &Panicked) {
        let reason = format!("a handler panicked: {}", panicked.message());
        self.build_anew(&Fault::failed(reason));
    }
}

/// What must be kept before an exclusive handler runs.
#[inline]
fn before<S: Service>(
    slot: &SlotOf<S>,
    service: &S,
    request: &<ContractOf<S> as Contract>::Request,
) -> Before<ContractOf<S>> {
    let rollback = ContractOf::<S>::operation(request).rollback;
    let wanted = slot.subscriptions.are_wanted();
    Before {
        state: rollback.then(|| service.state().snapshot()),
        told: wanted.then(|| Arc::new(request.clone())),
    }
}

/// An exclusive handler has ended: undoes what is to be undone, counts the version, keeps the
/// answer to a key.
#[inline]
fn settle<S: Service>(
    common: &Common,
    service: &mut S,
    before: &Before<ContractOf<S>>,
    keyed: Option<Keyed>,
    outcome: &<ContractOf<S> as Contract>::Outcome,
) -> Changed {
    let failed = ContractOf::<S>::fault(outcome).is_some();
    if let (true, Some(state)) = (failed, &before.state) {
        service.state_mut().restore(state.clone());
    }
    let changed = service.state_mut().take_changed();
    if changed {
        common.next_version();
    }
    let is_keyed = keyed.is_some();
    if let Some(keyed) = keyed {
        common.keep(keyed, ContractOf::<S>::value(outcome));
    }
    Changed {
        failed,
        changed,
        keyed: is_keyed,
    }
}

/// The service, to be changed.
fn alone<S>(shared: &mut SharedService<S>) -> &mut S {
    SharedService::get_mut(shared).expect("an exclusive handler is alone")
}
