//! Choice: exactly one of several branches runs.

mod branches;

pub(crate) use branches::{Branches, Held, Visit};

use super::after::After;
use crate::activation::{Activation, Active, Attach};
use crate::claim::Claim;
use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use crate::outlet::Outlet;
use crate::parent::{Parent, Pass};
use motet_dispatch::{Awaited, Enqueue, QueueError, Task, Waiter};
use motet_sync::Mutex;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Exactly one of several branches runs, once (papers R012, CCR's `Choice`): the first that has all it
/// needs. The others keep their items in their ports.
///
/// Branches are one-time arbiters: receives, joins, receives of several items, arbiters of your own,
/// choices. When several could run at the activation, their order decides. The decision is made when a
/// branch has its items and room in its queue; the losers leave their ports before its handler is
/// queued.
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

/// A choice at work. Its branches come to be one by one, when they are registered: one that has its items
/// already is the last.
struct Core<H> {
    claim: Claim,
    outlet: Outlet,
    roster: Mutex<Roster>,
    held: PhantomData<fn(H)>,
}

/// The branches that have begun to register, which live as long as they are on their ports. A branch
/// begins only before the choice settles, so whoever settles knows whom to look at.
///
/// ```text
///   registering:  begin ──> on its port ──> decided meanwhile? it leaves again
///   settling:     decide ──> settle ──> those that have begun leave
/// ```
///
/// A branch that both miss (it was looked for before it came to its port) finds the choice decided: the lock of
/// its port, which both have held, orders that.
#[derive(Default)]
struct Roster {
    /// As many as most choices have; the others are behind them.
    few: [Option<Weak<dyn Active>>; 2],
    others: Vec<Weak<dyn Active>>,
    settles: bool,
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

    /// Adds a branch that runs when `span` is over, counted from the registration by the clock of the
    /// queue: see [`After`]. The timer is cancelled when another branch wins.
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
    type Ports = L::Held;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, L::Held) {
        let core = Arc::new(Core {
            claim: Claim::new(),
            outlet,
            roster: Mutex::default(),
            held: PhantomData::<fn(L::Held)>,
        });
        let held = self.branches.hold(&|| core.outlet_of_branch());
        (core, held)
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl<H> Parent for Core<H> {
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
        // The winner leaves its port by itself. An item that waited at the activation leaves no losers.
        if self.claim.is_shared() {
            let this = Arc::clone(this);
            self.outlet.send_settled(this, queue, task, deferred);
        } else {
            self.outlet.send(task, deferred);
        }
    }

    fn enter(&self, queue: &QueueHandle, task: &mut dyn FnMut() -> Task) -> Option<Pass<'_>> {
        self.outlet.pass(queue, task)
    }

    fn lose(&self) {
        self.outlet.lose();
    }
}

impl<H> Settle for Core<H> {
    fn settle(&self) {
        self.settled().for_each(|branch| branch.leave());
    }
}

impl<H> Core<H> {
    fn outlet_of_branch(self: &Arc<Self>) -> Outlet
    where
        H: 'static,
    {
        let parent = Arc::clone(self) as Arc<dyn Parent>;
        Outlet::by_way_of(parent, self.outlet.queue())
    }

    /// Those that have begun to register, and are still there; no others will.
    fn settled(&self) -> impl Iterator<Item = Arc<dyn Active>> {
        let mut roster = self.roster.lock();
        roster.settles = true;
        roster.branches()
    }

    /// Registers the first branch, with its ports. `false` when the choice has been decided.
    ///
    /// Nobody looks for it before it has come to its port and has to wait there: alone, it has no losers.
    fn register_first(&self, branch: Arc<dyn Active>, ports: &mut dyn Any) -> bool {
        Arc::clone(&branch).start(ports);
        let waits =
            Parent::is_open(self) && self.roster.lock().begin(&branch, &self.claim).is_some();
        // One that has decided the choice has left its port by itself.
        if !waits && !self.claim.is_taken() {
            branch.leave();
        }
        waits
    }

    /// Registers a further branch, with its ports. `false` when the choice has been decided.
    fn register_next(&self, branch: Arc<dyn Active>, ports: &mut dyn Any) -> bool {
        let Some(number) = self.roster.lock().begin(&branch, &self.claim) else {
            return false;
        };
        branch.start(ports);
        if Parent::is_open(self) {
            return true;
        }
        let branch = self.roster.lock().get(number);
        branch.into_iter().for_each(|branch| branch.leave());
        false
    }
}

impl<H> Waiter for Core<H> {
    fn awaits(&self) -> Option<Awaited> {
        if !Parent::is_open(self) {
            return None;
        }
        let branches = self.roster.lock().branches();
        let awaited = branches.filter_map(|branch| branch.awaits());
        let parts = awaited.flat_map(|awaited| awaited.parts).collect();
        Some(Awaited {
            who: "Choice",
            queue: Some(self.outlet.queue().name().to_owned()),
            parts,
        })
    }
}

impl<H: Held> Active for Core<H> {
    fn register(&self) {
        unreachable!("a choice is registered by `start`, with its branches");
    }

    fn start(self: Arc<Self>, ports: &mut dyn Any) {
        let held = ports.downcast_mut::<H>();
        let held = held.expect("a choice is registered with its branches");
        let mut first = true;
        let mut register = |branch: Arc<dyn Active>, ports: &mut dyn Any| {
            if std::mem::take(&mut first) {
                self.register_first(branch, ports)
            } else {
                self.register_next(branch, ports)
            }
        };
        held.each(&|| self.outlet_of_branch(), &mut register);
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
        Parent::is_open(self)
    }
}

impl Roster {
    /// Another branch is about to register: its number. `None`: it must not any more.
    fn begin(&mut self, branch: &Arc<dyn Active>, claim: &Claim) -> Option<usize> {
        if self.settles || (self.few[0].is_some() && !claim.share()) {
            return None;
        }
        let branch = Arc::downgrade(branch);
        if let Some(free) = self.few.iter().position(Option::is_none) {
            self.few[free] = Some(branch);
            return Some(free);
        }
        self.others.push(branch);
        Some(self.few.len() + self.others.len() - 1)
    }

    /// Those that have begun to register, and are still there.
    fn branches(&self) -> impl Iterator<Item = Arc<dyn Active>> + use<> {
        let few = self.few.each_ref().map(|branch| branch.as_ref()?.upgrade());
        let others: Vec<_> = self.others.iter().filter_map(Weak::upgrade).collect();
        few.into_iter().flatten().chain(others)
    }

    fn get(&self, number: usize) -> Option<Arc<dyn Active>> {
        let mut branches = self.few.iter().flatten().chain(&self.others);
        branches.nth(number)?.upgrade()
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
