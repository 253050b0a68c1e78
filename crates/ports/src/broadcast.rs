//! A broadcast port: every subscriber gets every item.
//!
//! A subscription is an ordinary bounded port, so that each subscriber has its own queue of items,
//! its own overflow policy and its own counters. A post takes a snapshot of the subscribers and
//! posts a clone to each, under no lock. So handlers that it sets off may post and subscribe.

use crate::PostRefusal;
use crate::port::{Overflow, Port};
use crate::predicate;
use motet_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use motet_sync::{FirstPanic, Mutex};
use std::fmt;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;

/// Gives every item to every subscriber (publish-subscribe inside a process). Clones are the same
/// broadcast.
///
/// Each [`Subscription`] is a bounded [`Port`] with an [`Overflow`] policy of its own. A slow
/// subscriber drops, refuses or delays. The others do not notice, but for a poster that
/// [waits](BroadcastPort::post_wait).
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{BroadcastPort, Overflow, Port, Receive, wait_blocking};
///
/// let prices = BroadcastPort::new();
/// let (latest, all) = (
///     prices.subscribe(1, Overflow::DropOldest),
///     prices.subscribe(100, Overflow::Reject),
/// );
/// let seen = Port::new();
/// let out = seen.clone();
/// Receive::persistent(&all, move |price: u32| out.post(price).unwrap())
///     .activate(&Inline::new("here"))
///     .unwrap();
/// for price in [10, 11, 12] {
///     assert!(prices.post(price).is_complete());
/// }
/// assert_eq!(seen.items(), [10, 11, 12]);
/// assert_eq!(wait_blocking(latest.recv()), Ok(12));
/// assert_eq!(latest.missed(), 2, "dropped items are counted");
/// ```
pub struct BroadcastPort<T: Clone + Send + 'static> {
    core: Arc<Core<T>>,
}

/// Who gets the items of a broadcast. Replaced as a whole, so that a post needs no lock but to read
/// it.
struct Core<T: Clone + Send + 'static> {
    subscribers: Mutex<Arc<Vec<Subscriber<T>>>>,
    /// Written under the lock of the subscribers.
    closed: AtomicBool,
}

struct Subscriber<T: Send + 'static> {
    port: Port<T>,
    refused: Arc<AtomicU64>,
}

/// The items of a broadcast from the subscription on: a bounded [`Port`], for `recv().await`,
/// receivers and joins. Dropping it ends the subscription; who waits to post to it goes on then.
#[must_use = "a subscription that is dropped ends at once"]
pub struct Subscription<T: Clone + Send + 'static> {
    broadcast: Weak<Core<T>>,
    port: Port<T>,
    refused: Arc<AtomicU64>,
}

/// What became of an item that was posted to a broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "it says whether some subscriber refused the item"]
pub struct Broadcast {
    /// The subscribers when it was posted.
    pub subscribers: usize,
    /// Of these, those that refused it: their port was full ([`Overflow::Reject`],
    /// [`Overflow::Wait`]), or the queue of their receiver was, or the broadcast is closed.
    pub refused: usize,
    /// Why the last of them did.
    pub reason: Option<PostRefusal>,
}

impl<T: Clone + Send + 'static> BroadcastPort<T> {
    /// Without subscribers.
    #[must_use]
    pub fn new() -> Self {
        let subscribers = Mutex::default();
        BroadcastPort {
            core: Arc::new(Core {
                subscribers,
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// Subscribes: each item whose post begins when this has returned comes to the subscription, in
    /// whose port at most `capacity` items wait. What happens beyond that is up to `overflow`.
    ///
    /// # Panics
    /// When the capacity is 0.
    #[track_caller]
    pub fn subscribe(&self, capacity: usize, overflow: Overflow) -> Subscription<T> {
        let port = Port::bounded(capacity, overflow);
        let refused = Arc::new(AtomicU64::new(0));
        let subscriber = Subscriber {
            port: port.clone(),
            refused: Arc::clone(&refused),
        };
        self.core.change(|subscribers| subscribers.push(subscriber));
        if self.is_closed() {
            port.close();
        }
        Subscription {
            broadcast: Arc::downgrade(&self.core),
            port,
            refused,
        }
    }

    /// Posts a clone of `item` to every subscriber, in the order of their subscriptions. It never
    /// waits. The result says who refused it, and each subscriber [counts](Subscription::missed)
    /// what it missed.
    ///
    /// # Panics
    /// When the item's `clone` does. Subscribers before that have got it. When a waker or a
    /// destructor that the post calls does, after all subscribers have got it.
    pub fn post(&self, item: T) -> Broadcast {
        let subscribers = self.core.subscribers();
        let mut outcome = Broadcast::to(subscribers.len());
        if self.is_closed() {
            return outcome.closed();
        }
        let mut panics = FirstPanic::default();
        for_each_clone(&subscribers, item, |subscriber, item| {
            panics.catch(|| {
                let refused = subscriber.port.post(item).map_err(|refused| refused.reason);
                outcome.note(subscriber, refused.err());
            });
        });
        panics.resume();
        outcome
    }

    /// Like [`BroadcastPort::post`], but waits for room where the subscriber's policy is
    /// [`Overflow::Wait`]: one subscriber after the other, so that the slowest sets the pace. A
    /// subscriber that is gone is not waited for.
    ///
    /// # Panics
    /// As [`BroadcastPort::post`].
    ///
    /// # Cancellation
    /// Dropping the future leaves the subscribers that have not been reached without the item.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, Inline, spawn};
    /// use motet_ports::{BroadcastPort, Overflow};
    ///
    /// let broadcast = BroadcastPort::new();
    /// let slow = broadcast.subscribe(1, Overflow::Wait);
    /// let poster = broadcast.clone();
    /// spawn(&Inline::new("here").handle(), async move {
    ///     for n in 0..3 {
    ///         assert!(poster.post_wait(n).await.is_complete());
    ///     }
    /// }).unwrap();
    /// assert_eq!([slow.test(), slow.test(), slow.test()], [Some(0), Some(1), Some(2)]);
    /// ```
    #[must_use = "an item that is not awaited is not posted"]
    pub fn post_wait(&self, item: T) -> impl Future<Output = Broadcast> + Send + use<T> {
        let (subscribers, core) = (self.core.subscribers(), Arc::clone(&self.core));
        async move {
            let mut outcome = Broadcast::to(subscribers.len());
            if core.closed.load(Ordering::Relaxed) {
                return outcome.closed();
            }
            let mut panics = FirstPanic::default();
            let (mut left, mut item) = (subscribers.len(), Some(item));
            for subscriber in &*subscribers {
                left -= 1;
                let copy = if left == 0 { item.take() } else { item.clone() };
                if let Some(copy) = copy {
                    let mut posting = subscriber.port.post_wait(copy);
                    // After a panic nobody waits for this item any more: it is posted, or dropped.
                    let posted = poll_fn(|cx| {
                        let polled = panics.catch(|| Pin::new(&mut posting).poll(cx));
                        polled.unwrap_or(Poll::Ready(Ok(())))
                    });
                    let refused = posted.await.err().map(|refused| refused.reason);
                    outcome.note(subscriber, refused);
                }
            }
            panics.resume();
            outcome
        }
    }

    /// Closes the broadcast: posts are refused by all, and each subscription is
    /// [closed](Port::close), later ones from their beginning. Closing it again does nothing.
    ///
    /// ```
    /// use motet_ports::{BroadcastPort, Closed, Overflow, PostRefusal, wait_blocking};
    ///
    /// let news = BroadcastPort::new();
    /// let reader = news.subscribe(10, Overflow::Reject);
    /// assert!(news.post("first").is_complete());
    /// news.close();
    /// assert_eq!(news.post("late").reason, Some(PostRefusal::Closed));
    /// assert_eq!(wait_blocking(reader.recv().or_closed()).unwrap(), Ok("first"));
    /// assert_eq!(wait_blocking(reader.recv().or_closed()).unwrap(), Err(Closed));
    /// ```
    pub fn close(&self) {
        let subscribers = {
            let subscribers = self.core.subscribers.lock();
            // Relaxed: who subscribes later finds it by the lock.
            self.core.closed.store(true, Ordering::Relaxed);
            Arc::clone(&subscribers)
        };
        let mut panics = FirstPanic::default();
        for subscriber in &*subscribers {
            panics.catch(|| subscriber.port.close());
        }
        panics.resume();
    }

    /// Whether the broadcast is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core.closed.load(Ordering::Relaxed)
    }

    /// How many subscribe now.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.core.subscribers().len()
    }
}

/// Calls `each` with a clone of `item` for every subscriber; the last one gets the item itself.
fn for_each_clone<T: Clone + Send>(
    subscribers: &[Subscriber<T>],
    item: T,
    mut each: impl FnMut(&Subscriber<T>, T),
) {
    if let Some((last, others)) = subscribers.split_last() {
        others
            .iter()
            .for_each(|subscriber| each(subscriber, item.clone()));
        each(last, item);
    }
}

impl<T: Clone + Send + 'static> Core<T> {
    fn subscribers(&self) -> Arc<Vec<Subscriber<T>>> {
        Arc::clone(&self.subscribers.lock())
    }

    /// Replaces the list. The one before is dropped outside of the lock: ports may hold user code.
    fn change(&self, change: impl FnOnce(&mut Vec<Subscriber<T>>)) {
        let mut subscribers = self.subscribers.lock();
        let mut changed = subscribers.to_vec();
        change(&mut changed);
        let before = std::mem::replace(&mut *subscribers, Arc::new(changed));
        drop(subscribers);
        drop(before);
    }
}

impl<T: Clone + Send + 'static> Subscription<T> {
    /// The items that did not come here: those that were [dropped](Port::dropped) for want of room,
    /// and those that the port or its receiver refused.
    #[must_use]
    pub fn missed(&self) -> u64 {
        // Relaxed: a count that orders nothing else.
        self.port.dropped() + self.refused.load(Ordering::Relaxed)
    }
}

impl<T: Clone + Send + 'static> Deref for Subscription<T> {
    type Target = Port<T>;

    fn deref(&self) -> &Port<T> {
        &self.port
    }
}

impl<T: Clone + Send + 'static> Drop for Subscription<T> {
    fn drop(&mut self) {
        if let Some(broadcast) = self.broadcast.upgrade() {
            let id = self.port.id();
            broadcast.change(|subscribers| {
                subscribers.retain(|subscriber| subscriber.port.id() != id);
            });
            // Posters that wait for room here go on to the others.
            let core = Arc::clone(self.port.core());
            predicate::outside(move || core.end_waits());
        }
    }
}

impl Broadcast {
    /// Whether nobody refused the item.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused == 0 && self.reason.is_none()
    }

    fn closed(mut self) -> Self {
        self.refused = self.subscribers;
        self.reason = Some(PostRefusal::Closed);
        self
    }

    fn to(subscribers: usize) -> Self {
        Broadcast {
            subscribers,
            refused: 0,
            reason: None,
        }
    }

    fn note<T: Send>(&mut self, subscriber: &Subscriber<T>, refused: Option<PostRefusal>) {
        if let Some(reason) = refused {
            subscriber.refused.fetch_add(1, Ordering::Relaxed);
            self.refused += 1;
            self.reason = Some(reason);
        }
    }
}

impl<T: Send + 'static> Clone for Subscriber<T> {
    fn clone(&self) -> Self {
        Subscriber {
            port: self.port.clone(),
            refused: Arc::clone(&self.refused),
        }
    }
}

impl<T: Clone + Send + 'static> Clone for BroadcastPort<T> {
    fn clone(&self) -> Self {
        BroadcastPort {
            core: Arc::clone(&self.core),
        }
    }
}

impl<T: Clone + Send + 'static> Default for BroadcastPort<T> {
    fn default() -> Self {
        BroadcastPort::new()
    }
}

impl<T: Clone + Send + 'static> fmt::Debug for BroadcastPort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastPort")
            .field("subscribers", &self.subscriber_count())
            .finish_non_exhaustive()
    }
}

impl<T: Clone + Send + 'static> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("port", &self.port)
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}
