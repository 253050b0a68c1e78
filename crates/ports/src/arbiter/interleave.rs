//! Interleave: handlers that run together, alone, or last.
//!
//! - `exclusion.rs`: who may run now, by `state.rs`; `exclusion/at_once.rs`: who begins at once;
//!   `next.rs`: what callers are told; `async_holder.rs`: who is alone; `pending.rs`: who waits.
//! - `shared.rs`: turns, which run exclusive work; `group.rs`: what members ask; `entered.rs`:
//!   handlers without items; `stateful.rs`, `state_cell.rs`: an interleave with a state.
//! - `readers.rs`: how many run together; `outlet.rs`, `parent.rs`: a member asks its group.

mod async_holder;
mod combine_error;
mod entered;
mod exclusion;
mod group;
#[cfg(all(test, motet_loom))]
mod loom_interleave;
#[cfg(all(test, motet_loom))]
mod loom_place;
mod next;
mod pending;
mod shared;
mod state;
mod state_cell;
mod stateful;

pub use combine_error::CombineError;
pub use entered::{EnteredInterleave, SentInterleave};
pub use state::Fairness;
pub use state_cell::{Exclusive, SharedState};
pub use stateful::StatefulInterleave;

use crate::activation::{Active, Attach, registration};
use crate::outlet::Outlet;
use group::{Group, Kind};
use motet_dispatch::{Enqueue, QueueError, Waiter};
use shared::Shared;
use state::{Look, Phase};
use std::any::type_name;
use std::fmt;
use std::panic::{Location, resume_unwind};
use std::sync::{Arc, Weak};

/// Coordinates handlers that share state, as readers and writers do, without locks (papers R013,
/// CCR's `Interleave`). Its members belong to three groups:
///
/// | group | its handlers run |
/// |---|---|
/// | concurrent | together with other concurrent ones |
/// | exclusive | alone, in the order in which their items came, whatever their ports |
/// | teardown | alone, once, last; the others have left their ports by then |
///
/// Members are receives and joins of any kind. An async handler keeps its group until it has ended,
/// and one that panics, or whose future is dropped, gives it up. Exclusive work goes first unless
/// [`Interleave::fairness`] says otherwise. Exclusive items that wait count in their queue's depth;
/// a queue that discards leaves them and the teardown item alone.
///
/// When a teardown item has come nothing new starts. What has not begun goes back to where it stood
/// before the teardown handler runs, which can activate another interleave on the same ports.
///
/// The handlers share whatever they capture. State that belongs to the interleave, and needs no
/// locks, is given to [`Interleave::with_state`].
///
/// It is not re-entrant. An exclusive handler that posts to its own group and awaits the answer
/// never ends, since the handler that would answer waits for it. The [`ActiveInterleave`]'s debug
/// output names it, and those who wait for it.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Interleave, Port, Receive};
/// use std::sync::atomic::{AtomicI64, Ordering};
/// use std::sync::Arc;
///
/// let (deposits, asks, closes) = (Port::new(), Port::<Port<i64>>::new(), Port::new());
/// let state = Arc::new(AtomicI64::new(0));
/// let [adds, reads, ends] = [(); 3].map(|()| Arc::clone(&state));
/// Interleave::new()
///     // Alone, so load and store need not be one step.
///     .exclusive(Receive::persistent(&deposits, move |amount: i64| {
///         adds.store(adds.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
///     }))
///     .concurrent(Receive::persistent(&asks, move |reply: Port<i64>| {
///         reply.post(reads.load(Ordering::Relaxed)).unwrap();
///     }))
///     .teardown(Receive::once(&closes, move |()| ends.store(-1, Ordering::Relaxed)))
///     .activate(&Inline::new("here"))
///     .unwrap();
/// let replies = Port::new();
/// deposits.post(40).unwrap();
/// deposits.post(2).unwrap();
/// asks.post(replies.clone()).unwrap();
/// assert_eq!(replies.test(), Some(42));
/// closes.post(()).unwrap();
/// deposits.post(7).unwrap();
/// assert_eq!((deposits.item_count(), state.load(Ordering::Relaxed)), (1, -1));
/// ```
#[must_use = "an interleave does nothing until it is activated"]
#[derive(Default)]
pub struct Interleave {
    members: Vec<Member>,
    fairness: Fairness,
}

/// An interleave at work, or torn down. Dropping it changes nothing; the interleave goes on.
#[derive(Clone)]
pub struct ActiveInterleave(Arc<Shared>);

/// An arbiter that is going to belong to a group.
struct Member {
    kind: Kind,
    name: &'static str,
    attach: Box<dyn FnOnce(Outlet) -> Attached + Send>,
}

/// A member that is not registered yet, and its [ports](Attach::Ports).
type Attached = (Arc<dyn Active>, Box<dyn Send>);

impl Interleave {
    /// Without members.
    pub fn new() -> Self {
        Interleave::default()
    }

    /// Adds a member whose handlers run together with those of all concurrent members.
    pub fn concurrent(self, member: impl Attach + Send + 'static) -> Self {
        self.with_member(Kind::Concurrent, member)
    }

    /// Adds a member whose handlers run alone.
    pub fn exclusive(self, member: impl Attach + Send + 'static) -> Self {
        self.with_member(Kind::Exclusive, member)
    }

    /// Adds a member whose handler runs last, alone. There may be several: the first whose items
    /// come is the one that runs, and the others keep their items in their ports.
    ///
    /// # Panics
    /// When the member takes items more than once.
    #[track_caller]
    pub fn teardown<M: Attach + Send + 'static>(self, member: M) -> Self {
        assert!(
            member.is_once(),
            "a teardown member takes items once: use {}::once",
            name_of::<M>()
        );
        self.with_member(Kind::Teardown, member)
    }

    /// Says who goes first when both exclusive and concurrent work waits.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.fairness = fairness;
        self
    }

    /// Adds the members of another interleave, so that they exclude each other. The fairness stays
    /// this one's.
    #[track_caller]
    pub fn combine_with(mut self, other: Interleave) -> Self {
        self.members.extend(other.members);
        self
    }

    /// Puts the interleave to work: queues the registration of its members on `queue`, where their
    /// handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<ActiveInterleave, QueueError> {
        self.activate_then(queue, || {})
    }

    /// As [`Interleave::activate`], and calls `registered` when all members are registered, before
    /// a handler begins: what it posts to several of them is taken in that order.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Interleave, Port, Receive};
    ///
    /// let (one, two, said) = (Port::new(), Port::new(), Port::new());
    /// let (first, second, says) = (said.clone(), said.clone(), (one.clone(), two.clone()));
    /// Interleave::new()
    ///     .exclusive(Receive::persistent(&one, move |n: u32| first.post(n).unwrap()))
    ///     .exclusive(Receive::persistent(&two, move |n: u32| second.post(n).unwrap()))
    ///     .activate_then(&Inline::new("here"), move || {
    ///         (1..4).for_each(|n| if n == 2 { &says.0 } else { &says.1 }.post(n).unwrap());
    ///     })
    ///     .unwrap();
    /// assert_eq!(said.items(), [1, 2, 3]);
    /// ```
    ///
    /// # Errors
    /// As [`Interleave::activate`].
    #[track_caller]
    pub fn activate_then(
        self,
        queue: &impl Enqueue,
        registered: impl FnOnce() + Send + 'static,
    ) -> Result<ActiveInterleave, QueueError> {
        let shared = Shared::new(self.fairness);
        let members = attach(self.members, &shared, queue);
        queue.reserve()?;
        // The exclusion is taken until all members are registered.
        let begin = Begin(Arc::clone(&shared));
        queue.admit_kept(registration(move || {
            let begin = begin;
            register(members);
            registered();
            drop(begin);
        }));
        Ok(ActiveInterleave(shared))
    }

    fn with_member<M: Attach + Send + 'static>(self, kind: Kind, member: M) -> Self {
        self.with(kind, name_of::<M>(), member)
    }

    fn with(
        mut self,
        kind: Kind,
        name: &'static str,
        member: impl Attach + Send + 'static,
    ) -> Self {
        self.members.push(Member {
            kind,
            name,
            attach: Box::new(|outlet| {
                let (active, ports) = member.attach(outlet);
                (active, Box::new(ports))
            }),
        });
        self
    }
}

impl ActiveInterleave {
    /// Adds the members of `other`, whose handlers run on `queue`: they and those at work exclude
    /// each other. They are registered when the exclusive work that waits has run. The fairness of
    /// the one at work stays.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Interleave, Port, Receive};
    ///
    /// let (commands, notes, said) = (Port::new(), Port::new(), Port::new());
    /// let (queue, one, two) = (Inline::new("here"), said.clone(), said.clone());
    /// let main = Interleave::new()
    ///     .exclusive(Receive::persistent(&commands, move |n: u32| one.post(n).unwrap()))
    ///     .activate(&queue)
    ///     .unwrap();
    /// let private = Interleave::new()
    ///     .exclusive(Receive::persistent(&notes, move |n: u32| two.post(n * 100).unwrap()));
    /// main.combine_with(private, &queue).unwrap();
    /// notes.post(1).unwrap();
    /// commands.post(2).unwrap();
    /// assert_eq!(said.items(), [100, 2]);
    /// ```
    ///
    /// # Errors
    /// [`CombineError`] hands `other` back when a teardown item has come, or the queue is full or
    /// stopped. A teardown item that comes meanwhile takes its members off with those at work.
    #[track_caller]
    pub fn combine_with(
        &self,
        other: Interleave,
        queue: &impl Enqueue,
    ) -> Result<(), CombineError> {
        if self.0.exclusion.readers().is_closing() {
            return Err(CombineError::TornDown(other));
        }
        if let Err(reason) = queue.reserve() {
            return Err(CombineError::Queue(other, reason));
        }
        let members = attach(other.members, &self.0, queue);
        // As exclusive work: no teardown comes in between.
        let next = self
            .0
            .exclusion
            .request(&queue.handle(), registration(move || register(members)));
        self.0.carry_out(next);
        Ok(())
    }

    /// Takes all members off their ports: nothing more is accepted. What has been taken still runs.
    ///
    /// # Panics
    /// When a destructor of what a member holds does, after all members are off.
    pub fn cleanup(&self) {
        let mut panicked = None;
        self.0.close_members(|payload| {
            panicked.get_or_insert(payload);
        });
        if let Some(payload) = panicked {
            resume_unwind(payload);
        }
    }

    /// Whether something can still be accepted: `false` once a teardown item has come, and after
    /// [`ActiveInterleave::cleanup`].
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.0.exclusion.readers().is_closing() && self.0.any_active()
    }

    /// The number of exclusive items, or sets of items, that are taken and wait for their turn.
    #[must_use]
    pub fn exclusive_waiting(&self) -> usize {
        self.0.exclusion.look().exclusive
    }

    /// The number of concurrent items, or sets of items, that a worker has had in hand and that
    /// wait until exclusive work has ended.
    #[must_use]
    pub fn concurrent_waiting(&self) -> usize {
        self.0.exclusion.look().held
    }
}

/// Releases the exclusion when the members are registered, or never will be.
struct Begin(Arc<Shared>);

impl Drop for Begin {
    fn drop(&mut self) {
        let next = self.0.exclusion.pass_on();
        self.0.carry_out(next);
    }
}

/// Makes the members that go to work.
#[track_caller]
fn attach(members: Vec<Member>, shared: &Arc<Shared>, queue: &impl Enqueue) -> Vec<Attached> {
    let queue = queue.handle();
    let attached = members.into_iter().map(|member| {
        let group = Group::new(shared, member.kind, member.name);
        (member.attach)(Outlet::by_way_of(group.above(), &queue))
    });
    let attached: Vec<Attached> = attached.collect();
    for (active, _) in &attached {
        queue.watch(
            Arc::downgrade(active) as Weak<dyn Waiter>,
            Location::caller(),
        );
    }
    shared.join(attached.iter().map(|(active, _)| Arc::downgrade(active)));
    attached
}

fn register(members: Vec<Attached>) {
    for (active, ports) in members {
        if active.is_active() {
            active.register();
        }
        drop(ports);
    }
}

/// The name of an arbiter's type as its users write it.
fn name_of<M>() -> &'static str {
    let name = type_name::<M>();
    let arguments = name.find('<').unwrap_or(name.len());
    let start = name[..arguments].rfind("::").map_or(0, |at| at + 2);
    &name[start..]
}

impl fmt::Debug for Interleave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.members.iter().map(|member| (member.kind, member.name));
        f.debug_struct("Interleave")
            .field("fairness", &self.fairness)
            .field("members", &members.collect::<Vec<_>>())
            .finish()
    }
}

impl fmt::Debug for ActiveInterleave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Look {
            phase,
            async_holder,
            exclusive,
            held,
        } = self.0.exclusion.look();
        let exclusion = match (phase, async_holder) {
            (Phase::Taken, Some(name)) => format!("the async exclusive handler of {name} goes on"),
            (Phase::Taken, None) => "exclusive work runs".to_owned(),
            (Phase::Open, _) => "open to concurrent work".to_owned(),
            (Phase::Draining, _) => "exclusive work waits for concurrent handlers".to_owned(),
            (Phase::Collecting, _) => "the teardown waits for concurrent handlers".to_owned(),
            (Phase::Done, _) => "torn down".to_owned(),
        };
        f.debug_struct("ActiveInterleave")
            .field("exclusion", &exclusion)
            .field("exclusive_waiting", &exclusive)
            .field("concurrent_waiting", &held)
            .finish()
    }
}
