//! Select: a future that waits for the first of several things at ports.
//!
//! ```text
//!   first poll: is one there already? ──yes──> take it
//!        │ no
//!        └──> a choice of one-time arbiters, whose queue is a mailbox: the winner's task comes there
//!             and is run by the next poll; the losers have left their ports by then
//! ```

mod alternative;
mod join;

pub use join::{Join, join};

use crate::activation::{Active, Attach};
use crate::arbiter::{Choice, IntoParts};
use crate::ending::{MayEnd, OrClosed, ended};
use crate::outlet::Outlet;
use crate::port::Port;
use crate::predicate;
use crate::result_mailbox::ResultMailbox;
use alternative::{
    Alternative, Attached, Batch, IsThere, Item, Look, OneOf, Several, Time, Together,
};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Begins a wait for the first of several things at ports; see [`Select`].
#[track_caller]
pub fn select<R: Send + 'static>() -> Select<R> {
    Select {
        alternatives: Vec::new(),
        waits: None,
        created: Location::caller(),
    }
}

/// Waits for the first of several things at ports (the waiting form of a
/// [`Choice`](crate::Choice)). Gives what the function beside it makes of it: the variant of an
/// enum, for one.
///
/// Exactly one is taken, once. What the others wait for stays in its port all the time. It is not
/// taken and put back, and who reads the port meanwhile gets it. When several are there at the
/// first poll their order decides. The functions run in the poll, outside of locks.
///
/// # Panics
/// Its first poll, when it has a time and the operating system refuses the real clock its thread.
///
/// # Cancellation
/// Dropping the future gives up the wait. What had already been taken for it goes back to the front
/// of its port; the timer is cancelled.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
/// use motet_ports::{Port, select};
/// use std::time::Duration;
///
/// #[derive(Debug, Clone, PartialEq)]
/// enum Answer { Number(u32), Failure(String), Timeout }
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("patience"));
/// let (numbers, failures, answers) = (Port::new(), Port::new(), Port::new());
/// for _ in 0..2 {
///     let (numbers, failures, answers) = (numbers.clone(), failures.clone(), answers.clone());
///     spawn(&queue.handle(), async move {
///         let answer = select()
///             .recv(&numbers, Answer::Number)
///             .recv(&failures, Answer::Failure)
///             .after(Duration::from_secs(5), || Answer::Timeout)
///             .await;
///         answers.post(answer).unwrap();
///     }).unwrap();
/// }
/// numbers.post(7).unwrap();
/// replay.run();
/// assert_eq!(answers.items(), [Answer::Number(7), Answer::Timeout]);
/// ```
#[must_use = "a wait that is not awaited does not wait"]
pub struct Select<R: Send + 'static> {
    /// They keep their ports.
    alternatives: Vec<Box<dyn Alternative<R>>>,
    /// There from the first poll that finds nothing until the end.
    waits: Option<Waits<R>>,
    created: &'static Location<'static>,
}

struct Waits<R: Send + 'static> {
    mailbox: Arc<ResultMailbox<R>>,
    arbiter: Arc<dyn Active>,
}

impl<R: Send + 'static> Select<R> {
    /// Or takes an item of `port`.
    pub fn recv<T, M>(self, port: &Port<T>, map: M) -> Self
    where
        T: Send + 'static,
        M: FnOnce(T) -> R + Send + 'static,
    {
        self.or(Item::new(port, map))
    }

    /// Or takes an item of one of `ports`, which are told by their places in the list. No ports are
    /// no alternative.
    pub fn recv_any<T, M>(self, ports: &[Port<T>], map: M) -> Self
    where
        T: Send + 'static,
        M: FnOnce(usize, T) -> R + Send + 'static,
    {
        if ports.is_empty() {
            return self;
        }
        self.or(OneOf::new(ports, map))
    }

    /// Or takes `count` items of `port`, all or none.
    ///
    /// # Panics
    /// When `count` is 0, or so many items are never in the port, which is bounded.
    pub fn recv_multiple<T, M>(self, port: &Port<T>, count: usize, map: M) -> Self
    where
        T: Send + 'static,
        M: FnOnce(Vec<T>) -> R + Send + 'static,
    {
        self.or(Batch::new(port, count, None, map))
    }

    /// Or takes up to `count` items of `port`. It takes them as soon as there are so many, or once
    /// the oldest has waited for `span` since the first poll. The clock is that of the queue on
    /// which it is polled.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn recv_up_to<T, M>(self, port: &Port<T>, count: usize, span: Duration, map: M) -> Self
    where
        T: Send + 'static,
        M: FnOnce(Vec<T>) -> R + Send + 'static,
    {
        self.or(Batch::new(port, count, Some(span), map))
    }

    /// Or takes items of several ports, all or none, as [`join`].
    ///
    /// # Panics
    /// As [`join`].
    pub fn join<P, M>(self, parts: P, map: M) -> Self
    where
        P: IntoParts,
        M: FnOnce(P::Items) -> R + Send + 'static,
    {
        self.or(Together::new(parts, map))
    }

    /// Or goes on when an item waits in `port`, and leaves it there. Someone else may take it
    /// before the awaiting code does.
    pub fn ready<T, M>(self, port: &Port<T>, map: M) -> Self
    where
        T: Send + 'static,
        M: FnOnce() -> R + Send + 'static,
    {
        self.or(IsThere::new(port, map))
    }

    /// Or goes on when `span` is over, counted from the first poll. The clock is that of the queue
    /// on which it is polled (the real one outside of queues).
    pub fn after<M>(self, span: Duration, map: M) -> Self
    where
        M: FnOnce() -> R + Send + 'static,
    {
        self.or(Time::new(span, map))
    }

    fn or(mut self, next: impl Alternative<R> + 'static) -> Self {
        self.alternatives.push(Box::new(next));
        self
    }

    /// Takes what is there already, as far as a look can tell, in order.
    fn look(alternatives: &mut [Box<dyn Alternative<R>>], cx: &Context<'_>) -> Option<R> {
        for alternative in alternatives {
            match alternative.look(cx) {
                Look::Found(result) => return Some(result),
                Look::Nothing => {}
                Look::Unknown => return None,
            }
        }
        None
    }

    /// Puts what waits to work. What was posted since the first look is offered, and taken, here.
    fn wait(alternatives: &mut [Box<dyn Alternative<R>>]) -> Waits<R> {
        let mailbox = ResultMailbox::new();
        let outlet = Outlet::direct(Arc::clone(&mailbox) as _);
        let (arbiter, kept): Attached = match alternatives {
            [only] => only.attach(&mailbox, outlet),
            several => {
                let branches = Several::new(several, &mailbox);
                let (choice, kept) = Choice::among(branches).attach(outlet);
                (choice, Some(kept))
            }
        };
        arbiter.register();
        drop(kept);
        Waits { mailbox, arbiter }
    }
}

/// # Waiting for several items
impl<T: Send + 'static> Port<T> {
    /// Waits for up to `count` items and takes them. It takes them as soon as there are so many, or
    /// once the oldest has waited for `span` since the first poll. There is one at least.
    ///
    /// # Panics
    /// When `count` is 0; its first poll, when the operating system refuses the real clock its
    /// thread.
    ///
    /// # Cancellation
    /// Dropping the future gives up the wait; what was meant for it goes back to where it stood.
    ///
    /// ```
    /// use motet_ports::{Port, wait_blocking};
    /// use std::time::Duration;
    ///
    /// let port = Port::new();
    /// (1..=4).for_each(|n| port.post(n).unwrap());
    /// let up_to_3 = || wait_blocking(port.recv_up_to(3, Duration::from_millis(1))).unwrap();
    /// assert_eq!(up_to_3(), [1, 2, 3]);
    /// assert_eq!(up_to_3(), [4], "after a millisecond");
    /// ```
    #[track_caller]
    pub fn recv_up_to(&self, count: usize, span: Duration) -> Select<Vec<T>> {
        select().recv_up_to(self, count, span, std::convert::identity)
    }
}

impl<R: Send + 'static> Select<R> {
    /// Waits for the first of the alternatives, or for the end of all: their ports are
    /// [closed](Port::close), and too little is left in each. A select with a time has no such end.
    /// One without alternatives is at its end at once; awaited plainly, it waits.
    ///
    /// ```
    /// use motet_ports::{Closed, Port, select, wait_blocking};
    ///
    /// let (words, numbers) = (Port::<&str>::new(), Port::<u32>::new());
    /// numbers.post(7).unwrap();
    /// (words.close(), numbers.close());
    /// let next = || {
    ///     let either = select().recv(&words, str::to_owned).recv(&numbers, |n| n.to_string());
    ///     wait_blocking(either.or_closed()).unwrap()
    /// };
    /// assert_eq!((next(), next()), (Ok("7".to_owned()), Err(Closed)));
    /// ```
    pub fn or_closed(self) -> OrClosed<Self> {
        OrClosed(self)
    }
}

impl<R: Send + 'static> Future for Select<R> {
    type Output = R;

    /// # Panics
    /// At the end of all alternatives: await [`Select::or_closed`] where that may come.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let result = self.poll_alternatives(cx);
        result.map(|result| result.unwrap_or_else(|| ended("select")))
    }
}

impl<R: Send + 'static> MayEnd for Select<R> {
    type Result = R;

    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Option<R>> {
        if self.alternatives.is_empty() && self.waits.is_none() {
            // All of none are closed.
            return Poll::Ready(None);
        }
        self.poll_alternatives(cx)
    }
}

impl<R: Send + 'static> Select<R> {
    /// `None`: all alternatives have ended.
    fn poll_alternatives(&mut self, cx: &mut Context<'_>) -> Poll<Option<R>> {
        let this = self;
        let begins = this.waits.is_none();
        let waits = match &mut this.waits {
            Some(waits) => waits,
            none => {
                if let Some(result) = Self::look(&mut this.alternatives, cx) {
                    this.alternatives.clear();
                    return Poll::Ready(Some(result));
                }
                none.insert(Self::wait(&mut this.alternatives))
            }
        };
        let mut result = waits.mailbox.poll(cx).map(Some);
        if result.is_pending() && waits.arbiter.has_ended() {
            result = Poll::Ready(None);
        }
        if result.is_ready() {
            this.waits = None;
            this.alternatives.clear();
        } else if begins {
            waits.mailbox.noted(&waits.arbiter, this.created);
        }
        result
    }
}

// Nothing in it is pinned: what waits is behind an Arc.
impl<R: Send + 'static> Unpin for Select<R> {}

impl<R: Send + 'static> Drop for Waits<R> {
    fn drop(&mut self) {
        if predicate::is_inside() {
            let (mailbox, arbiter) = (Arc::clone(&self.mailbox), Arc::clone(&self.arbiter));
            let later = Waits { mailbox, arbiter };
            return predicate::outside(move || drop(later));
        }
        self.arbiter.cleanup();
        self.mailbox.close();
    }
}

impl<R: Send + 'static> fmt::Debug for Select<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("alternatives", &self.alternatives.len())
            .field("waits", &self.waits.is_some())
            .finish()
    }
}
