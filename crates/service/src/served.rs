//! A service at work: its handlers, and the cell that holds it.
//!
//! ```text
//!   concurrent port ──► clone the Arc ──► &S          one interleave: the cell has the only Arc
//!   exclusive port ───► take the Arc ───► &mut S      when an exclusive handler takes it
//!   teardown port ────► take the Arc ───► S
//!   independent port ─► no service
//! ```
//!
//! An empty cell (`served/cell.rs`) is a service that is being built anew: what comes meanwhile is
//! refused.
//!
//! What does not depend on the type of the service is compiled once:
//!
//! - `served/records.rs`: what is kept of a call; `served/loaded.rs`: what a service begins with;
//! - `served/uniform.rs`, `served/storing.rs`, `served/restart.rs`, `served/teardown.rs`: changes
//!   that all services have, when they are stored, a new beginning, the end. They ask a service for
//!   the steps of `served/steps.rs`.

mod at_once;
mod begun;
mod cell;
mod concurrent;
mod exclusive;
mod loaded;
mod records;
mod restart;
mod steps;
mod storing;
mod teardown;
mod telling;
mod uniform;

use crate::json::read;
use crate::lifecycle::Lifecycle;
use crate::queue::Queue;
use crate::service::{AnyServed, Beginning, ContractOf, OwnStep, OwnThreads, ServicePlan, StateOf};
use crate::service::{OperationBody, SlotOf};
use crate::{Contract, Cx, Fault, FaultCode, Group, Parts, Serves, Service, State};
use cell::{ServiceCell, SharedService};
use loaded::LoadedState;
use motet_dispatch::Timer;
use motet_ports::{Activation, Interleave, Receive};
use motet_sync::{FirstPanic, Mutex};
use std::collections::hash_map::DefaultHasher;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A service at work.
pub(crate) struct Served<S: Service> {
    pub(crate) slot: Arc<SlotOf<S>>,
    cell: Arc<ServiceCell<S>>,
    plan: ServicePlan,
    work: Mutex<SetGoing>,
}

/// What has been set going.
#[derive(Default)]
struct SetGoing {
    independent: Option<Activation>,
    timers: Vec<Timer>,
    /// There while a change waits to be stored when its period is over.
    storing: Option<Timer>,
    /// Keeps the threads of its own.
    threads: Option<Arc<OwnThreads>>,
    /// A partner was built anew while the service was.
    is_stale: bool,
}

/// What a handler in a box does.
type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<S: Service> Served<S> {
    pub(crate) fn new(
        slot: Arc<SlotOf<S>>,
        plan: ServicePlan,
        threads: Option<Arc<OwnThreads>>,
    ) -> Arc<Self> {
        let work = SetGoing {
            threads,
            ..SetGoing::default()
        };
        Arc::new_cyclic(|served| Served {
            slot,
            cell: Arc::new(ServiceCell::new(Weak::clone(served))),
            plan,
            work: Mutex::new(work),
        })
    }

    /// Builds the service, and serves, for the first time or again.
    fn beginning(self: Arc<Self>, again: bool) -> Beginning {
        Box::pin(async move {
            let service = self.build().await?;
            if again {
                self.resume(service);
                return Ok(());
            }
            self.serve(service)
        })
    }

    /// Makes the service of what is stored, or of its initial state, and runs its start.
    async fn build(&self) -> Result<S, Fault> {
        let common = &self.slot.common;
        let (state, is_stored) = self.load()?;
        let mut service = S::build(Parts::new(state, self.plan.partners.clone()))?;
        service.state_mut().take_changed();
        let cx = Cx::of_node(common, self.plan.start_within);
        started(&cx, Box::pin(service.start(&cx)), self.plan.start_within).await?;
        // What the start has made of a stored state is another one.
        if is_stored && service.state().has_changed() {
            common.next_version();
        }
        Ok(service)
    }

    /// The state to begin with, and whether it was stored.
    fn load(&self) -> Result<(State<StateOf<S>>, bool), Fault> {
        let common = &self.slot.common;
        let schema = schema_hash::<ContractOf<S>>;
        let mut loaded = LoadedState::read(common, &self.plan, schema)?;
        let state = match loaded.state.take().map(read) {
            None => State::default(),
            Some(Ok(state)) => State::new(state),
            Some(Err(unfit)) => return Err(loaded.unfit(common, &unfit)),
        };
        Ok((state, loaded.enter(common)))
    }

    /// Begins to serve.
    fn serve(self: &Arc<Self>, service: S) -> Result<(), Fault> {
        self.cell.put(SharedService::new(service));
        let (slot, queue) = (&self.slot, Queue(Arc::clone(&self.slot.common.queue)));
        let [one, three, five] = [(); 3].map(|()| Arc::clone(self));
        // One closure, whose future all three ports have: each more is compiled for each service.
        let waiting = |group| {
            let served = Arc::clone(self);
            move |item| Arc::clone(&served).waiting(item, group)
        };
        let no_queue = |why: motet_dispatch::QueueError| {
            Fault::new(
                FaultCode::InsufficientResources,
                format!("the queue takes no task: {why}"),
            )
        };
        let independent = Receive::persistent_async(&slot.independent, waiting(Group::Independent))
            .activate(&queue);
        {
            // Before the interleave, with which the service may end: what ends it finds them.
            let mut work = self.work.lock();
            work.independent = Some(independent.map_err(no_queue)?);
            work.timers = self.beats();
        }
        let begins = Arc::clone(slot);
        let interleave = Interleave::new()
            .exclusive(Receive::persistent(&slot.exclusive, move |()| one.batch()))
            .exclusive(Receive::persistent_async(
                &slot.exclusive_async,
                waiting(Group::Exclusive),
            ))
            .concurrent(Receive::persistent(&slot.concurrent, move |item| {
                five.concurrent(item);
            }))
            .concurrent(Receive::persistent_async(
                &slot.concurrent_async,
                waiting(Group::Concurrent),
            ))
            .teardown(Receive::once_async(&slot.teardown, move |item| {
                three.teardown(item)
            }))
            .activate_then(&queue, move || begins.go_on());
        let interleave = match interleave {
            Ok(interleave) => interleave,
            Err(why) => {
                // Its ports and its timers would keep it, and its threads.
                self.leave_ports();
                return Err(no_queue(why));
            }
        };
        self.cell.opened_by(interleave.clone());
        if !slot.common.shared.deadlines.clock().is_virtual() {
            slot.direct.serve(at_once::of(&self.cell, interleave));
        }
        Ok(())
    }

    /// Starts the periodic operations: they are not posted while half of the room for changes is
    /// taken, nor while the service is suspended.
    fn beats(self: &Arc<Self>) -> Vec<Timer> {
        let clock = self.slot.common.shared.deadlines.clock();
        let beats = ContractOf::<S>::beats().into_iter();
        beats
            .map(|(period, request)| {
                let weak = Arc::downgrade(self);
                clock.every(period, move |_| {
                    if let Some(served) = weak.upgrade()
                        && *served.slot.common.life.lock() == Lifecycle::Running
                        && !served.slot.held.holds()
                        && served.slot.common.changes.look().0
                            < served.slot.common.changes.limit().div_ceil(2)
                    {
                        let client = crate::Client::here(Arc::clone(&served.slot));
                        // A service that has just ended is not beaten.
                        drop(client.post(request.clone()));
                    }
                })
            })
            .collect()
    }
}

impl<S: Service> Served<S> {
    /// Nothing more is taken, and no timer comes.
    fn leave_ports(&self) {
        // Not its threads, on which a handler may wait for its commit.
        let (independent, timers, storing) = {
            let mut work = self.work.lock();
            let timers = std::mem::take(&mut work.timers);
            (work.independent.take(), timers, work.storing.take())
        };
        for timer in timers.into_iter().chain(storing) {
            timer.cancel();
        }
        if let Some(interleave) = self.cell.interleave() {
            interleave.cleanup();
        }
        if let Some(independent) = independent {
            independent.cleanup();
        }
    }
}

impl<S: Service> AnyServed for Served<S> {
    fn begin(self: Arc<Self>) -> Beginning {
        self.beginning(false)
    }

    fn abandon(&self) {
        let (slot, mut panics) = (&self.slot, FirstPanic::default());
        panics.catch(|| self.leave_ports());
        // Before the cell is empty: what is built anew does not come into it.
        *slot.common.life.lock() = Lifecycle::Dropped;
        // What one of these drops keeps nobody from being told or answered.
        panics.catch(|| drop(self.cell.end()));
        panics.catch(|| slot.subscriptions.end(slot.common.version()));
        panics.catch(|| SlotOf::<S>::refuse_all(slot));
        panics.resume();
    }

    fn post_own(&self, step: OwnStep) {
        self.slot.post_own(step);
    }
}

/// Runs the start of a service. It holds its group: it is not served yet.
async fn started(
    cx: &Cx,
    start: Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + '_>>,
    within: Duration,
) -> Result<(), Fault> {
    let starting = cx.context(true).run(start);
    let deadlines = &cx.common().shared.deadlines;
    match deadlines.before(cx.deadline(), starting).await {
        Ok(Ok(started)) => started,
        Ok(Err(panicked)) => Err(Fault::failed(format!(
            "the start panicked: {}",
            panicked.message()
        ))),
        Err(_) => {
            let reason = format!("the start took longer than {within:?}");
            Err(Fault::new(FaultCode::ResponseTimeout, reason))
        }
    }
}

/// What tells one schema of a state from another.
fn schema_hash<C: Contract>() -> u64 {
    let mut hasher = DefaultHasher::new();
    crate::json::schema::<C::State>()
        .to_string()
        .hash(&mut hasher);
    hasher.finish()
}

/// Refuses what was posted to a group that is not its own.
fn misplaced<C: Contract>(what: OperationBody<C>) {
    what.refuse(Fault::failed(
        "an operation was posted to a group that is not its own",
    ));
}
