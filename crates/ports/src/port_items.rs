//! What a join finds at one of its ports: the items that wait, and the offered one in its place.

use crate::delivery::{ItemBox, ItemDelivery};
use motet_dispatch::BoxList;

/// The items of one port from which a join may take.
pub(crate) struct PortItems<'a, T: Send + 'static> {
    waiting: &'a mut BoxList<ItemDelivery<T>>,
    /// The offered item and its end, at the one port where an item is being offered.
    offered: Option<(&'a mut Option<ItemBox<T>>, End)>,
}

/// An offered item with the items that wait in its port. It borrows nothing, so that it can pass
/// through code that does not know its type.
pub(crate) struct Offered<T: Send + 'static> {
    pub(crate) waiting: BoxList<ItemDelivery<T>>,
    /// `None` once it has been taken.
    pub(crate) parcel: Option<ItemBox<T>>,
    /// Where it stands among those that wait.
    pub(crate) end: End,
}

/// One of the two ends of a port's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

impl<'a, T: Send + 'static> PortItems<'a, T> {
    /// The items that wait in a port.
    #[inline]
    pub(crate) fn waiting(waiting: &'a mut BoxList<ItemDelivery<T>>) -> Self {
        PortItems {
            waiting,
            offered: None,
        }
    }

    /// The items that wait in a port, and the one that is offered there.
    #[inline]
    pub(crate) fn offered(offered: &'a mut Offered<T>) -> Self {
        PortItems {
            waiting: &mut offered.waiting,
            offered: Some((&mut offered.parcel, offered.end)),
        }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let offered = self.at(End::Front).is_some() || self.at(End::Back).is_some();
        self.waiting.len() + usize::from(offered)
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let (front, back) = (self.at(End::Front), self.at(End::Back));
        let parcels = front
            .map(|parcel| &**parcel)
            .into_iter()
            .chain(self.waiting.iter())
            .chain(back.map(|parcel| &**parcel));
        parcels.map(|delivery| &delivery.item)
    }

    /// Takes the oldest.
    #[inline]
    pub(crate) fn take_oldest(&mut self) -> Option<ItemBox<T>> {
        self.take_offered(End::Front)
            .or_else(|| self.waiting.pop_front())
            .or_else(|| self.take_offered(End::Back))
    }

    /// Takes the oldest that is wanted.
    pub(crate) fn take_first(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Option<ItemBox<T>> {
        if self
            .at(End::Front)
            .is_some_and(|parcel| wanted(&parcel.item))
        {
            return self.take_offered(End::Front);
        }
        let waiting = self.waiting.remove_first(|delivery| wanted(&delivery.item));
        if waiting.is_some() {
            return waiting;
        }
        if self
            .at(End::Back)
            .is_some_and(|parcel| wanted(&parcel.item))
        {
            return self.take_offered(End::Back);
        }
        None
    }

    /// The offered item, if it is there and stands at this end.
    #[inline]
    fn at(&self, end: End) -> Option<&ItemBox<T>> {
        match &self.offered {
            Some((parcel, at)) if *at == end => parcel.as_ref(),
            _ => None,
        }
    }

    #[inline]
    fn take_offered(&mut self, end: End) -> Option<ItemBox<T>> {
        match &mut self.offered {
            Some((parcel, at)) if *at == end => parcel.take(),
            _ => None,
        }
    }
}
