//! The subscription manager: who is told of the changes of a service.
//!
//! ```text
//!   exclusive handler ends ── notify ──► filter ──► room? ──► port of the subscriber
//!   Subscribe (concurrent) ── enter ───► state or history first, then what notify brings
//! ```
//!
//! Subscribers enter and leave inside the concurrent group, changes are told inside the exclusive
//! one. So nothing is missed or told twice between the first state and the first change, and
//! nothing comes after an acknowledged end.
//!
//! - `subscriptions/target.rs`: how one is told, and what becomes of what it has no room for.

mod target;

use super::any_notification::AnyNotification;
use super::new_subscription::NewSubscription;
use crate::json::To;
use crate::{Contract, Event, Notification, StateRef, Subscribe, SubscriptionInfo};
use motet_dispatch::drop_each;
use motet_ports::Port;
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{FirstPanic, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::Instant;
use target::{Target, Written};

/// The subscriptions of a service.
pub(crate) struct Subscriptions<C: Contract> {
    inner: Mutex<Inner<C>>,
    /// Whether somebody has ever subscribed: then changes are told and kept.
    keeps: AtomicBool,
}

struct Inner<C: Contract> {
    next: u64,
    entries: BTreeMap<u64, SubscriberEntry<C>>,
    /// The last notifications, once somebody has ever subscribed, with their bytes.
    history: VecDeque<(usize, Notification<C>)>,
    /// All of these bytes.
    bytes: usize,
    ended: bool,
}

struct SubscriberEntry<C: Contract> {
    how: Subscribe,
    sink: Sink<C>,
    left: Option<u64>,
    expires: Option<Instant>,
}

/// Where notifications go.
pub(crate) enum Sink<C: Contract> {
    Port(Port<Notification<C>>),
    /// As JSON, which those who get the same share. Beyond its limit the subscription ends.
    Json(Port<Arc<AnyNotification>>),
    /// To a port of another type; `false` when nobody is there any more.
    Call(Arc<dyn Fn(Notification<C>) -> bool + Send + Sync>),
}

/// A subscriber on its way in.
pub(crate) struct Entering<C: Contract> {
    pub(crate) how: Subscribe,
    pub(crate) sink: Sink<C>,
    pub(crate) reply: To<NewSubscription>,
}

/// How many notifications are kept for those who ask for what they have missed.
const HISTORY: usize = 1024;

/// How many bytes they may have together, as JSON: 4 MiB. Larger states and bodies are kept as
/// long as they fit, one that is larger by itself not at all.
const HISTORY_BYTES: usize = 4 << 20;

impl<C: Contract> Subscriptions<C> {
    /// Whether a change has to be told to anybody, or kept.
    pub(crate) fn are_wanted(&self) -> bool {
        // Relaxed: it is set in a concurrent handler, which an exclusive one comes before or after.
        self.keeps.load(Ordering::Relaxed)
    }

    /// Takes a subscriber in, and tells it what it wants to begin with.
    pub(crate) fn enter(
        &self,
        how: Subscribe,
        sink: Sink<C>,
        version: u64,
        now: Instant,
        state: impl Fn() -> StateRef<C::State>,
    ) -> u64 {
        // None: a time that nobody lives to see.
        let expires = how.expires.and_then(|span| now.checked_add(span));
        let mut inner = self.inner.lock();
        self.keeps.store(true, Ordering::Relaxed);
        // One subscription for each subscriber that has a name.
        let same = |entry: &SubscriberEntry<C>| how.name.is_some() && entry.how.name == how.name;
        let replaced = inner.take_out(same);
        let first = inner.first(&how, version, &state);
        inner.next += 1;
        let id = inner.next;
        let left = how.count;
        let entry = SubscriberEntry {
            how,
            sink,
            left,
            expires,
        };
        let target = entry.target();
        inner.entries.insert(id, entry);
        drop(inner);
        // What destructors of notifications do waits for nobody: here, and below.
        drop_each(replaced);
        let most = left.map_or(HISTORY, |left| left.min(HISTORY as u64) as usize);
        let mut first = first.into_iter();
        for notification in first.by_ref().take(most) {
            if target.coalesces() && target.is_full() {
                if !target.is_counted || self.count(id) {
                    target.coalesce(version, state());
                }
                break;
            }
            if !self.deliver(id, &target, &notification, &mut None) {
                break;
            }
        }
        drop_each(first);
        id
    }

    /// Takes a subscriber out.
    pub(crate) fn leave(&self, id: u64) -> bool {
        let left = self.inner.lock().entries.remove(&id);
        left.is_some()
    }

    /// Tells all whom it concerns. The caller is alone: nobody enters or leaves, but by dropping
    /// out.
    pub(crate) fn notify(
        &self,
        notification: &Notification<C>,
        now: Instant,
        state: impl Fn() -> StateRef<C::State>,
    ) {
        if !self.are_wanted() {
            return;
        }
        let bytes = notification.length();
        let mut inner = self.inner.lock();
        if inner.ended {
            return;
        }
        let forgotten = inner.keep(notification, bytes);
        let expired = inner.take_out(|entry| entry.is_expired(now));
        let targets: Vec<(u64, Target<C>)> = inner
            .entries
            .iter()
            .filter(|(_, entry)| entry.how.wants(notification.words(), notification.keys()))
            .map(|(id, entry)| (*id, entry.target()))
            .collect();
        drop(inner);
        // Two panics at a time would end the process, and one of them keeps nobody from being told.
        let mut panics = FirstPanic::default();
        panics.catch(|| drop_each(forgotten));
        panics.catch(|| drop_each(expired));
        let mut written = None;
        for (id, target) in targets {
            if !(target.coalesces() && target.is_full()) {
                self.deliver(id, &target, notification, &mut written);
            } else if !target.is_counted || self.count(id) {
                target.coalesce(notification.version, state());
            }
        }
        panics.resume();
    }

    /// Tells all that nothing follows.
    pub(crate) fn end(&self, version: u64) {
        let mut inner = self.inner.lock();
        inner.ended = true;
        let entries = mem::take(&mut inner.entries);
        drop(inner);
        let mut panics = FirstPanic::default();
        for entry in entries.into_values() {
            // What one of them drops keeps no other from being told.
            panics.catch(move || {
                let last = Notification::new(version, Event::Gone);
                entry.target().post(&last, &mut None);
            });
        }
        panics.resume();
    }

    /// The subscriptions at work.
    pub(crate) fn list(&self, now: Instant) -> Vec<SubscriptionInfo> {
        let inner = self.inner.lock();
        let live = inner
            .entries
            .iter()
            .filter(|(_, entry)| !entry.is_expired(now));
        live.map(|(id, entry)| entry.how.info(*id, entry.left))
            .collect()
    }

    /// Whether the subscription goes on.
    fn deliver(
        &self,
        id: u64,
        target: &Target<C>,
        notification: &Notification<C>,
        written: &mut Written,
    ) -> bool {
        if target.is_counted && !self.count(id) {
            return false;
        }
        let goes_on = target.post_or_overflow(notification, written);
        if !goes_on {
            self.leave(id);
        }
        goes_on
    }

    /// Counts a notification of a subscriber that wants so many: whether it is still there. The
    /// last one takes it out.
    fn count(&self, id: u64) -> bool {
        let mut inner = self.inner.lock();
        let Some(entry) = inner.entries.get_mut(&id) else {
            return false;
        };
        let mut last = None;
        if let Some(left) = &mut entry.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                last = inner.entries.remove(&id);
            }
        }
        drop(inner);
        drop(last);
        true
    }
}

impl<C: Contract> Inner<C> {
    /// Keeps it for those who ask for what they have missed; what is oldest makes room, and is to
    /// be dropped when nothing is locked.
    fn keep(&mut self, notification: &Notification<C>, bytes: usize) -> Vec<Notification<C>> {
        let room = HISTORY_BYTES.saturating_sub(bytes);
        let mut forgotten = Vec::new();
        while self.bytes > room || self.history.len() >= HISTORY {
            let Some((size, oldest)) = self.history.pop_front() else {
                break;
            };
            self.bytes -= size;
            forgotten.push(oldest);
        }
        // Beside one that is not kept there is none: what came before it is of no use.
        if bytes <= HISTORY_BYTES {
            self.bytes += bytes;
            self.history.push_back((bytes, notification.clone()));
        }
        forgotten
    }

    /// Takes out those of which `is_one` is true. They are to be dropped when nothing is locked.
    fn take_out(
        &mut self,
        is_one: impl Fn(&SubscriberEntry<C>) -> bool,
    ) -> Vec<SubscriberEntry<C>> {
        let found = self.entries.iter().filter(|found| is_one(found.1));
        let found: Vec<u64> = found.map(|(id, _)| *id).collect();
        let taken = found.iter().filter_map(|id| self.entries.remove(id));
        taken.collect()
    }

    /// What a new subscriber is told first.
    fn first(
        &self,
        how: &Subscribe,
        version: u64,
        state: impl Fn() -> StateRef<C::State>,
    ) -> Vec<Notification<C>> {
        let whole = |reinstated| {
            let mut first = Notification::new(version, Event::Replace(state()));
            first.reinstated = reinstated;
            vec![first]
        };
        match how.since {
            Some(since) if since == version => Vec::new(),
            Some(since) => {
                let begins = self
                    .history
                    .front()
                    .is_some_and(|(_, oldest)| oldest.version <= since.saturating_add(1));
                match begins && since < version {
                    true => {
                        let kept = self.history.iter().map(|(_, kept)| kept);
                        kept.filter(|n| n.version > since)
                            .filter(|n| how.wants(n.words(), n.keys()))
                            .cloned()
                            .collect()
                    }
                    false => whole(true),
                }
            }
            None if how.sync => whole(false),
            None => Vec::new(),
        }
    }
}

impl<C: Contract> Drop for Inner<C> {
    /// One by one: two panics of what users gave would end the process.
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        panics.catch(|| drop_each(mem::take(&mut self.entries).into_values()));
        panics.catch(|| drop_each(mem::take(&mut self.history)));
        panics.resume();
    }
}

impl<C: Contract> SubscriberEntry<C> {
    fn is_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    fn target(&self) -> Target<C> {
        Target {
            sink: self.sink.clone(),
            limit: self.how.limit,
            slow: self.how.slow,
            is_counted: self.left.is_some(),
        }
    }
}

impl<C: Contract> Clone for Sink<C> {
    fn clone(&self) -> Self {
        match self {
            Sink::Port(port) => Sink::Port(port.clone()),
            Sink::Json(port) => Sink::Json(port.clone()),
            Sink::Call(call) => Sink::Call(Arc::clone(call)),
        }
    }
}

impl<C: Contract> Default for Subscriptions<C> {
    fn default() -> Self {
        Subscriptions {
            inner: Mutex::new(Inner {
                next: 0,
                entries: BTreeMap::new(),
                history: VecDeque::new(),
                bytes: 0,
                ended: false,
            }),
            keeps: AtomicBool::new(false),
        }
    }
}
