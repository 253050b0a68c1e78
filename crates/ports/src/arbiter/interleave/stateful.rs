//! An interleave that owns the state its handlers share.

use super::state_cell::{Exclusive, SharedState, StateCell};
use super::{ActiveInterleave, Fairness, Interleave, Kind};
use crate::activation::{Active, Attach};
use crate::arbiter::source::{IntoMemberSource, MemberSource};
use crate::delivery::QueueHandle;
use crate::handler::{AnyHandler, Handle};
use crate::outlet::Outlet;
use crate::parent::{LongPass, Pass};
use motet_dispatch::{Enqueue, QueueError, spawn_here};
use motet_sync::Mutex;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// An [`Interleave`] that owns the state which its handlers share; made by
/// [`Interleave::with_state`].
///
/// | group | sync handlers get | async handlers get |
/// |---|---|---|
/// | concurrent | `&S` | [`SharedState<S>`](SharedState), which derefs to `S` |
/// | exclusive | `&mut S` | [`Exclusive<S>`](Exclusive), which derefs to `S`, also mutably |
/// | teardown | `S` | `S` |
///
/// Each handler takes from a [source](IntoMemberSource) for as long as the interleave is at work; a
/// teardown handler takes once. Everything else is as with an interleave without state.
///
/// After a panic of an exclusive handler the state is as the handler left it, and the interleave
/// goes on: it is not poisoned. State that must not be seen half changed is changed in one step at
/// the end, or has a mark of its own. The state is dropped by the teardown handler, or with the
/// last member.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Interleave, Port};
///
/// let (deposits, asks, closes) = (Port::new(), Port::<Port<i64>>::new(), Port::<Port<i64>>::new());
/// Interleave::with_state(0)
///     .exclusive(&deposits, |total, amount: i64| *total += amount)
///     .concurrent(&asks, |total, reply| reply.post(*total).unwrap())
///     .teardown(&closes, |total, reply| reply.post(total).unwrap())
///     .activate(&Inline::new("here"))
///     .unwrap();
/// let replies = Port::new();
/// deposits.post(40).unwrap();
/// deposits.post(2).unwrap();
/// asks.post(replies.clone()).unwrap();
/// closes.post(replies.clone()).unwrap();
/// assert_eq!(replies.items(), [42, 42]);
/// ```
///
/// Async handlers keep the state over their awaits:
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Interleave, Port};
///
/// let (orders, prices, asks) = (Port::new(), Port::new(), Port::<Port<u32>>::new());
/// let price = prices.clone();
/// Interleave::with_state(0)
///     .exclusive_async(&orders, move |mut total, pieces: u32| {
///         let price = price.clone();
///         async move { *total += pieces * price.recv().await }
///     })
///     .concurrent(&asks, |total, reply| reply.post(*total).unwrap())
///     .activate(&Inline::new("here"))
///     .unwrap();
/// let replies = Port::new();
/// orders.post(3).unwrap();
/// asks.post(replies.clone()).unwrap();
/// assert_eq!(replies.test(), None, "the order has the state");
/// prices.post(7).unwrap();
/// assert_eq!(replies.test(), Some(21));
/// ```
#[must_use = "an interleave does nothing until it is activated"]
pub struct StatefulInterleave<S> {
    cell: Arc<StateCell<S>>,
    members: Interleave,
}

/// A member: a source with its handler.
struct Sourced<I> {
    source: MemberSource<I>,
    handler: AnyHandler<I>,
    once: bool,
}

impl Interleave {
    /// An interleave that owns `state`: its concurrent handlers get `&S`, its exclusive ones
    /// `&mut S`, its teardown handler `S`.
    pub fn with_state<S: Send + Sync + 'static>(state: S) -> StatefulInterleave<S> {
        StatefulInterleave {
            cell: StateCell::new(state),
            members: Interleave::new(),
        }
    }
}

impl<S: Send + Sync + 'static> StatefulInterleave<S> {
    /// Adds a handler that runs together with those of all concurrent members.
    pub fn concurrent<P: IntoMemberSource>(
        self,
        source: P,
        handler: impl Fn(&S, P::Given) + Send + Sync + 'static,
    ) -> Self {
        let handler = Reads(Arc::clone(&self.cell), handler);
        self.with(Kind::Concurrent, source, Box::new(handler))
    }

    /// Adds an async handler that runs together with those of all concurrent members.
    pub fn concurrent_async<P: IntoMemberSource, Fut>(
        self,
        source: P,
        handler: impl Fn(SharedState<S>, P::Given) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = ReadsAsync(Arc::clone(&self.cell), handler);
        self.with(Kind::Concurrent, source, Box::new(handler))
    }

    /// Adds a handler that runs alone.
    pub fn exclusive<P: IntoMemberSource>(
        self,
        source: P,
        handler: impl Fn(&mut S, P::Given) + Send + Sync + 'static,
    ) -> Self {
        let handler = Writes(Arc::clone(&self.cell), handler);
        self.with(Kind::Exclusive, source, Box::new(handler))
    }

    /// Adds an async handler that runs alone, from its start to the end of its future.
    pub fn exclusive_async<P: IntoMemberSource, Fut>(
        self,
        source: P,
        handler: impl Fn(Exclusive<S>, P::Given) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = WritesAsync(Arc::clone(&self.cell), handler);
        self.with(Kind::Exclusive, source, Box::new(handler))
    }

    /// Adds a handler that runs last, alone, once, and gets the state itself. Of several teardown
    /// members one runs: the first whose items come.
    pub fn teardown<P: IntoMemberSource>(
        self,
        source: P,
        handler: impl FnOnce(S, P::Given) + Send + 'static,
    ) -> Self {
        let handler = Ends(Arc::clone(&self.cell), Mutex::new(Some(handler)));
        self.with(Kind::Teardown, source, Box::new(handler))
    }

    /// Adds an async handler that runs last, alone, once, and gets the state itself.
    pub fn teardown_async<P: IntoMemberSource, Fut>(
        self,
        source: P,
        handler: impl FnOnce(S, P::Given) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = EndsAsync(Arc::clone(&self.cell), Mutex::new(Some(handler)));
        self.with(Kind::Teardown, source, Box::new(handler))
    }

    /// Says who goes first when both exclusive and concurrent work waits.
    pub fn fairness(self, fairness: Fairness) -> Self {
        StatefulInterleave {
            members: self.members.fairness(fairness),
            ..self
        }
    }

    /// Adds members that do without the state, arbiters of any kind.
    pub fn combine_with(self, other: Interleave) -> Self {
        StatefulInterleave {
            members: self.members.combine_with(other),
            ..self
        }
    }

    /// Puts the interleave to work: queues the registration of its members on `queue`, where their
    /// handlers will run.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    #[track_caller]
    pub fn activate(self, queue: &impl Enqueue) -> Result<ActiveInterleave, QueueError> {
        self.members.activate(queue)
    }

    fn with<P: IntoMemberSource>(
        self,
        kind: Kind,
        source: P,
        handler: AnyHandler<P::Given>,
    ) -> Self {
        let source = source.into_source();
        let name = source.name();
        let member = Sourced {
            source,
            handler,
            once: kind == Kind::Teardown,
        };
        StatefulInterleave {
            members: self.members.with(kind, name, member),
            ..self
        }
    }
}

impl<I: Send + 'static> Attach for Sourced<I> {
    type Ports = Box<dyn Send>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Box<dyn Send>) {
        self.source.attach(self.handler, self.once, outlet)
    }

    fn is_once(&self) -> bool {
        self.once
    }
}

/// Concurrent.
struct Reads<S, F>(Arc<StateCell<S>>, F);
struct ReadsAsync<S, F>(Arc<StateCell<S>>, F);
/// Exclusive.
struct Writes<S, F>(Arc<StateCell<S>>, F);
struct WritesAsync<S, F>(Arc<StateCell<S>>, F);
/// Teardown.
struct Ends<S, F>(Arc<StateCell<S>>, Mutex<Option<F>>);
struct EndsAsync<S, F>(Arc<StateCell<S>>, Mutex<Option<F>>);

impl<S, A, F> Handle<A> for Reads<S, F>
where
    S: Send + Sync,
    F: Fn(&S, A) + Send + Sync,
{
    #[inline]
    fn handle(&self, args: A, _: &QueueHandle, pass: Option<Pass<'_>>) {
        let state = self.0.share();
        (self.1)(&state, args);
        // Before the pass, which lets others in.
        drop(state);
        drop(pass);
    }
}

impl<S, A, F> Handle<A> for Writes<S, F>
where
    S: Send + Sync,
    F: Fn(&mut S, A) + Send + Sync,
{
    fn handle(&self, args: A, _: &QueueHandle, pass: Option<Pass<'_>>) {
        let mut state = self.0.take();
        (self.1)(&mut state, args);
        // As above.
        drop(state);
        drop(pass);
    }
}

impl<S, A, F> Handle<A> for Ends<S, F>
where
    S: Send + Sync,
    F: FnOnce(S, A) + Send,
{
    fn handle(&self, args: A, _: &QueueHandle, pass: Option<Pass<'_>>) {
        once(&self.1)(self.0.take_out(), args);
        drop(pass);
    }
}

impl<S, A, F, Fut> Handle<A> for ReadsAsync<S, F>
where
    S: Send + Sync,
    F: Fn(SharedState<S>, A) -> Fut + Send + Sync,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn handle(&self, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        start(queue, pass, |pass| {
            (self.1)(SharedState::new(self.0.share(), pass), args)
        });
    }
}

impl<S, A, F, Fut> Handle<A> for WritesAsync<S, F>
where
    S: Send + Sync,
    F: Fn(Exclusive<S>, A) -> Fut + Send + Sync,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn handle(&self, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        start(queue, pass, |pass| {
            (self.1)(Exclusive::new(self.0.take(), pass), args)
        });
    }
}

impl<S, A, F, Fut> Handle<A> for EndsAsync<S, F>
where
    S: Send + Sync,
    F: FnOnce(S, A) -> Fut + Send,
    Fut: Future<Output = ()> + Send + 'static,
{
    fn handle(&self, args: A, queue: &QueueHandle, pass: Option<Pass<'_>>) {
        start(queue, pass, |_pass| once(&self.1)(self.0.take_out(), args));
    }
}

/// Starts an async handler. Its pass belongs to the future and to the state that it gets: the last
/// of the two to go lets others in.
fn start<Fut: Future<Output = ()> + Send + 'static>(
    queue: &QueueHandle,
    pass: Option<Pass<'_>>,
    handler: impl FnOnce(Option<Arc<LongPass>>) -> Fut,
) {
    let pass = pass.map(|pass| Arc::new(pass.into_long()));
    let future = handler(pass.clone());
    spawn_here(queue, async move {
        // Dropped after the handler's future, also when that is dropped unfinished.
        let _pass = pass;
        future.await;
    });
}

/// The teardown handler.
fn once<F>(handler: &Mutex<Option<F>>) -> F {
    let handler = handler.lock().take();
    handler.expect("a teardown handler runs once")
}

impl<S> fmt::Debug for StatefulInterleave<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatefulInterleave")
            .field("members", &self.members)
            .finish_non_exhaustive()
    }
}
