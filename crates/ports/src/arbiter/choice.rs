//! Choice: exactly one of several branches runs.

use super::after::After;
use crate::activation::{Activation, Active, Attach};
use crate::claim::Claim;
use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use crate::outlet::Outlet;
use crate::parent::{Parent, Pass};
use motet_dispatch::{Awaited, Enqueue, QueueError, Task, Waiter};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock, Weak};
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

/// The branches of a choice, in their order: none, those before and one more, or a list.
pub trait Branches {
    /// As [`Attach::Ports`].
    type Ports: Send + 'static;
    /// The branches at work.
    type Roster: Roster;

    /// Makes the branches that go to work, each with an outlet of its own.
    fn attach(self, outlet: &dyn Fn() -> Outlet) -> (Self::Roster, Self::Ports);

    /// How many there are.
    fn count(&self) -> usize;
}

/// The branches at work, which live as long as they are on their ports.
pub trait Roster: Send + Sync + 'static {
    /// Shows the branches to `visit`, in order, until it says `false`.
    fn each(&self, visit: &mut dyn FnMut(&dyn Active) -> bool) -> bool;
}

/// A choice at work.
struct Core<R> {
    claim: Claim,
    /// Set before anyone else knows the choice.
    roster: OnceLock<R>,
    outlet: Outlet,
    progress: Progress,
}

/// How many branches have begun to register, and whether those that have are being taken off again: a branch
/// begins only before that, so whoever takes them off knows whom to look at.
///
/// ```text
///   registering:  begin(k) ──> branch k on its port ──> decided meanwhile? it leaves again
///   settling:     decide ──> settle ──> branches 0..k leave
/// ```
///
/// A branch that both miss (it was looked for before it came to its port) finds the choice decided: the lock of
/// its port, which both have held, orders that.
struct Progress(AtomicUsize);

impl Choice {
    /// A choice without branches.
    pub fn new() -> Self {
        Choice { branches: () }
    }
}

impl<B: Attach> Choice<Vec<B>> {
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
    pub fn or<B: Attach>(self, branch: B) -> Choice<(L, B)> {
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
    type Ports = L::Ports;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, L::Ports) {
        let core = Arc::new(Core {
            claim: Claim::new(),
            roster: OnceLock::new(),
            outlet,
            progress: Progress::new(),
        });
        let outlet = || {
            let parent = Arc::clone(&core) as Arc<dyn Parent>;
            Outlet::by_way_of(parent, core.outlet.queue())
        };
        let (roster, ports) = self.branches.attach(&outlet);
        core.roster.get_or_init(|| roster);
        (core, ports)
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl<R: Roster> Parent for Core<R> {
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
        // The winner has left its port by itself. An item that waited at the activation leaves no losers.
        if self.progress.settle() == 1 {
            self.outlet.send(task, deferred);
        } else {
            let this = Arc::clone(this);
            self.outlet.send_settled(this, queue, task, deferred);
        }
    }

    fn enter(&self, queue: &QueueHandle, task: &mut dyn FnMut() -> Task) -> Option<Pass<'_>> {
        self.outlet.pass(queue, task)
    }

    fn lose(&self) {
        self.outlet.lose();
    }
}

impl<R: Roster> Settle for Core<R> {
    fn settle(&self) {
        let mut left = self.progress.settle();
        self.each(&mut |branch| {
            let looks = left > 0;
            if looks {
                left -= 1;
                branch.leave();
            }
            looks
        });
    }
}

impl<R: Roster> Core<R> {
    fn each(&self, visit: &mut dyn FnMut(&dyn Active) -> bool) {
        if let Some(roster) = self.roster.get() {
            roster.each(visit);
        }
    }
}

impl<R: Roster> Waiter for Core<R> {
    fn awaits(&self) -> Option<Awaited> {
        if !Parent::is_open(self) {
            return None;
        }
        let mut parts = Vec::new();
        self.each(&mut |branch| {
            let awaited = branch.awaits().into_iter();
            parts.extend(awaited.flat_map(|awaited| awaited.parts));
            true
        });
        Some(Awaited {
            who: "Choice",
            queue: Some(self.outlet.queue().name().to_owned()),
            parts,
        })
    }
}

impl<R: Roster> Active for Core<R> {
    fn register(&self) {
        self.each(&mut |branch| {
            if !self.progress.begin() {
                return false;
            }
            branch.register();
            let open = Parent::is_open(self);
            if !open {
                branch.leave();
            }
            open
        });
    }

    fn cleanup(&self) {
        self.claim.close();
        self.progress.settle();
        // Also those that have taken their items: they have sent them on before this returns.
        self.each(&mut |branch| {
            branch.cleanup();
            true
        });
    }

    fn leave(&self) {
        self.claim.close();
        self.settle();
    }

    fn is_active(&self) -> bool {
        Parent::is_open(self)
    }
}

impl Progress {
    const SETTLING: usize = 1;
    const ONE: usize = 2;

    fn new() -> Self {
        Progress(AtomicUsize::new(0))
    }

    /// Another branch is about to register. `false`: it must not any more.
    fn begin(&self) -> bool {
        self.0.fetch_add(Self::ONE, Ordering::AcqRel) & Self::SETTLING == 0
    }

    /// No branch begins to register any more: how many have, and are to be looked at.
    fn settle(&self) -> usize {
        self.0.fetch_or(Self::SETTLING, Ordering::AcqRel) / Self::ONE
    }
}

impl Branches for () {
    type Ports = ();
    type Roster = ();

    fn attach(self, _: &dyn Fn() -> Outlet) -> ((), ()) {
        ((), ())
    }

    fn count(&self) -> usize {
        0
    }
}

impl<L: Branches, B: Attach> Branches for (L, B) {
    type Ports = (L::Ports, B::Ports, Arc<dyn Active>);
    type Roster = (L::Roster, Weak<dyn Active>);

    fn attach(self, outlet: &dyn Fn() -> Outlet) -> (Self::Roster, Self::Ports) {
        let (others, others_ports) = self.0.attach(outlet);
        let (branch, ports) = self.1.attach(outlet());
        let weak = Arc::downgrade(&branch);
        ((others, weak), (others_ports, ports, branch))
    }

    fn count(&self) -> usize {
        self.0.count() + 1
    }
}

impl<B: Attach> Branches for Vec<B> {
    type Ports = Vec<(B::Ports, Arc<dyn Active>)>;
    type Roster = Vec<Weak<dyn Active>>;

    fn attach(self, outlet: &dyn Fn() -> Outlet) -> (Self::Roster, Self::Ports) {
        let attached = self.into_iter().map(|branch| {
            let (branch, ports) = branch.attach(outlet());
            (Arc::downgrade(&branch), (ports, branch))
        });
        attached.unzip()
    }

    fn count(&self) -> usize {
        self.len()
    }
}

impl Roster for () {
    fn each(&self, _: &mut dyn FnMut(&dyn Active) -> bool) -> bool {
        true
    }
}

impl<L: Roster> Roster for (L, Weak<dyn Active>) {
    fn each(&self, visit: &mut dyn FnMut(&dyn Active) -> bool) -> bool {
        self.0.each(visit) && self.1.upgrade().is_none_or(|branch| visit(&*branch))
    }
}

impl Roster for Vec<Weak<dyn Active>> {
    fn each(&self, visit: &mut dyn FnMut(&dyn Active) -> bool) -> bool {
        self.iter()
            .all(|branch| branch.upgrade().is_none_or(|branch| visit(&*branch)))
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
