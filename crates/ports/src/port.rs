//! The port: a first-in first-out queue of items and an ordered list of receivers.

use crate::PostError;
use crate::claim::Claim;
use crate::deferred::Deferred;
use crate::delivery::{Delivery, Parcel, parcel, token};
use crate::domain::Domain;
use crate::origin::Origin;
use crate::predicate;
use crate::receiver::{Offer, Receiver, Verdict};
use crate::shelf::End;
use crate::stamps::{Entry, Stamps};
use motet_dispatch::{BoxList, QueueError};
use motet_sync::{Mutex, Serial};
use std::any::type_name;
use std::collections::VecDeque;
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

/// Alone in its cache lines: neighbours in memory are often ports that other threads use.
#[repr(align(64))]
pub(crate) struct PortCore<T: Send + 'static> {
    id: u64,
    /// Its items carry no causalities.
    tokens: bool,
    state: Mutex<PortState<T>>,
    /// Set when the first join on this port is activated. See `domain.rs`.
    domain: OnceLock<Arc<Domain>>,
    origin: Origin,
}

pub(crate) struct PortState<T: Send + 'static> {
    items: BoxList<Delivery<T>>,
    /// In the order in which they are asked.
    receivers: VecDeque<Arc<dyn Receiver<T>>>,
    stamps: Stamps,
}

impl<T: Send + 'static> Port<T> {
    /// An empty port without receivers.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Port {
            core: Arc::new(PortCore::new()),
        }
    }

    /// Offers `item` to the receivers, in the order they were registered; the first to accept gets
    /// it. If none does, it waits in the port.
    ///
    /// # Errors
    /// [`PostError`] hands the item back when the receiver that wants it has a queue that is full.
    /// (A receiver whose queue has been stopped wants nothing: it leaves the port.)
    ///
    /// # Panics
    /// Inside a predicate: predicates must not use ports.
    #[inline]
    pub fn post(&self, item: T) -> Result<(), PostError<T>> {
        let refused = self.core.place(self.core.parcel(item), Entry::Posted);
        refused.map_err(|(reason, parcel)| PostError {
            item: parcel.into_inner().item,
            reason,
        })
    }

    /// Puts an item at the front of the queue (un-receive). The receivers are asked first, as in
    /// [`Port::post`].
    ///
    /// # Errors
    /// As [`Port::post`].
    pub fn put_back(&self, item: T) -> Result<(), PostError<T>> {
        let refused = self.core.place(self.core.parcel(item), Entry::First);
        refused.map_err(|(reason, parcel)| PostError {
            item: parcel.into_inner().item,
            reason,
        })
    }

    /// The number of waiting items.
    #[must_use]
    pub fn item_count(&self) -> usize {
        self.core.item_count()
    }

    /// The number of registered receivers; one registered twice counts twice.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.core.state().receivers.len()
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
        let tokens = true;
        let core = PortCore::new();
        Port {
            core: Arc::new(PortCore { tokens, ..core }),
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
    fn new() -> Self {
        static IDS: Serial = Serial::new();
        PortCore {
            id: IDS.next(),
            tokens: false,
            state: Mutex::new(PortState {
                items: BoxList::new(),
                receivers: VecDeque::new(),
                stamps: Stamps::default(),
            }),
            domain: OnceLock::new(),
            origin: Origin::here(),
        }
    }

    pub(crate) fn item_count(&self) -> usize {
        self.state().items.len()
    }

    pub(crate) fn origin(&self) -> &Origin {
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
    fn parcel(&self, item: T) -> Parcel<T> {
        if self.tokens {
            token(item)
        } else {
            parcel(item)
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The domain, made if need be.
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        if let Some(domain) = self.domain.get() {
            return domain;
        }
        // Under the port's lock, so that nobody is inside the port without the domain's lock once
        // there is a domain.
        let _state = self.state();
        self.domain.get_or_init(Domain::new)
    }

    /// Runs `body` on the state, with all that receivers need locked.
    #[inline]
    pub(crate) fn locked<R>(&self, body: impl FnOnce(&mut PortState<T>) -> R) -> R {
        if self.domain.get().is_none() {
            let mut state = self.state();
            // The first join makes the domain under this lock.
            if self.domain.get().is_none() {
                return body(&mut state);
            }
        }
        self.locked_in_domain(body)
    }

    // Inline: what `body` holds is not copied then.
    #[inline]
    fn locked_in_domain<R>(&self, body: impl FnOnce(&mut PortState<T>) -> R) -> R {
        // Before the domain's lock, which the caller may be under.
        predicate::assert_outside();
        self.domain().locked(|| body(&mut self.state()))
    }

    /// The state alone: enough for looking and for taking waiting items.
    #[inline]
    pub(crate) fn state(&self) -> motet_sync::MutexGuard<'_, PortState<T>> {
        predicate::assert_outside();
        self.state.lock()
    }

    #[inline]
    fn place(&self, parcel: Parcel<T>, entry: Entry) -> Result<(), (QueueError, Parcel<T>)> {
        let mut deferred = Deferred::default();
        let placed = self.locked(|state| state.place(parcel, entry, true, &mut deferred));
        deferred.carry_out();
        placed
    }

    /// Brings an item that had been taken to the front.
    pub(crate) fn put_back(&self, parcel: Parcel<T>) {
        self.keep(parcel, Entry::First);
    }

    /// Brings an item that had been taken back to where it stood.
    pub(crate) fn bring_back(&self, parcel: Parcel<T>) {
        self.keep(parcel, Entry::Returned);
    }

    /// Places an item that nobody could take back. A receiver whose queue refuses it is passed by: whoever
    /// else waits for the item must hear of it.
    fn keep(&self, parcel: Parcel<T>, entry: Entry) {
        let mut deferred = Deferred::default();
        let placed = self.locked(|state| state.place(parcel, entry, false, &mut deferred));
        debug_assert!(placed.is_ok(), "nobody may refuse what is kept");
        deferred.carry_out();
    }

    /// Closes the claim of a receiver that only this port's lock guards, and unregisters it.
    pub(crate) fn close_and_unregister(&self, claim: &Claim, receiver: &Arc<dyn Receiver<T>>) {
        let removed = self.locked(|state| {
            claim.close();
            state.remove(receiver)
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
        // The receiver is dropped after the lock is released: it may hold user code.
        let removed = self.locked(|state| state.remove(receiver));
        removed.is_some()
    }
}

impl<T: Send + 'static> PortState<T> {
    /// Offers the parcel to the receivers; keeps it if none takes it, or if it is not `refusable`.
    #[inline]
    fn place(
        &mut self,
        mut parcel: Parcel<T>,
        entry: Entry,
        refusable: bool,
        deferred: &mut Deferred,
    ) -> Result<(), (QueueError, Parcel<T>)> {
        let end = self.stamps.stamp(&mut parcel.stamp, entry);
        let mut offer = Offer::new(parcel, end, &mut self.items, deferred);
        let mut at = 0;
        while let Some(receiver) = self.receivers.get(at) {
            let verdict = receiver.offer(&mut offer);
            if offer.receiver_leaves() {
                let receiver = self.receivers.remove(at);
                receiver
                    .into_iter()
                    .for_each(|receiver| offer.drop_later(receiver));
            } else {
                at += 1;
            }
            match verdict {
                Verdict::Accept => return Ok(()),
                Verdict::Refuse(reason) if refusable => {
                    return Err((
                        reason,
                        offer.into_parcel().expect("a refused item was not taken"),
                    ));
                }
                Verdict::Reject | Verdict::Refuse(_) => {}
            }
        }
        let parcel = offer
            .into_parcel()
            .expect("an item that all reject was not taken");
        match entry {
            Entry::Posted => self.items.push_back(parcel),
            Entry::First => self.items.push_front(parcel),
            Entry::Returned => self
                .items
                .insert(parcel, |one, other| one.stamp < other.stamp),
        }
        Ok(())
    }

    /// Adds a receiver and offers it the waiting items, as if they were posted to it one by one.
    pub(crate) fn register(&mut self, receiver: Arc<dyn Receiver<T>>, deferred: &mut Deferred) {
        let mut kept = BoxList::new();
        let mut stays = true;
        while stays && let Some(parcel) = self.items.pop_front() {
            let mut offer = Offer::new(parcel, End::Back, &mut kept, deferred);
            // An item that is refused for want of room stays in the port like one that is rejected.
            let _verdict = receiver.offer(&mut offer);
            stays = !offer.receiver_leaves();
            if let Some(parcel) = offer.into_parcel() {
                kept.push_back(parcel);
            }
        }
        kept.append(std::mem::take(&mut self.items));
        self.items = kept;
        if stays {
            self.receivers.push_back(receiver);
        } else {
            deferred.drop_later(receiver);
        }
    }

    pub(crate) fn remove(
        &mut self,
        receiver: &Arc<dyn Receiver<T>>,
    ) -> Option<Arc<dyn Receiver<T>>> {
        let at = self
            .receivers
            .iter()
            .position(|other| Arc::ptr_eq(other, receiver))?;
        self.receivers.remove(at)
    }

    /// Adds a receiver that has been offered, in its own way, what waits.
    pub(crate) fn push_receiver(&mut self, receiver: Arc<dyn Receiver<T>>) {
        self.receivers.push_back(receiver);
    }

    pub(crate) fn receivers(&self) -> impl Iterator<Item = &Arc<dyn Receiver<T>>> {
        self.receivers.iter()
    }

    pub(crate) fn items_mut(&mut self) -> &mut BoxList<Delivery<T>> {
        &mut self.items
    }
}

/// The port in a few words.
pub(crate) fn label<T: Send + 'static>(port: &Weak<PortCore<T>>) -> String {
    let port = port.upgrade();
    port.map_or("a port that is gone".to_owned(), |port| port.label())
}

/// Brings a parcel back to where it stood in its port. If the port is gone, so is everyone who could
/// have asked for the item.
pub(crate) fn put_back<T: Send + 'static>(port: &Weak<PortCore<T>>, parcel: Parcel<T>) {
    if let Some(port) = port.upgrade() {
        port.bring_back(parcel);
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
