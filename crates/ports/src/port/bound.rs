//! Ports of limited capacity, and those who wait to post to them.

use super::post_wait::Poster;
use super::state::{PortState, Refusal};
use super::{Port, PortCore};
use crate::PostRefusal;
use crate::deferred::{Deferred, LetIn};
use crate::delivery::{DeliverItem, ItemBox, Sends, address};
use crate::stamps::ItemEntry;
use std::any::type_name;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How a [`Port`] is to be.
///
/// ```
/// use motet_ports::{Overflow, Port, PortConfig};
///
/// let newest = Port::with(PortConfig {
///     capacity: 2.try_into().ok(),
///     overflow: Overflow::DropOldest,
/// });
/// (1..=5).for_each(|n| newest.post(n).unwrap());
/// assert_eq!((newest.items(), newest.dropped()), (vec![4, 5], 3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortConfig {
    /// The number of items that may wait in the port. `None`: no limit.
    pub capacity: Option<NonZeroUsize>,
    /// What happens to an item beyond it.
    pub overflow: Overflow,
}

/// What a port does with an item that nobody takes when it is full.
///
/// | policy | [`post`](Port::post) | [`post_wait`](Port::post_wait) |
/// |---|---|---|
/// | `Reject` | hands it back | the same |
/// | `DropOldest` | takes it, drops the oldest | the same |
/// | `DropNewest` | drops it | the same |
/// | `Wait` | hands it back | waits for room, in order |
///
/// Dropped items are [counted](Port::dropped) and go to the [overflow port](Port::overflow_port),
/// if there is one. Items that are put back are always taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// The item goes back to its poster.
    #[default]
    Reject,
    /// The oldest item makes room.
    DropOldest,
    /// The item is dropped.
    DropNewest,
    /// The item goes back to its poster, or waits for room with it.
    Wait,
}

/// The limit of a port. Belongs to the port's state.
pub(super) struct Bound<T: Send + 'static> {
    capacity: usize,
    overflow: Overflow,
    /// Those who wait to post, oldest first.
    posters: VecDeque<Arc<Poster<T>>>,
    pub(super) dropped: u64,
    /// The port is closed.
    pub(super) closed: bool,
    overflow_port: Option<Port<T>>,
}

/// # Capacity
impl<T: Send + 'static> Port<T> {
    /// An empty port as `config` says.
    #[must_use]
    #[track_caller]
    pub fn with(config: PortConfig) -> Self {
        Port {
            core: PortCore::new(&config, false),
        }
    }

    /// An empty port in which so many items may wait.
    ///
    /// # Panics
    /// When the capacity is 0.
    ///
    /// ```
    /// use motet_ports::{Overflow, Port, PostRefusal};
    ///
    /// let port = Port::bounded(1, Overflow::Reject);
    /// port.post("first").unwrap();
    /// let refused = port.post("second").unwrap_err();
    /// assert_eq!((refused.item, refused.reason), ("second", PostRefusal::PortFull));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn bounded(capacity: usize, overflow: Overflow) -> Self {
        let capacity = NonZeroUsize::new(capacity);
        assert!(
            capacity.is_some(),
            "a port of capacity 0 would take nothing: give it 1 at least"
        );
        Port::with(PortConfig { capacity, overflow })
    }

    /// The number of items that may wait here; `None`: no limit.
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        let state = self.core.state();
        let capacity = state.bound.as_ref().map(|bound| bound.capacity);
        capacity.filter(|capacity| *capacity < usize::MAX)
    }

    /// # Panics
    /// When so many items are never there together. One that is posted is offered before the port
    /// is asked for room: it counts, too.
    pub(crate) fn assert_holds(&self, count: usize) {
        let capacity = self.capacity().unwrap_or(usize::MAX);
        let most = capacity.saturating_add(1);
        assert!(
            count <= most,
            "{} holds {capacity} items at most, and {count} are wanted at once: take {most} or \
             fewer at a time, or make the port with more room",
            self.core.label()
        );
    }

    /// The number of items dropped for want of room so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let state = self.core.state();
        state.bound.as_ref().map_or(0, |bound| bound.dropped)
    }

    /// The port to which dropped items go from now on, made at the first call. What that port
    /// refuses is gone. A port that drops nothing posts nothing there.
    ///
    /// ```
    /// use motet_ports::{Overflow, Port};
    ///
    /// let newest = Port::bounded(1, Overflow::DropOldest);
    /// let dropped = newest.overflow_port();
    /// (1..=3).for_each(|n| newest.post(n).unwrap());
    /// assert_eq!((newest.items(), dropped.items()), (vec![3], vec![1, 2]));
    /// ```
    #[must_use]
    pub fn overflow_port(&self) -> Port<T> {
        let fresh = Port::new();
        match &mut self.core.state().bound {
            Some(bound) => bound.overflow_port.get_or_insert(fresh).clone(),
            None => fresh,
        }
    }
}

impl<T: Send + 'static> Bound<T> {
    pub(super) fn new(config: &PortConfig) -> Option<Box<Self>> {
        config.capacity.map(|capacity| {
            Box::new(Bound {
                capacity: capacity.get(),
                overflow: config.overflow,
                posters: VecDeque::new(),
                dropped: 0,
                closed: false,
                overflow_port: None,
            })
        })
    }

    /// Of a port without a limit that is closed.
    pub(super) fn unlimited() -> Box<Self> {
        Box::new(Bound {
            capacity: usize::MAX,
            overflow: Overflow::default(),
            posters: VecDeque::new(),
            dropped: 0,
            closed: false,
            overflow_port: None,
        })
    }

    /// Without a limit the greatest number.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn lets_wait(&self) -> bool {
        self.overflow == Overflow::Wait
    }

    pub(super) fn posters_mut(&mut self) -> &mut VecDeque<Arc<Poster<T>>> {
        &mut self.posters
    }

    /// Gives an item up, once the port is unlocked.
    pub(super) fn drop_item(&mut self, parcel: ItemBox<T>, deferred: &mut Deferred) {
        self.dropped += 1;
        match &self.overflow_port {
            Some(port) => deferred.give_up(address(parcel, Arc::clone(port.core()) as _)),
            None => deferred.discard(parcel.into_task()),
        }
    }
}

impl<T: Send + 'static> PortState<T> {
    /// Whether someone waits to post, or for the end of a closed port.
    #[inline]
    pub(super) fn has_posters(&self) -> bool {
        self.bound
            .as_ref()
            .is_some_and(|bound| bound.closed || !bound.posters.is_empty())
    }

    /// Keeps a parcel that nobody has taken, as far as the capacity allows.
    #[inline]
    pub(super) fn keep(
        &mut self,
        parcel: ItemBox<T>,
        entry: ItemEntry,
        deferred: &mut Deferred,
    ) -> Result<(), Refusal<T>> {
        if matches!(entry, ItemEntry::Posted) && self.bound.is_some() {
            return self.keep_bounded(parcel, deferred);
        }
        self.insert(parcel, entry);
        Ok(())
    }

    fn keep_bounded(
        &mut self,
        parcel: ItemBox<T>,
        deferred: &mut Deferred,
    ) -> Result<(), Refusal<T>> {
        let items = self.items.nodes(self.stamps.last(), self.by_type);
        let Some(bound) = &mut self.bound else {
            items.push_back(parcel);
            return Ok(());
        };
        let is_full = items.len() >= bound.capacity || !bound.posters.is_empty();
        match bound.overflow {
            _ if !is_full => items.push_back(parcel),
            Overflow::DropNewest => (self.by_type.drop_item)(bound, parcel, deferred),
            Overflow::DropOldest => {
                let oldest = items.pop_front();
                oldest
                    .into_iter()
                    .for_each(|oldest| (self.by_type.drop_item)(bound, oldest, deferred));
                items.push_back(parcel);
            }
            Overflow::Reject | Overflow::Wait => {
                self.turned_away.count();
                return Err(Refusal {
                    parcel,
                    reason: PostRefusal::PortFull,
                });
            }
        }
        Ok(())
    }

    /// Items may have been taken: those who wait to post are let in once the port is unlocked.
    #[inline]
    pub(crate) fn let_in_later(&self, deferred: &mut Deferred) {
        if self.has_posters()
            && let Some(port) = self.this.upgrade()
        {
            deferred.let_in(port);
        }
    }

    fn let_in(&mut self, deferred: &mut Deferred) {
        while let Some(bound) = &mut self.bound
            && self.items.len() < bound.capacity
            && let Some(poster) = bound.posters.pop_front()
        {
            let Some(parcel) = poster.let_in(deferred) else {
                continue;
            };
            // There is room here: it may wait for the receiver's queue. If it is taken the next one
            // comes in.
            self.place_somewhere(parcel, ItemEntry::Posted, deferred);
        }
        self.end_receivers(deferred);
    }

    fn end_waits(&mut self, deferred: &mut Deferred) {
        let Some(bound) = self.bound.as_mut().filter(|bound| bound.lets_wait()) else {
            return;
        };
        bound.overflow = Overflow::DropNewest;
        for poster in std::mem::take(&mut bound.posters) {
            if let Some(parcel) = poster.let_in(deferred) {
                bound.drop_item(parcel, deferred);
            }
        }
    }
}

impl<T: Send + 'static> PortCore<T> {
    /// Nobody waits for room here any more, now or later: items beyond it are dropped.
    pub(crate) fn end_waits(&self) {
        let mut deferred = Deferred::default();
        self.locked(|state| state.end_waits(&mut deferred));
        deferred.carry_out();
    }

    /// Lets those in who wait to post, as far as there is room. Each item is offered as if it were
    /// posted now.
    pub(crate) fn let_in_posters(&self) {
        if self.state().has_posters() {
            self.let_in();
        }
    }
    /// An item that another port has dropped is posted here; if it is refused it is gone.
    fn take_over(&self, parcel: ItemBox<T>) {
        drop(self.place(parcel, ItemEntry::Posted));
    }
}

impl<T: Send + 'static> LetIn for PortCore<T> {
    #[cold]
    fn let_in(&self) {
        let mut deferred = Deferred::default();
        self.locked(|state| state.let_in(&mut deferred));
        deferred.carry_out();
    }
}

/// The far end of an item that another port has dropped, which comes in its own node.
impl<T: Send + 'static> DeliverItem<T> for PortCore<T> {
    fn deliver(self: Arc<Self>, parcel: ItemBox<T>) {
        self.take_over(parcel);
    }

    fn put_back(&self, parcel: ItemBox<T>) {
        self.take_over(parcel);
    }

    fn name(&self) -> &'static str {
        type_name::<Self>()
    }
}

impl<T: Send + 'static> Sends for PortCore<T> {
    /// Nobody waits for it.
    fn lose(&self) {}
}
