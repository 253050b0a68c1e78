//! What the parts of joins take from their ports: one item, several, or a share of a number.

use super::join_input::Rule;
use crate::delivery::{ItemBox, ItemDelivery, item_of, items_of};
use crate::port_items::PortItems;
use crate::predicate::{Asker, Predicate};
use motet_dispatch::{BoxList, Causalities};
use std::fmt;

/// One item: any, or the oldest that the guard wants.
pub(crate) struct One<T>(pub(crate) Option<Predicate<T>>);

/// Several items.
pub(crate) struct Several<T>(Wanted<T>);

/// As many as are there of the items that the parts must bring together, and still needed.
pub(crate) struct GatherShare<T>(pub(crate) Option<Predicate<T>>);

enum Wanted<T> {
    /// The oldest ones, or the oldest ones that the guard wants.
    Count(usize, Option<Predicate<T>>),
    /// One for each guard; at most 64.
    Each(Vec<Predicate<T>>),
}

impl<T: Send + 'static> Several<T> {
    pub(crate) fn count(count: usize, guard: Option<Predicate<T>>) -> Self {
        Several(Wanted::Count(count, guard))
    }

    pub(crate) fn each(guards: Vec<Predicate<T>>) -> Self {
        Several(Wanted::Each(guards))
    }

    /// How many, if any items will do.
    pub(crate) fn unguarded(&self) -> Option<usize> {
        match self.0 {
            Wanted::Count(count, None) => Some(count),
            Wanted::Count(_, Some(_)) | Wanted::Each(_) => None,
        }
    }

    /// The same number of items, of those that `guard` wants.
    pub(crate) fn guarded(self, guard: Predicate<T>) -> Self {
        match self.0 {
            Wanted::Count(count, _) => Self::count(count, Some(guard)),
            each @ Wanted::Each(_) => Several(each),
        }
    }
}

impl<T: Send + 'static> Rule for One<T> {
    type Item = T;
    type Taken = ItemBox<T>;
    type Given = T;

    fn is_guarded(&self) -> bool {
        self.0.is_some()
    }

    fn needed(&self) -> usize {
        1
    }

    fn wants(&self, item: &T, asker: &mut Asker<'_>) -> bool {
        wants(self.0.as_ref(), item, asker)
    }

    /// The place of the item among those that are there.
    #[inline]
    fn plan(
        &self,
        port_items: &PortItems<'_, T>,
        _left: &mut usize,
        asker: &mut Asker<'_>,
    ) -> Option<usize> {
        match &self.0 {
            None => (port_items.len() > 0).then_some(0),
            Some(guard) => port_items.iter().position(|item| asker.wants(guard, item)),
        }
    }

    #[inline]
    fn take(
        &self,
        port_items: &mut PortItems<'_, T>,
        plan: usize,
        _asker: &mut Asker<'_>,
    ) -> ItemBox<T> {
        let parcel = if plan == 0 {
            port_items.take_oldest()
        } else {
            let mut places = 0..=plan;
            port_items.take_first(|_| places.next() == Some(plan))
        };
        parcel.expect("the planned item is there: its port is locked")
    }

    #[inline]
    fn only(parcel: ItemBox<T>) -> ItemBox<T> {
        parcel
    }

    #[inline]
    fn give(taken: ItemBox<T>) -> T {
        item_of(taken)
    }

    #[inline]
    fn causalities(taken: &ItemBox<T>) -> Causalities {
        taken.causalities()
    }

    fn newest_first(taken: ItemBox<T>) -> BoxList<ItemDelivery<T>> {
        list_of(taken)
    }
}

impl<T: Send + 'static> Rule for Several<T> {
    type Item = T;
    type Taken = BoxList<ItemDelivery<T>>;
    type Given = Vec<T>;

    fn is_guarded(&self) -> bool {
        !matches!(self.0, Wanted::Count(_, None))
    }

    fn needed(&self) -> usize {
        match &self.0 {
            Wanted::Count(count, _) => *count,
            Wanted::Each(guards) => guards.len(),
        }
    }

    fn wants(&self, item: &T, asker: &mut Asker<'_>) -> bool {
        match &self.0 {
            Wanted::Count(_, guard) => wants(guard.as_ref(), item, asker),
            Wanted::Each(guards) => guards.iter().any(|guard| asker.wants(guard, item)),
        }
    }

    /// How many.
    #[inline]
    fn plan(
        &self,
        port_items: &PortItems<'_, T>,
        _left: &mut usize,
        asker: &mut Asker<'_>,
    ) -> Option<usize> {
        let (count, there) = match &self.0 {
            Wanted::Count(count, guard) => {
                (*count, wanted(guard.as_ref(), port_items, *count, asker))
            }
            Wanted::Each(guards) => {
                let mut free = Free::of(guards);
                let there = port_items
                    .iter()
                    .filter_map(|item| free.assign(guards, item, asker));
                (guards.len(), there.take(guards.len()).count())
            }
        };
        (there == count).then_some(count)
    }

    #[inline]
    fn take(
        &self,
        port_items: &mut PortItems<'_, T>,
        plan: usize,
        asker: &mut Asker<'_>,
    ) -> BoxList<ItemDelivery<T>> {
        match &self.0 {
            Wanted::Count(_, guard) => take(guard.as_ref(), port_items, plan, asker),
            Wanted::Each(guards) => take_each(guards, port_items, asker),
        }
    }

    fn only(parcel: ItemBox<T>) -> BoxList<ItemDelivery<T>> {
        list_of(parcel)
    }

    #[inline]
    fn give(taken: BoxList<ItemDelivery<T>>) -> Vec<T> {
        items_of(taken)
    }

    #[inline]
    fn causalities(taken: &BoxList<ItemDelivery<T>>) -> Causalities {
        taken.causalities()
    }

    fn newest_first(taken: BoxList<ItemDelivery<T>>) -> BoxList<ItemDelivery<T>> {
        reversed(taken)
    }
}

impl<T: Send + 'static> Rule for GatherShare<T> {
    type Item = T;
    type Taken = BoxList<ItemDelivery<T>>;
    type Given = Vec<T>;

    fn is_guarded(&self) -> bool {
        self.0.is_some()
    }

    fn needed(&self) -> usize {
        0
    }

    fn wants(&self, item: &T, asker: &mut Asker<'_>) -> bool {
        wants(self.0.as_ref(), item, asker)
    }

    /// How many: any number will do here, the arbiter looks at the sum.
    fn plan(
        &self,
        port_items: &PortItems<'_, T>,
        left: &mut usize,
        asker: &mut Asker<'_>,
    ) -> Option<usize> {
        let there = wanted(self.0.as_ref(), port_items, *left, asker);
        *left -= there;
        Some(there)
    }

    fn take(
        &self,
        port_items: &mut PortItems<'_, T>,
        plan: usize,
        asker: &mut Asker<'_>,
    ) -> BoxList<ItemDelivery<T>> {
        take(self.0.as_ref(), port_items, plan, asker)
    }

    fn only(parcel: ItemBox<T>) -> BoxList<ItemDelivery<T>> {
        list_of(parcel)
    }

    fn give(taken: BoxList<ItemDelivery<T>>) -> Vec<T> {
        items_of(taken)
    }

    fn causalities(taken: &BoxList<ItemDelivery<T>>) -> Causalities {
        taken.causalities()
    }

    fn newest_first(taken: BoxList<ItemDelivery<T>>) -> BoxList<ItemDelivery<T>> {
        reversed(taken)
    }
}

/// The guards that have no item yet, as bits.
struct Free(u64);

impl Free {
    fn of<T>(guards: &[Predicate<T>]) -> Self {
        Free(u64::MAX >> (64 - guards.len()))
    }

    /// The first free guard that wants the item; it is free no more.
    fn assign<T>(
        &mut self,
        guards: &[Predicate<T>],
        item: &T,
        asker: &mut Asker<'_>,
    ) -> Option<usize> {
        let mut guards = guards.iter().enumerate();
        let found = guards.find(|(at, guard)| self.0 >> at & 1 == 1 && asker.wants(guard, item));
        let (at, _) = found?;
        self.0 &= !(1 << at);
        Some(at)
    }
}

fn wants<T>(guard: Option<&Predicate<T>>, item: &T, asker: &mut Asker<'_>) -> bool {
    guard.is_none_or(|guard| asker.wants(guard, item))
}

/// How many there are, if it is fewer than `most`.
#[inline]
fn wanted<T: Send + 'static>(
    guard: Option<&Predicate<T>>,
    port_items: &PortItems<'_, T>,
    most: usize,
    asker: &mut Asker<'_>,
) -> usize {
    match guard {
        None => port_items.len().min(most),
        Some(guard) => {
            let wanted = port_items.iter().filter(|item| asker.wants(guard, item));
            wanted.take(most).count()
        }
    }
}

/// Takes the `count` oldest ones. A guard that has changed its mind meanwhile gets the oldest items
/// instead: none may be missing now.
#[inline]
fn take<T: Send + 'static>(
    guard: Option<&Predicate<T>>,
    port_items: &mut PortItems<'_, T>,
    count: usize,
    asker: &mut Asker<'_>,
) -> BoxList<ItemDelivery<T>> {
    let mut taken = BoxList::new();
    for _ in 0..count {
        let wanted = guard.and_then(|guard| port_items.take_first(|item| asker.wants(guard, item)));
        let parcel = wanted.or_else(|| port_items.take_oldest());
        parcel
            .into_iter()
            .for_each(|parcel| taken.push_back(parcel));
    }
    taken
}

/// Takes one for each guard, in the order of the guards; as for [`take`], none may be missing.
fn take_each<T: Send + 'static>(
    guards: &[Predicate<T>],
    port_items: &mut PortItems<'_, T>,
    asker: &mut Asker<'_>,
) -> BoxList<ItemDelivery<T>> {
    let mut places: Vec<Option<ItemBox<T>>> = guards.iter().map(|_| None).collect();
    let mut free = Free::of(guards);
    loop {
        let mut place = None;
        let parcel = port_items.take_first(|item| {
            place = free.assign(guards, item, asker);
            place.is_some()
        });
        let (Some(place), Some(parcel)) = (place, parcel) else {
            break;
        };
        places[place] = Some(parcel);
    }
    let mut taken = BoxList::new();
    for place in places {
        let parcel = place.or_else(|| port_items.take_oldest());
        parcel
            .into_iter()
            .for_each(|parcel| taken.push_back(parcel));
    }
    taken
}

fn list_of<T: Send + 'static>(parcel: ItemBox<T>) -> BoxList<ItemDelivery<T>> {
    let mut list = BoxList::new();
    list.push_back(parcel);
    list
}

fn reversed<T: Send + 'static>(mut list: BoxList<ItemDelivery<T>>) -> BoxList<ItemDelivery<T>> {
    let mut reversed = BoxList::new();
    while let Some(parcel) = list.pop_front() {
        reversed.push_front(parcel);
    }
    reversed
}

impl<T> fmt::Display for One<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "an item with a guard"
        } else {
            "an item"
        })
    }
}

impl<T> fmt::Display for Several<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Wanted::Count(count, None) => write!(f, "{count} items"),
            Wanted::Count(count, Some(_)) => write!(f, "{count} items with a guard"),
            Wanted::Each(guards) => write!(f, "an item for each of {} guards", guards.len()),
        }
    }
}

impl<T> fmt::Display for GatherShare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share")
    }
}
