//! Items that pile up where nobody asks for them.
//!
//! An item comes in a node of its own, which becomes its handler's task. Where many items wait and
//! there is no receiver, they are more likely taken by hand ([`Port::recv`](crate::Port::recv),
//! [`Port::test`](crate::Port::test)). The nodes are then for nothing: allocated on one thread,
//! freed on another. So from [`ENOUGH`] waiting items on, what is posted lies on a pile, without
//! nodes. Whoever needs nodes has them made, for all.
//!
//! ```text
//!   oldest ──> in nodes │ front ──────────── │ rows ── back │ <── post
//!              port's lock, its own lock ────┴─ port's lock ┘
//! ```
//!
//! The oldest rows are the front, which has a lock of its own. Those who take and those who post do
//! not meet until it is empty. It is *open*, that is anybody may take from it, while nothing older
//! waits in nodes. Only who has the port's lock puts something into the front or opens it.
//!
//! There is a pile only while there is no receiver, no limit and no domain. Nobody is asked then
//! who may want an item, and a post needs nothing but the port's lock.

use crate::delivery::{ItemDelivery, parcel_under};
use motet_dispatch::{BoxList, Causalities, drop_each};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

/// So many items wait in nodes before there is a pile: a port in which few wait pays nothing for
/// it.
pub(super) const ENOUGH: usize = if cfg!(any(motet_loom, motet_shuttle)) {
    1
} else {
    64
};

/// Items of a row: memory for many is asked for at once, and they are never copied.
const ROW: usize = if cfg!(any(motet_loom, motet_shuttle)) {
    2
} else {
    256
};

/// An item without a node, with what it carries.
pub(crate) type Bare<T> = (T, Causalities);

/// Items one behind the other.
struct ItemRow<T> {
    items: VecDeque<T>,
    /// What they carry: of all of them, or of none as long as no item has anything. Items are often
    /// as small.
    causalities: VecDeque<Causalities>,
}

/// The youngest items of a port. Under the port's lock. What each post writes is in one cache line.
#[repr(C, align(64))]
pub(super) struct Pile<T> {
    back: ItemRow<T>,
    /// Full, older than the last one.
    rows: VecDeque<ItemRow<T>>,
    front: Arc<Front<T>>,
}

/// The oldest items of a pile. Alone in its cache lines, which are those of who takes.
#[repr(align(64))]
pub(crate) struct Front<T> {
    /// Whether something may be in it: a hint.
    holds: AtomicBool,
    head: Mutex<Head<T>>,
}

struct Head<T> {
    first: ItemRow<T>,
    rows: VecDeque<ItemRow<T>>,
    open: bool,
}

impl<T: Send + 'static> Pile<T> {
    pub(super) fn new(front: &Arc<Front<T>>) -> Self {
        Pile {
            front: Arc::clone(front),
            rows: VecDeque::new(),
            back: ItemRow::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        let head = self.front.head.lock();
        count(&head.first, &head.rows) + count(&self.back, &self.rows)
    }

    #[inline]
    pub(super) fn push(&mut self, item: T, causalities: Causalities) {
        if self.back.len() == ROW {
            self.begin_row();
        }
        self.back.push(item, causalities);
    }

    /// Takes the oldest; nothing is in a node.
    pub(super) fn pop(&mut self) -> Option<Bare<T>> {
        let mut head = self.front.head.lock();
        head.open = true;
        // Relaxed: who misses it finds the item under the port's lock.
        self.front.holds.store(true, Ordering::Relaxed);
        head.pop_behind(&mut self.rows, &mut self.back)
    }

    /// Something older comes into a node.
    pub(super) fn close(&self) {
        self.front.head.lock().open = false;
    }

    /// Makes nodes for all and puts them behind `items`. The last gets the stamp `last`.
    pub(super) fn make_nodes(&mut self, items: &mut BoxList<ItemDelivery<T>>, last: i64) {
        let mut head = self.front.head.lock();
        // What is older gets nodes first: from now on nobody takes from the front.
        head.open = false;
        let all = count(&head.first, &head.rows) + count(&self.back, &self.rows);
        let mut stamp = last - all as i64;
        while let Some((item, causalities)) = head.pop_behind(&mut self.rows, &mut self.back) {
            let mut parcel = parcel_under(causalities, item);
            stamp += 1;
            parcel.stamp = stamp;
            items.push_back(parcel);
        }
    }

    #[cold]
    fn begin_row(&mut self) {
        let full = mem::replace(&mut self.back, ItemRow::new());
        self.rows.push_back(full);
    }
}

impl<T: Send + 'static> Front<T> {
    pub(super) fn new() -> Self {
        Front {
            holds: AtomicBool::new(false),
            head: Mutex::new(Head {
                first: ItemRow::none(),
                rows: VecDeque::new(),
                open: false,
            }),
        }
    }

    /// Takes the oldest item of the port, if it is here.
    pub(super) fn pop(&self) -> Option<Bare<T>> {
        // Relaxed: only a hint.
        if !self.holds.load(Ordering::Relaxed) {
            return None;
        }
        let mut head = self.head.lock();
        let taken = if head.open { head.pop() } else { None };
        if taken.is_none() {
            self.holds.store(false, Ordering::Relaxed);
        }
        taken
    }
}

impl<T: Send + 'static> Head<T> {
    #[inline]
    fn pop(&mut self) -> Option<Bare<T>> {
        if self.first.items.is_empty() {
            self.next_row();
        }
        self.first.pop()
    }

    /// Takes the oldest. A front that is empty gets the other rows, of which `back` is the last.
    fn pop_behind(
        &mut self,
        rows: &mut VecDeque<ItemRow<T>>,
        back: &mut ItemRow<T>,
    ) -> Option<Bare<T>> {
        self.pop().or_else(|| {
            mem::swap(&mut self.rows, rows);
            let last = if self.rows.is_empty() {
                &mut self.first
            } else {
                self.rows.push_back(ItemRow::new());
                self.rows.back_mut()?
            };
            mem::swap(last, back);
            self.pop()
        })
    }

    #[cold]
    fn next_row(&mut self) {
        if let Some(row) = self.rows.pop_front() {
            self.first = row;
        }
    }
}

impl<T> ItemRow<T> {
    /// Without room: for no items.
    fn none() -> Self {
        ItemRow {
            items: VecDeque::new(),
            causalities: VecDeque::new(),
        }
    }

    fn new() -> Self {
        ItemRow {
            items: VecDeque::with_capacity(ROW),
            causalities: VecDeque::new(),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    fn push(&mut self, item: T, causalities: Causalities) {
        self.items.push_back(item);
        if !(causalities.is_empty() && self.causalities.is_empty()) {
            self.carry(causalities);
        }
    }

    /// The last item has come with these.
    #[cold]
    fn carry(&mut self, causalities: Causalities) {
        let others = self.items.len() - 1;
        self.causalities.resize_with(others, Causalities::none);
        self.causalities.push_back(causalities);
    }

    #[inline]
    fn pop(&mut self) -> Option<Bare<T>> {
        let item = self.items.pop_front()?;
        let causalities = self.causalities.pop_front();
        Some((item, causalities.unwrap_or_else(Causalities::none)))
    }
}

impl<T> Drop for ItemRow<T> {
    /// An item whose destructor panics does not keep the others.
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && !self.items.is_empty() {
            drop_each(mem::take(&mut self.items));
        }
    }
}

fn count<T>(one: &ItemRow<T>, rows: &VecDeque<ItemRow<T>>) -> usize {
    one.len() + rows.iter().map(ItemRow::len).sum::<usize>()
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use motet_dispatch::Causality;

    /// Whatever the order, each item keeps what it came with.
    #[test]
    fn items_with_and_without_causalities_lie_in_one_row() {
        let carried = |number: usize| match number % 5 {
            2 => Causality::new("fifth").run(Causalities::active),
            _ => Causalities::none(),
        };
        let mut row = ItemRow::new();
        for number in 0..3 {
            row.push(number, carried(number));
        }
        assert_eq!(row.pop().map(|(item, _)| item), Some(0));
        for number in 3..20 {
            row.push(number, carried(number));
        }
        for number in 1..20 {
            let (item, causalities) = row.pop().expect("as many as were pushed");
            assert_eq!(item, number);
            assert_eq!(causalities.is_empty(), number % 5 != 2);
        }
        assert_eq!((row.len(), row.pop().is_none()), (0, true));
        assert!(row.causalities.is_empty());
    }
}
