//! Long vectors that the ranks of each thread combine among themselves first.

use super::allreduce::same_length;
use crate::fabric::{Call, Packet, Part, Place, Table};
use crate::lent::{Parcels, Swap, Swapped};
use crate::meet::Meet;
use crate::pending::{Pending, Whys};
use crate::profile::Called;
use crate::{CommError, Communicator, Local, Plain};

impl Communicator {
    /// This rank's table, if vectors of so many elements are combined at tables: there are one or two of them.
    ///
    /// Two exchange what they have made, which is as much as each its share, and meet once.
    pub(super) fn table<T: Plain>(&self, length: usize) -> Option<&Table> {
        let (fabric, team) = (self.fabric(), self.team());
        let home = fabric.home(fabric.world_rank())?;
        let is_tree = matches!(team.place(), Some(Place::Tree(_)));
        if !is_tree || self.size() <= 2 || !Parcels::<T>::are_worth(length) {
            return None;
        }
        let tables = team.tables(|rank| fabric.home(rank).unwrap_or_default());
        (tables.used() <= 2).then(|| tables.of(home))
    }

    /// Combines the numbers of all ranks, place by place, into `totals` of every rank.
    pub(super) fn combined_at_table<'c, T: Plain>(
        &'c self,
        table: &'c Table,
        call: Call,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Pending<Output = Result<(), CommError>> {
        let call = call.length(numbers.len());
        let value = same_length(call.name(), numbers.len(), totals.len());
        let value = value.map(|()| Local(Swap::empty()));
        let join = |Local(one): Brought<T>, Local(other): Brought<T>| Local(one.join(other));
        let lay = |Local(swap): Brought<T>| swap.lay();
        let read = move |swapped: &Swapped<Part<T>>| {
            let is_first = !table.has_total(self.meeting());
            Ok(is_first.then(|| swapped.pick(table.side())).flatten())
        };
        let meet = Meet::new(self, call, value, join, lay, read);
        let came = false;
        AtTable {
            comm: self,
            table,
            numbers,
            totals,
            op,
            meet,
            came,
        }
    }
}

/// What the last rank of a table brings to the meeting; the others bring nothing.
type Brought<T> = Local<Swap<Part<T>>>;

/// A rank combines its numbers with those at its table, meets the others, and reads the total at its table.
struct AtTable<'c, 'n, T, O, C, F, R> {
    comm: &'c Communicator,
    table: &'c Table,
    numbers: &'n [T],
    totals: &'c mut [T],
    op: O,
    meet: Meet<'c, Brought<T>, C, F, R>,
    came: bool,
}

impl<T, O, C, F, R> Pending for AtTable<'_, '_, T, O, C, F, R>
where
    T: Plain,
    O: Fn(T, T) -> T,
    C: Fn(Brought<T>, Brought<T>) -> Brought<T>,
    F: FnOnce(Brought<T>) -> Swapped<Part<T>>,
    R: FnOnce(&Swapped<Part<T>>) -> Result<Option<Packet<T>>, CommError>,
{
    type Output = Result<(), CommError>;

    #[inline]
    fn look(&mut self) -> Option<Result<(), CommError>> {
        let (comm, table, op) = (self.comm, self.table, &self.op);
        if !self.came {
            self.came = true;
            let numbers = self.numbers;
            self.meet.begin_with(|empty| {
                let ranks = (comm.rank(), comm.size());
                let packet = table.gather(comm.meeting(), ranks, numbers, op);
                packet.map_or(empty, |packet| Local(Swap::of(table.side(), packet)))
            });
        }
        let read = |came| table.read(comm.meeting(), (comm.size(), came), self.totals, op);
        Some(self.meet.look()?.map(read))
    }

    fn why(&self) -> Whys {
        self.meet.why()
    }

    fn called(&self) -> Option<Called> {
        self.meet.called()
    }
}
