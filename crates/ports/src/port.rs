//! The port: a first-in first-out queue of items and an ordered list of receivers. A post begins in
//! `port/direct.rs`.

mod again;
mod any;
mod blocked_receiver;
mod bound;
mod close;
mod counters;
mod direct;
mod heap;
mod inside;
mod pile;
mod post_wait;
mod state;

pub(crate) use any::{AnyPort, PortOf, label, put_back};
pub use bound::{Overflow, PortConfig};
pub use counters::PortCounters;
pub(crate) use direct::stamped;
pub(crate) use inside::Inside;
pub use post_wait::PostWait;
pub(crate) use state::PortState;

use crate::PostError;
use crate::claim::Claim;
use crate::deferred::{Deferred, LetIn};
use crate::delivery::{ItemBox, ItemDelivery, parcel, token};
use crate::domain::{Domain, LockedDomain};
use crate::port_origin::PortOrigin;
use crate::predicate;
use crate::receiver::Receiver;
use crate::stamps::ItemEntry;
use bound::Bound;
use motet_dispatch::{BoxList, drop_flat};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Serial, TryMutexGuard};
use pile::Front;
use state::Refusal;
use std::any::type_name;
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock, Weak};

/// Takes items from anyone and keeps each until a receiver takes it.
///
/// The handle is cheap to clone; all clones are the same port. Posting never blocks and never runs
/// user code other than predicates. Items of one poster keep their order.
///
/// ```
/// use motet_ports::Port;
///
/// let port = Port::new();
/// port.post(10).unwrap();
/// port.post(20).unwrap();
/// assert_eq!(port.item_count(), 2);
/// assert_eq!(port.test(), Some(10));
/// assert_eq!(port.test(), Some(20));
/// assert_eq!(port.test(), None);
/// ```
pub struct Port<T: Send + 'static> {
    core: Arc<PortCore<T>>,
}

/// What a handle of a port knows. Alone in its cache lines, which hardly anybody writes: neighbours
/// in memory are often what other threads use.
#[repr(align(64))]
pub(crate) struct PortCore<T: Send + 'static> {
    inside: Arc<Inside<T>>,
    /// Its items carry no causalities.
    tokens: bool,
    /// Whether items may wait without nodes: a hint for posters, who look again under the lock.
    bare: AtomicBool,
    /// Written under the lock.
    closed: AtomicBool,
    /// Set when the first join on this port is activated. See `domain.rs`.
    domain: OnceLock<Arc<Domain>>,
    id: u64,
    origin: PortOrigin,
    /// Set when the first pile begins.
    front: OnceLock<Arc<Front<T>>>,
}

impl<T: Send + 'static> Port<T> {
    /// An empty port without receivers.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Port::with(PortConfig::default())
    }

    /// Offers `item` to the receivers, in the order they were registered; the first to accept gets
    /// it. If none does, it waits in the port.
    ///
    /// # Errors
    /// [`PostError`] hands the item back:
    ///
    /// - when the receiver that wants it has a queue that is full;
    /// - when the port itself is full, if its [overflow policy](Overflow) says so;
    /// - when the port is [closed](Port::close).
    ///
    /// (A receiver whose queue has been stopped wants nothing: it leaves the port.)
    ///
    /// # Panics
    /// Inside a predicate: predicates must not use ports.
    // Always: what it calls writes the outcome to where the caller wants it.
    #[inline(always)]
    pub fn post(&self, item: T) -> Result<(), PostError<T>> {
        self.core.post(item)
    }

    /// Puts an item at the front of the queue (un-receive), whatever the port's capacity. The
    /// receivers are asked first, as in [`Port::post`].
    ///
    /// # Errors
    /// [`PostError`] hands the item back when the receiver that wants it has a queue that is full,
    /// and when the port is [closed](Port::close).
    pub fn put_back(&self, item: T) -> Result<(), PostError<T>> {
        let refused = self.core.place(self.core.parcel(item), ItemEntry::First);
        refused.map_err(Refusal::into_error)
    }

    /// The number of waiting items.
    #[must_use]
    pub fn item_count(&self) -> usize {
        self.core.item_count()
    }

    /// The number of registered receivers; one registered twice counts twice.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.core.state().receivers().count()
    }

    /// Adds a receiver behind the others and offers it the waiting items, oldest first. The same
    /// receiver may be registered more than once and is then asked as often.
    pub fn register(&self, receiver: Arc<dyn Receiver<T>>) {
        self.core.register(receiver);
    }

    /// Removes one registration of a receiver. `false` when it is not registered.
    pub fn unregister(&self, receiver: &Arc<dyn Receiver<T>>) -> bool {
        self.core.unregister(receiver)
    }

    /// A number that no other port of this process has.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.core.id
    }

    pub(crate) fn with_tokens() -> Self {
        Port {
            core: PortCore::new(&PortConfig::default(), true),
        }
    }

    pub(crate) fn from_core(core: Arc<PortCore<T>>) -> Self {
        Port { core }
    }

    pub(crate) fn core(&self) -> &Arc<PortCore<T>> {
        &self.core
    }
}

impl<T: Send + 'static> PortCore<T> {
    #[track_caller]
    fn new(config: &PortConfig, tokens: bool) -> Arc<Self> {
        static IDS: Serial = Serial::new();
        let origin = PortOrigin::here();
        Arc::new_cyclic(|this| PortCore {
            id: IDS.next(),
            tokens,
            bare: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            inside: Arc::new(Inside::new(PortState::new(
                Bound::new(config),
                Weak::clone(this) as _,
            ))),
            domain: OnceLock::new(),
            front: OnceLock::new(),
            origin,
        })
    }

    /// As [`Port::post`].
    #[inline(always)]
    pub(crate) fn post(&self, item: T) -> Result<(), PostError<T>> {
        // Relaxed: it is looked up under the lock.
        if self.bare.load(Ordering::Relaxed) {
            return self.post_bare(item);
        }
        self.post_node(item)
    }

    pub(crate) fn item_count(&self) -> usize {
        self.state().item_count()
    }

    pub(crate) fn origin(&self) -> &PortOrigin {
        &self.origin
    }

    /// The port in a few words: its name, or else its number, and its type.
    pub(crate) fn label(&self) -> String {
        let of = type_name::<T>();
        match self.origin.name() {
            Some(name) => format!("port {name:?} of {of}"),
            None => format!("port {} of {of}", self.id),
        }
    }

    #[inline]
    fn parcel(&self, item: T) -> ItemBox<T> {
        if self.tokens {
            token(item)
        } else {
            parcel(item)
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether a join has ever connected the port.
    #[inline]
    pub(crate) fn has_domain(&self) -> bool {
        self.domain.get().is_some()
    }

    /// The domain, made if need be.
    #[inline]
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        self.domain.get().unwrap_or_else(|| self.make_domain())
    }

    #[cold]
    fn make_domain(&self) -> &Arc<Domain> {
        // Under the port's lock, so that nobody is inside the port without the domain's lock once
        // there is a domain.
        let mut state = self.state();
        state.join();
        self.domain.get_or_init(Domain::new)
    }

    /// Runs `body` on the state, with all that receivers need locked.
    // One call of `body`: it is inlined then, and nothing it holds is copied.
    #[inline]
    pub(crate) fn locked<R>(&self, body: impl FnOnce(&mut PortState<T>) -> R) -> R {
        let (_domain, mut state) = self.lock();
        body(&mut state)
    }

    /// The domain's lock, if there is a domain, and the port's.
    // Always: two guards are handed back through memory otherwise, by each post.
    #[inline(always)]
    fn lock(&self) -> (Option<LockedDomain<'_>>, TryMutexGuard<'_, PortState<T>>) {
        if self.domain.get().is_none() {
            let state = self.state();
            // The first join makes the domain under this lock.
            if self.domain.get().is_none() {
                return (None, state);
            }
        }
        // Before the domain's lock, which the caller may be under.
        predicate::assert_outside();
        let domain = self.domain().lock();
        (Some(domain), self.state())
    }

    /// The state alone: enough for looking and for taking waiting items.
    #[inline]
    pub(crate) fn state(&self) -> TryMutexGuard<'_, PortState<T>> {
        predicate::assert_outside();
        self.inside.lock()
    }

    /// What the port has in common with its joins.
    pub(crate) fn inside(&self) -> &Arc<Inside<T>> {
        &self.inside
    }

    #[inline]
    fn place(&self, parcel: ItemBox<T>, entry: ItemEntry) -> Result<(), Refusal<T>> {
        let mut deferred = Deferred::default();
        let placed = self.locked(|state| state.place(parcel, entry, &mut deferred));
        deferred.carry_out();
        if deferred.is_done() {
            // Nearly always: what drops it has not to look again.
            let _nothing = ManuallyDrop::new(deferred);
        }
        placed
    }

    /// Takes the oldest waiting item that does not lie on a pile's front.
    #[inline]
    pub(crate) fn pop(&self) -> Option<ItemBox<T>> {
        self.take_from(PortState::pop)
    }

    /// Takes waiting items.
    #[inline]
    pub(crate) fn take<R>(&self, take: impl FnOnce(&mut BoxList<ItemDelivery<T>>) -> R) -> R {
        self.take_from(|state| take(state.items_mut()))
    }

    #[inline]
    fn take_from<R>(&self, take: impl FnOnce(&mut PortState<T>) -> R) -> R {
        let mut state = self.state();
        let taken = take(&mut state);
        let has_posters = state.has_posters();
        drop(state);
        if has_posters {
            self.let_in();
        }
        taken
    }

    /// Posts an item whose poster cannot take it back: it is kept also when there is no room for
    /// it.
    pub(crate) fn post_or_keep(&self, item: T) {
        self.keep(self.parcel(item), ItemEntry::Posted);
    }

    /// Brings an item that had been taken to the front.
    pub(crate) fn put_back(&self, parcel: ItemBox<T>) {
        self.keep(parcel, ItemEntry::First);
    }

    /// Brings an item that had been taken back to where it stood.
    pub(crate) fn bring_back(&self, parcel: ItemBox<T>) {
        self.keep(parcel, ItemEntry::Returned);
    }

    /// Places an item that nobody could take back, whatever the capacity. A receiver whose queue
    /// refuses it is passed by, until that has room: whoever else waits for the item must hear of
    /// it.
    fn keep(&self, parcel: ItemBox<T>, entry: ItemEntry) {
        let mut deferred = Deferred::default();
        self.locked(|state| state.place_always(parcel, entry, &mut deferred));
        deferred.carry_out();
    }

    /// Closes the claim of a receiver that only this port's lock guards, and unregisters it.
    pub(crate) fn close_and_unregister(&self, claim: &Claim, receiver: *const ()) {
        let removed = self.locked(|state| {
            claim.close();
            state.remove_at(receiver)
        });
        drop(removed);
    }

    /// Adds a receiver; see [`Port::register`].
    pub(crate) fn register(&self, receiver: Arc<dyn Receiver<T>>) {
        let mut deferred = Deferred::default();
        self.locked(|state| state.register(receiver, &mut deferred));
        deferred.carry_out();
    }

    pub(crate) fn unregister(&self, receiver: &Arc<dyn Receiver<T>>) -> bool {
        self.unregister_at(Arc::as_ptr(receiver).cast())
    }

    /// As [`PortCore::unregister`], for a receiver by its address.
    pub(crate) fn unregister_at(&self, receiver: *const ()) -> bool {
        // The receiver is dropped after the lock is released: it may hold user code.
        let removed = self.locked(|state| state.remove_at(receiver));
        removed.is_some()
    }
}

impl<T: Send + 'static> Drop for PortCore<T> {
    fn drop(&mut self) {
        // Joins may keep the state. What lies in the port may hold the next port.
        let held = self.inside.empty();
        let front = self.front.take();
        if held.is_some() || front.is_some() {
            predicate::outside(move || drop_flat((held, front)));
        }
    }
}

impl<T: Send + 'static> Clone for Port<T> {
    fn clone(&self) -> Self {
        Port {
            core: Arc::clone(&self.core),
        }
    }
}

impl<T: Send + 'static> Default for Port<T> {
    #[track_caller]
    fn default() -> Self {
        Port::new()
    }
}
