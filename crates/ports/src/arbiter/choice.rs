//! Choice: exactly one of several branches runs.

mod branches;
mod kept;
mod registered;

pub(crate) use branches::{Branches, HeldBranches, Visit};
pub(crate) use kept::Kept;

use super::after::After;
use crate::activation::{Activation, Active, Attach};
use crate::claim::Claim;
use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use crate::outlet::Outlet;
use crate::parent::{Above, HandlerCounter, Parent, Pass};
use kept::{Registration, Release};
use motet_dispatch::{Awaited, Enqueue, QueueError, Task, WaitPart, Waiter};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use registered::RegisteredBranches;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Exactly one of several branches runs, once (papers R012, CCR's `Choice`): the first that has all
/// it needs. The others keep their items in their ports.
///
/// Branches are one-time arbiters: receives, joins, receives of several items, arbiters of your
/// own, choices. When several could run at the activation, their order decides. The decision is
/// made when a branch has its items and room in its queue; the losers leave their ports before its
/// handler is queued.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Choice, Port, Receive};
///
/// let (replies, failures, said) = (Port::new(), Port::new(), Port::new());
/// let (well, badly) = (said.clone(), said.clone());
/// Choice::new()
///     .or(Receive::once(&replies, move |n: u32| well.post(format!("reply {n}")).unwrap()))
///     .or(Receive::once(&failures, move |why: &str| badly.post(format!("failed: {why}")).unwrap()))
///     .activate(&Inline::new("here"))
///     .unwrap();
/// replies.post(7).unwrap();
/// failures.post("too late").unwrap();
/// assert_eq!(said.items(), ["reply 7"]);
/// assert_eq!(failures.items(), ["too late"], "the loser's item stays");
/// ```
#[must_use = "a choice does nothing until it is activated"]
pub struct Choice<L = ()> {
    branches: L,
}

/// A choice at work. Its branches come to be one by one, when they are registered: one that has its
/// items already is the last.
struct Core<H> {
    claim: Claim,
    outlet: Outlet,
    registered: Mutex<RegisteredBranches>,
    /// The branches until the registration, and the choice's own handle for it, if anyone may
    /// register it.
    held: Mutex<Option<(Arc<Self>, H)>>,
    /// Whether it waits for its registration: for looking without the lock.
    is_held: AtomicBool,
}

impl Choice {
    /// A choice without branches.
    pub fn new() -> Self {
        Choice { branches: () }
    }
}

impl<B: Attach + Send + 'static> Choice<Vec<B>> {
    /// A choice among any number of branches of one type.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Choice, Port, Receive};
    ///
    /// let ports: Vec<Port<u32>> = (0..100).map(|_| Port::new()).collect();
    /// let first = Port::new();
    /// let branches = ports.iter().zip(0..).map(|(port, n)| {
    ///     let out = first.clone();
    ///     Receive::once(port, move |item| out.post((n, item)).unwrap())
    /// });
    /// Choice::any(branches).activate(&Inline::new("here")).unwrap();
    /// ports[42].post(7).unwrap();
    /// assert_eq!(first.test(), Some((42, 7)));
    /// ```
    ///
    /// # Panics
    /// When a branch takes items more than once.
    #[track_caller]
    pub fn any(branches: impl IntoIterator<Item = B>) -> Self {
        let caller = Location::caller();
        let branches = branches
            .into_iter()
            .inspect(|branch| refuse_persistent(branch, caller));
        Choice {
            branches: branches.collect(),
        }
    }
}

impl<L: Branches> Choice<L> {
    /// Among branches that take items once.
    pub(crate) fn among(branches: L) -> Self {
        Choice { branches }
    }

    /// Adds a branch behind the others.
    ///
    /// # Panics
    /// When the branch takes items more than once.
    #[track_caller]
    pub fn or<B: Attach + Send + 'static>(self, branch: B) -> Choice<(L, B)> {
        refuse_persistent(&branch, Location::caller());
        Choice {
            branches: (self.branches, branch),
        }
    }

    /// Adds a branch that runs when `span` is over, counted from the registration by the clock of
    /// the queue: see [`After`]. The timer is cancelled when another branch wins.
    pub fn after(
        self,
        span: Duration,
        handler: impl FnOnce() + Send + 'static,
    ) -> Choice<(L, After)> {
        self.or(After::new(span, handler))
    }

    /// Puts the choice to work: queues the registration of its branches on `queue`, where the one
    /// handler will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }
}

impl<L: Branches> Attach for Choice<L> {
    type Ports = Kept;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Kept) {
        let core = Core::new(outlet);
        let held = self.branches.hold(&|| outlet_of_branch(&core));
        *core.held.lock() = Some((Arc::clone(&core), held));
        let kept = Kept::new(Arc::clone(&core) as Arc<dyn Release>);
        (core, kept)
    }

    // Nobody else registers it: no lock is needed, and no handle of its own.
    fn prepare(self, outlet: Outlet) -> (Arc<dyn Active>, impl FnOnce() + Send + 'static) {
        let core = Core::new(outlet);
        let held = self.branches.hold(&|| outlet_of_branch(&core));
        let registration = Registration::new(Arc::clone(&core), held);
        (core, move || registration.run())
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl<H: HeldBranches> Parent for Core<H> {
    #[inline]
    fn is_open(&self) -> bool {
        self.claim.is_open() && self.outlet.is_open()
    }

    #[inline]
    fn claim(&self) -> bool {
        // When an arbiter above refuses, it has decided for another and this choice is over, too.
        self.claim.take() && self.outlet.is_granted()
    }

    fn send(
        &self,
        this: &Arc<dyn Parent>,
        queue: &QueueHandle,
        task: Task,
        deferred: &mut Deferred,
    ) {
        // The winner leaves the port of its item by itself. Who decides alone has no losers, and
        // leaves its other ports by whoever registers it.
        if self.claim.is_shared() {
            let this = Arc::clone(this);
            self.outlet.send_settled(this, queue, task, deferred);
        } else {
            self.outlet.send(task, deferred);
        }
    }

    fn enter<'a>(
        &'a self,
        _: &'a Above,
        queue: &QueueHandle,
        _: bool,
        task: &mut dyn FnMut() -> Task,
    ) -> Option<Pass<'a>> {
        self.outlet.pass(queue, task)
    }

    fn host(&self) -> &dyn HandlerCounter {
        unreachable!("its handlers get the passes of those above it")
    }

    fn lose(&self) {
        self.outlet.lose();
    }
}

impl<H: HeldBranches> Settle for Core<H> {
    fn settle(&self) {
        self.settled().for_each(|branch| branch.leave());
    }
}

impl<H: HeldBranches> Release for Core<H> {
    fn release(&self) {
        // Relaxed: nobody is misled by an old answer.
        if self.is_held.load(Ordering::Relaxed) {
            drop(self.take_held());
        }
    }
}

fn outlet_of_branch<H: HeldBranches>(core: &Arc<Core<H>>) -> Outlet {
    let above = Above::new(Arc::clone(core) as Arc<dyn Parent>, None);
    Outlet::by_way_of(above.asked(core.outlet.asks()), core.outlet.queue())
}

impl<H: HeldBranches> Core<H> {
    fn new(outlet: Outlet) -> Arc<Self> {
        Arc::new(Core {
            claim: Claim::new(),
            outlet,
            registered: Mutex::default(),
            held: Mutex::new(None),
            is_held: AtomicBool::new(true),
        })
    }

    /// The branches, which are others' code: they are used and dropped under no lock.
    fn take_held(&self) -> Option<(Arc<Self>, H)> {
        let held = self.held.lock().take();
        self.is_held.store(false, Ordering::Relaxed);
        held
    }

    /// Those that have begun to register, and are still there; no others will.
    fn settled(&self) -> impl Iterator<Item = Arc<dyn Active>> + use<H> {
        let mut registered = self.registered.lock();
        registered.settles = true;
        registered.branches()
    }

    /// Registers the branches, as long as none of them decides.
    fn register_all(self: &Arc<Self>, held: &mut H) {
        let mut count = 0;
        let mut register = |branch: Arc<dyn Active>| {
            count += 1;
            match count {
                1 => self.register_first(&branch),
                _ => self.register_next(&branch),
            }
        };
        let all = held.each(&|| outlet_of_branch(self), &mut register);
        // A branch that stays alone is to settle when it decides: it may stand on several ports.
        if all && count == 1 && !self.claim.share() {
            self.settle();
        }
    }

    /// Registers the first branch. `false` when the choice has been decided.
    ///
    /// Nobody looks for it before it has come to its port and has to wait there: alone, it has no
    /// losers.
    fn register_first(&self, branch: &Arc<dyn Active>) -> bool {
        branch.register();
        let waits = Parent::is_open(self) && self.registered.lock().begin(branch, &self.claim);
        if !waits {
            // Also when it has decided the choice itself: it may stand on other ports.
            branch.leave();
        }
        waits
    }

    /// Registers a further branch. `false` when the choice has been decided.
    fn register_next(&self, branch: &Arc<dyn Active>) -> bool {
        if !self.registered.lock().begin(branch, &self.claim) {
            // Whoever was alone when it decided has not settled.
            self.settle();
            return false;
        }
        branch.register();
        let open = Parent::is_open(self);
        if !open {
            // Also when it has decided the choice itself: it may stand on other ports.
            branch.leave();
        }
        open
    }
}

impl<H: HeldBranches> Waiter for Core<H> {
    fn awaits(&self) -> Option<Awaited> {
        if !Parent::is_open(self) {
            return None;
        }
        let queue = self.outlet.queue().name().to_owned();
        let parts = if self.is_held.load(Ordering::Relaxed) {
            vec![WaitPart {
                port: format!("its registration by queue '{queue}'"),
                there: 0,
                needed: 1,
            }]
        } else {
            let branches = self.registered.lock().branches();
            let awaited = branches.filter_map(|branch| branch.awaits());
            awaited.flat_map(|awaited| awaited.parts).collect()
        };
        if self.has_ended() {
            return None;
        }
        Some(Awaited {
            who: "Choice",
            queue: Some(queue),
            parts,
        })
    }
}

impl<H: HeldBranches> Active for Core<H> {
    fn register(&self) {
        if let Some((this, mut held)) = self.take_held() {
            this.register_all(&mut held);
        }
    }

    fn cleanup(&self) {
        self.claim.close();
        // Also those that have taken their items: they have sent them on before this returns.
        self.settled().for_each(|branch| branch.cleanup());
    }

    fn leave(&self) {
        self.claim.close();
        self.settle();
    }

    fn is_active(&self) -> bool {
        Parent::is_open(self) && !self.has_ended()
    }

    fn has_ended(&self) -> bool {
        // A branch that has ended may be gone: only its port has kept it.
        let branches = self.registered.lock().all_branches();
        let ended = branches.is_some_and(|mut branches| branches.all(|branch| branch.has_ended()));
        self.claim.is_open() && ended
    }
}

fn refuse_persistent(branch: &impl Attach, caller: &Location<'_>) {
    assert!(
        branch.is_once(),
        "a branch of the choice at {caller} takes items for ever: a choice runs one handler, once; \
         build its branches with `once`"
    );
}

impl Default for Choice {
    fn default() -> Self {
        Choice::new()
    }
}

impl<L: Branches> fmt::Debug for Choice<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice")
            .field("branches", &self.branches.count())
            .finish_non_exhaustive()
    }
}
