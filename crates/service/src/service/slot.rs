//! Where a service is reached: its ports, which outlive the service that serves them.

use super::batches::Batches;
use super::direct::DirectService;
use super::lengths::HandlerLengths;
use super::shared::NodeShared;
use super::subscriptions::{Entering, Subscriptions};
use super::suspension::HeldOperations;
use super::threads::OwnThreads;
use crate::context::Panicked;
use crate::depth::{Depth, DepthRoom};
use crate::json::To;
use crate::keys::KeyedAnswers;
use crate::latency::Latencies;
use crate::lifecycle::Lifecycle;
use crate::options::RequestEnvelope;
use crate::patch::Patch;
use crate::report::Level;
use crate::rights::Rights;
use crate::snapshot::Snapshot;
use crate::{Contract, Fault, Group, Notification, Operation, Service, StateRef, Verb};
use motet_dispatch::{Causalities, Enqueue, Exception};
use motet_ports::Port;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

/// What does not depend on the contract.
pub(crate) struct Common {
    pub(crate) id: u64,
    pub(crate) path: Arc<str>,
    pub(crate) kind: &'static str,
    pub(crate) uri: &'static str,
    pub(crate) listed: bool,
    pub(crate) shared: Arc<NodeShared>,
    pub(crate) queue: Arc<dyn Enqueue>,
    /// Whose the queue is, if the service has threads of its own.
    pub(crate) threads: Option<Weak<OwnThreads>>,
    pub(crate) life: Mutex<Lifecycle>,
    /// Held while the directory is told of its life: what is told last is how it is.
    pub(crate) telling: Mutex<()>,
    /// Changed inside exclusive handlers only.
    pub(crate) version: AtomicU64,
    /// The paths of its partners, by their names.
    pub(crate) partners: Mutex<BTreeMap<String, String>>,
    pub(crate) rights: Rights,
    /// Whether it may call services of other processes.
    pub(crate) network: bool,
    pub(crate) figures: Figures,
    /// The services that wait for each other, if this is one of them.
    pub(crate) cycle: Mutex<Option<String>>,
    /// How many wait at the concurrent and the independent port, and at the exclusive one.
    pub(crate) reads: Arc<Depth>,
    pub(crate) changes: Arc<Depth>,
    /// Used inside exclusive handlers only.
    pub(crate) keys: Mutex<KeyedAnswers>,
    /// Whether it has a store, for which changes wait.
    pub(crate) is_stored: bool,
    pub(crate) lengths: HandlerLengths,
    pub(crate) latencies: Latencies,
    /// Operations that its contract does not list, once the service has said them.
    pub(crate) further: OnceLock<Vec<&'static Operation>>,
}

/// How often what has happened.
#[derive(Default)]
pub(crate) struct Figures {
    /// Of handlers that are not exclusive.
    pub(crate) calls: AtomicU64,
    /// Of exclusive ones, and counted inside them only.
    pub(crate) changes: AtomicU64,
    pub(crate) faults: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) late: AtomicU64,
    pub(crate) restarts: AtomicU64,
}

/// A service as its clients see it.
pub(crate) struct ServiceSlot<C: Contract> {
    pub(crate) common: Arc<Common>,
    /// For operations whose handlers do not wait.
    pub(crate) concurrent: Port<OperationItem<C>>,
    /// Each item stands for a batch.
    pub(crate) exclusive: Port<()>,
    pub(crate) batches: Batches<C>,
    /// For those whose handlers may.
    pub(crate) concurrent_async: Port<OperationItem<C>>,
    pub(crate) exclusive_async: Port<OperationItem<C>>,
    pub(crate) teardown: Port<OperationItem<C>>,
    pub(crate) independent: Port<OperationItem<C>>,
    pub(crate) subscriptions: Subscriptions<C>,
    pub(crate) held: HeldOperations<C>,
    pub(crate) direct: DirectService<C>,
}

/// The operations of all services whose spans are told, behind those of the contract.
pub(crate) const UNIFORM: [&str; 3] = ["get", "replace", "patch"];

/// An operation on its way.
pub(crate) struct OperationItem<C: Contract> {
    pub(crate) room: DepthRoom,
    pub(crate) what: OperationBody<C>,
    pub(crate) envelope: RequestEnvelope,
    /// Under what it runs, if it ends the service: others carry that themselves.
    pub(crate) under: Causalities,
}

/// What is asked for.
pub(crate) enum OperationBody<C: Contract> {
    Request(C::Request, Option<C::Reply>),
    Get(To<Snapshot<C::State>>),
    Replace(Box<C::State>, To<()>),
    Patch(Patch, To<()>),
    Subscribe(Box<Entering<C>>),
    Unsubscribe(u64, To<()>),
    Save(To<()>),
    Drop(Option<To<()>>),
    Own(OwnStep),
}

/// What a node has a service do that no client asks for. It is exclusive.
pub(crate) enum OwnStep {
    /// What is held goes on, unless it is suspended: it begins to serve, or was resumed.
    GoOn,
    /// Its state is stored, since its period is over.
    Store,
    /// It is built anew, since a partner was. Answered when that has ended.
    Rebuild(Box<Fault>, To<()>),
}

impl<C: Contract> ServiceSlot<C> {
    pub(crate) fn new(common: Arc<Common>) -> Self {
        ServiceSlot {
            common,
            concurrent: Port::new(),
            exclusive: Port::new(),
            batches: Batches::default(),
            concurrent_async: Port::new(),
            exclusive_async: Port::new(),
            teardown: Port::new(),
            independent: Port::new(),
            subscriptions: Subscriptions::default(),
            held: HeldOperations::default(),
            direct: DirectService::default(),
        }
    }

    fn port(&self, what: &OperationBody<C>, group: Group) -> &Port<OperationItem<C>> {
        match group {
            Group::Concurrent if what.is_async() => &self.concurrent_async,
            Group::Concurrent => &self.concurrent,
            Group::Exclusive => &self.exclusive_async,
            Group::Independent => &self.independent,
            Group::Teardown => &self.teardown,
        }
    }

    /// Whether an exclusive handler may be one of several in a batch. It may if it does not wait,
    /// for itself or for a commit, and runs under no causality, as all of them.
    fn is_of_batch(&self, what: &OperationBody<C>) -> bool {
        let of_contract = matches!(what, OperationBody::Request(..));
        of_contract
            && !self.common.is_stored
            && !what.is_async()
            && Causalities::active().is_empty()
    }

    /// Posts an item for which there is room, also while the service is suspended.
    pub(super) fn post_now(&self, mut item: OperationItem<C>) {
        let (_, group) = item.what.verb();
        let posted = match group {
            Group::Exclusive if self.is_of_batch(&item.what) => {
                let post = || self.exclusive.post(()).map_err(|refused| refused.reason);
                self.batches.add(item, post)
            }
            Group::Teardown => {
                // The end is claimed when it is taken: it is not skipped after that.
                item.under = Causalities::active();
                let mut given_back = None;
                Causalities::none().run(|| {
                    let posted = self.teardown.post(item);
                    given_back = posted.err().map(|refused| (refused.item, refused.reason));
                });
                given_back.map_or(Ok(()), Err)
            }
            _ => {
                if group == Group::Exclusive {
                    self.batches.close();
                }
                let posted = self.port(&item.what, group).post(item);
                posted.map_err(|refused| (refused.item, refused.reason))
            }
        };
        if let Err((item, why)) = posted {
            self.refuse_untaken(item, &why);
        }
    }

    /// Has the service do what its node wants, whoever is cancelled meanwhile. Nobody waits for
    /// room.
    pub(crate) fn post_own(&self, step: OwnStep) {
        let item = OperationItem {
            room: DepthRoom::none(),
            what: OperationBody::Own(step),
            envelope: RequestEnvelope::default(),
            under: Causalities::none(),
        };
        Causalities::none().run(|| self.post_now(item));
    }

    /// Tells subscribers of a change that an exclusive handler has made.
    pub(crate) fn notify(
        &self,
        notification: &Notification<C>,
        state: impl Fn() -> StateRef<C::State>,
    ) {
        let now = self.common.shared.deadlines.clock().now();
        self.subscriptions.notify(notification, now, state);
    }
}

impl Common {
    /// How many of a group may wait; none for what ends the service.
    pub(crate) fn depth(&self, group: Group) -> Option<&Arc<Depth>> {
        match group {
            Group::Concurrent | Group::Independent => Some(&self.reads),
            Group::Exclusive => Some(&self.changes),
            Group::Teardown => None,
        }
    }

    pub(crate) fn version(&self) -> u64 {
        // Relaxed: whoever reads it is in the interleave, or takes it for what it was.
        self.version.load(Ordering::Relaxed)
    }

    pub(crate) fn next_version(&self) -> u64 {
        Figures::count_alone(&self.version) + 1
    }

    /// Whoever hears of the panics of the queue hears of this one.
    pub(crate) fn raise(&self, panicked: Panicked) {
        let name = self.queue.name();
        self.queue.raise(Exception::new(panicked.0, name));
    }

    /// An answer has come too late: its caller had gone.
    pub(crate) fn came_too_late(&self) {
        Figures::count(&self.figures.late);
        let text = "an answer came too late: its caller had gone";
        self.shared.log(Level::Warning, "service", &self.path, text);
    }

    /// Why nothing is served now.
    pub(crate) fn absence(&self) -> Fault {
        self.life.lock().absence().of_service(&self.path)
    }

    /// What keeps the threads of its own, if it has any, until it is dropped.
    ///
    /// # Errors
    /// The service has ended, and the threads end.
    pub(crate) fn keep_threads(&self) -> Result<Option<Arc<OwnThreads>>, Fault> {
        let Some(threads) = &self.threads else {
            return Ok(None);
        };
        let kept = threads.upgrade();
        kept.map(Some).ok_or_else(|| self.absence())
    }

    pub(crate) fn set_life(&self, life: Lifecycle) {
        *self.life.lock() = life;
        self.shared.changed(self);
    }

    /// It has started, and runs; not one that was dropped or has failed by now.
    pub(crate) fn set_running(&self) {
        let mut life = self.life.lock();
        if matches!(*life, Lifecycle::Starting { .. }) {
            *life = Lifecycle::Running;
            drop(life);
            self.shared.changed(self);
        }
    }

    /// Whether the service ends, or has ended: it does not come back.
    pub(crate) fn has_ended(&self) -> bool {
        self.life.lock().is_end()
    }

    /// As [`Common::set_life`], unless the service ends or has ended: whether it goes on.
    pub(crate) fn set_unless_ended(&self, life: Lifecycle) -> bool {
        let mut now = self.life.lock();
        if now.is_end() {
            return false;
        }
        *now = life;
        drop(now);
        self.shared.changed(self);
        true
    }
}

impl Figures {
    /// Counts: how many there were before.
    pub(crate) fn count(counter: &AtomicU64) -> u64 {
        // Relaxed: nobody concludes anything else from it.
        counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts where nobody else does meanwhile: how many there were before.
    pub(crate) fn count_alone(counter: &AtomicU64) -> u64 {
        // Relaxed: who counts next comes after, by the interleave.
        let before = counter.load(Ordering::Relaxed);
        counter.store(before + 1, Ordering::Relaxed);
        before
    }
}

impl<C: Contract> OperationBody<C> {
    /// Which uniform operation it is, and its group.
    pub(crate) fn verb(&self) -> (Verb, Group) {
        match self {
            OperationBody::Request(request, _) => {
                let operation = C::operation(request);
                (operation.verb, operation.group)
            }
            OperationBody::Get(_) => (Verb::Get, Group::Concurrent),
            OperationBody::Replace(..) => (Verb::Replace, Group::Exclusive),
            OperationBody::Patch(patch, _) => (patch.verb(), Group::Exclusive),
            OperationBody::Save(_) | OperationBody::Own(_) => (Verb::Submit, Group::Exclusive),
            OperationBody::Subscribe(_) | OperationBody::Unsubscribe(..) => {
                (Verb::Subscribe, Group::Concurrent)
            }
            OperationBody::Drop(_) => (Verb::Drop, Group::Teardown),
        }
    }

    /// Its place among the spans that are told.
    pub(crate) fn place(&self) -> Option<usize> {
        let uniform = C::OPERATIONS.len();
        match self {
            // Those that the contract does not list have none.
            OperationBody::Request(request, _) => {
                let number = C::operation(request).number;
                (number < uniform).then_some(number)
            }
            OperationBody::Get(_) => Some(uniform),
            OperationBody::Replace(..) => Some(uniform + 1),
            OperationBody::Patch(..) => Some(uniform + 2),
            _ => None,
        }
    }

    /// Whether its handler may wait.
    fn is_async(&self) -> bool {
        match self {
            OperationBody::Request(request, _) => C::operation(request).is_async,
            OperationBody::Get(_)
            | OperationBody::Subscribe(_)
            | OperationBody::Unsubscribe(..) => false,
            OperationBody::Replace(..)
            | OperationBody::Patch(..)
            | OperationBody::Save(_)
            | OperationBody::Drop(_)
            | OperationBody::Own(_) => true,
        }
    }

    /// Answers with a fault.
    pub(crate) fn refuse(self, fault: Fault) {
        let delivered = match self {
            OperationBody::Request(_, Some(reply)) => return C::refuse(reply, fault),
            OperationBody::Request(_, None)
            | OperationBody::Drop(None)
            | OperationBody::Own(OwnStep::GoOn | OwnStep::Store) => Ok(()),
            OperationBody::Get(to) => to.post(Err(fault)).map_err(drop),
            OperationBody::Subscribe(entering) => entering.reply.post(Err(fault)).map_err(drop),
            OperationBody::Replace(_, to)
            | OperationBody::Patch(_, to)
            | OperationBody::Unsubscribe(_, to)
            | OperationBody::Save(to)
            | OperationBody::Drop(Some(to))
            | OperationBody::Own(OwnStep::Rebuild(_, to)) => to.post(Err(fault)).map_err(drop),
        };
        // An asker that has gone need not know.
        let _gone = delivered.is_err();
    }
}

/// The slot of a service.
pub(crate) type SlotOf<S> = ServiceSlot<<S as Service>::Contract>;
