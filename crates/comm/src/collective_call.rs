//! What a collective returns: it is awaited, or started to be waited for later.

use crate::CommError;
use crate::pending::{PendingCall, PendingFuture, WaitSite};
use crate::request::Request;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A call of a collective that has not begun. Awaited, it takes part and waits for its result.
/// [`start`](CollectiveCall::start) only takes part, and its result is waited for later, so that
/// several may be under way (MPI's calls with `I`).
///
/// A rank that starts a collective meets those that start it, too. All ranks start the same ones in
/// the same order, and await the same others.
///
/// ```
/// use motet_comm::{CommError, World};
///
/// let both = World::threads(3)
///     .run(async |comm| -> Result<_, CommError> {
///         let sum = comm.allreduce(comm.rank(), |a, b| a + b).start();
///         let ranks = comm.allgather(comm.rank()).start();
///         Ok((sum.wait().await?, ranks.wait().await?))
///     })
///     .unwrap();
/// assert_eq!(both[1], (3, vec![0, 1, 2]));
/// ```
#[must_use = "a collective takes part when it is awaited or started"]
pub struct CollectiveCall<F>(F);

/// A collective that has not begun.
pub(crate) trait Collective<'c, T>:
    PendingCall<Output = Result<T, CommError>> + Sized + 'c
{
    /// The future that takes part when it is first polled.
    fn now(self) -> CollectiveCall<PendingFuture<'c, Self>>;

    /// Takes part now, beside other collectives; what is left is to wait for the others.
    fn started(self) -> Request<'c, T>;
}

/// What can be awaited or started.
pub trait Startable<'c>: Future<Output = Result<Self::Given, CommError>> + Unpin {
    /// What it gives when all is well.
    type Given;

    /// See [`CollectiveCall::start`].
    fn start(self) -> Request<'c, Self::Given>;
}

impl<F> CollectiveCall<F> {
    pub(crate) fn new(call: F) -> Self {
        CollectiveCall(call)
    }

    /// Takes part now, beside other collectives; what is left is to wait for the others. What is
    /// passed by reference has been copied then: it may change.
    ///
    /// # Panics
    /// If it was polled before.
    pub fn start<'c>(self) -> Request<'c, F::Given>
    where
        F: Startable<'c>,
    {
        self.0.start()
    }
}

impl<F> fmt::Debug for CollectiveCall<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectiveCall").finish_non_exhaustive()
    }
}

impl<F: Future + Unpin> Future for CollectiveCall<F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<'c, P, T> Startable<'c> for PendingFuture<'c, P>
where
    P: PendingCall<Output = Result<T, CommError>> + Collective<'c, T>,
{
    type Given = T;

    fn start(self) -> Request<'c, T> {
        self.into_pending().started()
    }
}

/// A call that has one way when it is awaited and another when it is started: which one it takes is
/// known when it begins.
pub(crate) struct TwoWays<'c, A, N, P: PendingCall, S> {
    wait_site: WaitSite<'c>,
    state: State<'c, A, N, P, S>,
}

enum State<'c, A, N, P: PendingCall, S> {
    /// The arguments; what is made of them to wait, and to start.
    New(Option<(A, N, S)>),
    Begun(PendingFuture<'c, P>),
}

impl<'c, A, N, P, S> TwoWays<'c, A, N, P, S>
where
    P: PendingCall,
    N: FnOnce(A) -> P,
{
    pub(crate) fn new<T>(
        wait_site: WaitSite<'c>,
        arguments: A,
        wait: N,
        start: S,
    ) -> CollectiveCall<Self>
    where
        S: FnOnce(A) -> Request<'c, T>,
    {
        let state = State::New(Some((arguments, wait, start)));
        CollectiveCall(TwoWays { wait_site, state })
    }
}

// Nothing in it is pinned.
impl<A, N, P: PendingCall, S> Unpin for TwoWays<'_, A, N, P, S> {}

impl<A, N, P, S> Future for TwoWays<'_, A, N, P, S>
where
    P: PendingCall,
    N: FnOnce(A) -> P,
{
    type Output = P::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<P::Output> {
        let TwoWays { wait_site, state } = self.get_mut();
        if let State::New(new) = state
            && let Some((arguments, wait, _)) = new.take()
        {
            *state = State::Begun(PendingFuture::new(*wait_site, wait(arguments)));
        }
        match state {
            State::Begun(waiting) => Pin::new(waiting).poll(cx),
            State::New(_) => Poll::Pending,
        }
    }
}

impl<'c, A, N, P, S, T> Startable<'c> for TwoWays<'c, A, N, P, S>
where
    P: PendingCall<Output = Result<T, CommError>>,
    N: FnOnce(A) -> P,
    S: FnOnce(A) -> Request<'c, T>,
{
    type Given = T;

    fn start(self) -> Request<'c, T> {
        match self.state {
            State::New(Some((arguments, _, start))) => start(arguments),
            _ => panic!("a collective that was polled cannot be started"),
        }
    }
}
