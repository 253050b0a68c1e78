//! JoinedReceive: each handler run takes one item from each of two ports.

use crate::activation::{Activation, Active, Attach};
use crate::claim::Claim;
use crate::deferred::{Deferred, Keep};
use crate::delivery::Parcel;
use crate::domain::Domain;
use crate::handler::{self, AnyHandler};
use crate::outlet::Outlet;
use crate::port::{Port, PortCore, put_back};
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{Enqueue, QueueError, Run, TaskBox};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock, Weak};

/// Each handler run takes one item from each of two ports, whose types may differ (papers R026):
/// both items or none, in one step. While one is missing the other stays in its port, visible, and
/// others may take it. Joins on the same ports in any order neither deadlock nor starve.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{JoinedReceive, Port};
///
/// let (names, ages, people) = (Port::new(), Port::new(), Port::new());
/// let out = people.clone();
/// JoinedReceive::persistent(&names, &ages, move |name: &str, age: u32| {
///     out.post((name, age)).unwrap();
/// })
/// .activate(&Inline::new("here"))
/// .unwrap();
/// names.post("Ada").unwrap();
/// assert_eq!(names.item_count(), 1, "it waits in its port");
/// ages.post(36).unwrap();
/// assert_eq!(people.test(), Some(("Ada", 36)));
/// ```
#[must_use = "a receive does nothing until it is activated"]
pub struct JoinedReceive<A: Send + 'static, B: Send + 'static> {
    ports: (Port<A>, Port<B>),
    handler: AnyHandler<(A, B)>,
    once: bool,
}

/// A join at work. Alone in its cache lines: its reference count changes with each pair.
#[repr(align(64))]
struct Core<A: Send + 'static, B: Send + 'static> {
    ports: (Weak<PortCore<A>>, Weak<PortCore<B>>),
    /// The receivers on the two ports, which own the core.
    sides: OnceLock<WeakSides<A, B>>,
    outlet: Outlet,
    handler: AnyHandler<(A, B)>,
    once: bool,
    claim: Claim,
}

type WeakSides<A, B> = (Weak<Left<A, B>>, Weak<Right<A, B>>);

/// The receiver on the first port.
struct Left<A: Send + 'static, B: Send + 'static>(Arc<Core<A, B>>);

/// The receiver on the second port.
struct Right<A: Send + 'static, B: Send + 'static>(Arc<Core<A, B>>);

/// Two items on their way.
struct Joined<A: Send + 'static, B: Send + 'static> {
    parcels: (Parcel<A>, Parcel<B>),
    to: Arc<Core<A, B>>,
}

impl<A: Send + 'static, B: Send + 'static> JoinedReceive<A, B> {
    /// Handles one pair.
    ///
    /// # Panics
    /// When both ports are the same: use
    /// [`MultipleItemReceive`](crate::MultipleItemReceive) with two items.
    pub fn once(a: &Port<A>, b: &Port<B>, handler: impl FnOnce(A, B) + Send + 'static) -> Self {
        Self::with(a, b, handler::once(|(a, b)| handler(a, b)), true)
    }

    /// Handles every pair: the oldest item of one port with the oldest of the other.
    ///
    /// # Panics
    /// As [`JoinedReceive::once`].
    pub fn persistent(
        a: &Port<A>,
        b: &Port<B>,
        handler: impl Fn(A, B) + Send + Sync + 'static,
    ) -> Self {
        Self::with(a, b, handler::each(move |(a, b)| handler(a, b)), false)
    }

    /// Handles every pair with a future, which holds no thread while it waits.
    ///
    /// # Panics
    /// As [`JoinedReceive::once`].
    pub fn persistent_async<Fut>(
        a: &Port<A>,
        b: &Port<B>,
        handler: impl Fn(A, B) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::with(
            a,
            b,
            handler::each_async(move |(a, b)| handler(a, b)),
            false,
        )
    }

    /// Puts the join to work: queues its registration on `queue`, where its handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    pub fn activate(self, queue: &impl Enqueue) -> Result<Activation, QueueError> {
        Activation::start(self, queue)
    }

    fn with(a: &Port<A>, b: &Port<B>, handler: AnyHandler<(A, B)>, once: bool) -> Self {
        assert!(
            a.id() != b.id(),
            "a join of a port with itself: use MultipleItemReceive with two items"
        );
        JoinedReceive {
            ports: (a.clone(), b.clone()),
            handler,
            once,
        }
    }
}

impl<A: Send + 'static, B: Send + 'static> Attach for JoinedReceive<A, B> {
    type Ports = (Port<A>, Port<B>, [Arc<dyn Keep>; 2]);

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Self::Ports) {
        let JoinedReceive {
            ports: (a, b),
            handler,
            once,
        } = self;
        let core = Arc::new(Core {
            ports: (Arc::downgrade(a.core()), Arc::downgrade(b.core())),
            sides: OnceLock::new(),
            outlet,
            handler,
            once,
            claim: Claim::new(),
        });
        let left = Arc::new(Left(Arc::clone(&core)));
        let right = Arc::new(Right(Arc::clone(&core)));
        core.sides
            .get_or_init(|| (Arc::downgrade(&left), Arc::downgrade(&right)));
        (core, (a, b, [left, right]))
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

impl<A: Send + 'static, B: Send + 'static> Core<A, B> {
    #[inline]
    fn is_open(&self) -> bool {
        self.claim.is_open() && self.outlet.is_open()
    }

    /// Makes the one decision of a one-time join.
    fn decide(&self) {
        let won = self.claim.take();
        debug_assert!(won, "the claim was open a moment ago, under the same lock");
    }

    fn send(self: &Arc<Self>, a: Parcel<A>, b: Parcel<B>, deferred: &mut Deferred) {
        let task = TaskBox::new(Joined {
            parcels: (a, b),
            to: Arc::clone(self),
        });
        self.outlet.send(task.into_task(), deferred);
    }
}

/// One side of the join: offered an item of its own port, it looks for the partner in the other.
macro_rules! side {
    ($Side:ident, $Own:ident, $Other:ident, $other:tt, |$mine:ident, $theirs:ident| $pair:expr) => {
        impl<A: Send + 'static, B: Send + 'static> Receiver<$Own> for $Side<A, B> {
            fn offer(&self, offer: &mut Offer<'_, $Own>) -> Verdict {
                let core = &self.0;
                let other = if core.is_open() {
                    core.ports.$other.upgrade()
                } else {
                    None
                };
                let Some(other) = other else {
                    offer.leave_port();
                    return Verdict::Reject;
                };
                let verdict = self.pair(&other, offer);
                // If its last handle has gone meanwhile: its items' destructors may use ports.
                if let Some(ended) = Arc::into_inner(other) {
                    offer.drop_later(Arc::new(ended));
                }
                verdict
            }

            fn describe(&self) -> Cow<'static, str> {
                let once = if self.0.once { "one-time " } else { "" };
                let other = self.0.ports.$other.upgrade();
                let other = other.map_or("a port that is gone".to_owned(), |port| port.label());
                Cow::Owned(format!("{once}join with {other}"))
            }
        }

        impl<A: Send + 'static, B: Send + 'static> $Side<A, B> {
            fn pair(&self, other: &PortCore<$Other>, offer: &mut Offer<'_, $Own>) -> Verdict {
                let core = &self.0;
                // Both ports are in one domain, whose lock the caller holds.
                let mut state = other.state();
                // More than one pair may be there: pairs that found no room wait.
                let mut fired = false;
                while !offer.is_taken() && !state.items_mut().is_empty() {
                    if let Err(verdict) = offer.claim(&core.outlet) {
                        return if fired { offer.verdict() } else { verdict };
                    }
                    fired = true;
                    let Some($theirs) = state.items_mut().pop_front() else {
                        unreachable!("the other port was not empty a moment ago, under its lock")
                    };
                    let $mine = offer.take_oldest();
                    let (a, b) = $pair;
                    state.let_in_later(offer.deferred());
                    core.send(a, b, offer.deferred());
                    if core.once {
                        core.decide();
                        offer.leave_port();
                        let partner = core.sides.get().and_then(|sides| sides.$other.upgrade());
                        let partner =
                            partner.and_then(|side| state.remove(&(side as Arc<dyn Receiver<_>>)));
                        drop(partner);
                        break;
                    }
                }
                offer.verdict()
            }
        }
    };
}

side!(Left, A, B, 1, |mine, theirs| (mine, theirs));
side!(Right, B, A, 0, |mine, theirs| (theirs, mine));

impl<A: Send + 'static, B: Send + 'static> Run for Joined<A, B> {
    fn run(task: TaskBox<Self>) {
        let Joined { parcels, to } = task.into_inner();
        let held = |parcels| {
            let to = Arc::clone(&to);
            TaskBox::new(Joined { parcels, to }).into_task()
        };
        if let Some(((a, b), pass)) = to.outlet.enter(parcels, held) {
            let items = (a.into_inner().item, b.into_inner().item);
            to.handler.handle(items, to.outlet.queue(), pass);
        }
    }

    fn name(&self) -> &'static str {
        self.to.handler.name()
    }

    fn cleanup(task: TaskBox<Self>) {
        let Joined {
            parcels: (a, b),
            to,
        } = task.into_inner();
        put_back(&to.ports.0, a);
        put_back(&to.ports.1, b);
    }
}

impl<A: Send + 'static, B: Send + 'static> Active for Core<A, B> {
    fn register(&self) {
        let (Some(a), Some(b)) = (self.ports.0.upgrade(), self.ports.1.upgrade()) else {
            return;
        };
        let Some((Some(left), Some(right))) = self.sides.get().map(upgrade) else {
            return;
        };
        Domain::merge(a.domain(), b.domain());
        let mut deferred = Deferred::default();
        a.domain().locked(|| {
            a.state().register(left, &mut deferred);
            // A one-time join may have found its pair already.
            if self.is_open() {
                b.state().register(right, &mut deferred);
            }
        });
        deferred.carry_out();
    }

    fn cleanup(&self) {
        // Sides that have left their ports are gone.
        let (left, right) = self.sides.get().map_or((None, None), upgrade);
        match (self.ports.0.upgrade(), left) {
            (Some(a), Some(left)) => {
                a.close_and_unregister(&self.claim, &(left as Arc<dyn Receiver<A>>));
            }
            _ => drop(self.claim.close()),
        }
        if let (Some(b), Some(right)) = (self.ports.1.upgrade(), right) {
            b.unregister(&(right as Arc<dyn Receiver<B>>));
        }
    }

    fn is_active(&self) -> bool {
        self.is_open()
    }
}

type MaybeSides<A, B> = (Option<Arc<Left<A, B>>>, Option<Arc<Right<A, B>>>);

fn upgrade<A: Send + 'static, B: Send + 'static>(sides: &WeakSides<A, B>) -> MaybeSides<A, B> {
    (sides.0.upgrade(), sides.1.upgrade())
}

impl<A: Send + 'static, B: Send + 'static> fmt::Debug for JoinedReceive<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinedReceive")
            .field("ports", &self.ports)
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}
