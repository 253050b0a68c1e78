//! Long vectors that the ranks of each thread combine among themselves first.

use super::allreduce::same_length;
use super::shelf::append;
use crate::exact_sum::{ColumnSums, Real, add_columns};
use crate::fabric::{Call, Packet, Part, Place, Table};
use crate::lent::{Parcel, Parcels, Swap, Swapped};
use crate::meet::Meet;
use crate::pending::{Either, Pending, Then, Whys};
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
        let fine = same_length(call.name(), numbers.len(), totals.len());
        let turn = Combine {
            ranks: (self.rank(), self.size()),
            numbers,
            totals,
            op,
        };
        self.at_table(table, call.length(numbers.len()), fine, turn)
    }

    /// Adds up the numbers of all ranks exactly, place by place, into `totals` of every rank.
    pub(super) fn added_up_at_table<'c, T: Real>(
        &'c self,
        table: &'c Table,
        call: Call,
        numbers: &[T],
        totals: &'c mut [T],
    ) -> impl Pending<Output = Result<(), CommError>> {
        let fine = same_length(call.name(), numbers.len(), totals.len());
        let turn = AddUp { numbers, totals };
        let first = self.at_table(table, call.length(numbers.len()), fine, turn);
        Then::new(
            first,
            move |(uncertain, totals): (Vec<usize>, &'c mut [T])| {
                // All ranks know the same columns, and bring what they have there.
                if uncertain.is_empty() {
                    return Either::One(());
                }
                {
                    let mine = uncertain.iter().map(|&column| numbers[column]).collect();
                    let finish = |rows: Vec<Vec<T>>| {
                        let mut settled = rows[0].clone();
                        add_columns(&rows, &mut settled);
                        settled
                    };
                    let read = move |settled: &Vec<T>| {
                        for (column, total) in uncertain.iter().zip(settled) {
                            totals[*column] = *total;
                        }
                        Ok(())
                    };
                    let call = call.length(numbers.len());
                    Either::Other(Meet::new(self, call, Ok(vec![mine]), append, finish, read))
                }
            },
        )
    }

    /// Brings each rank what all have for it, `each` numbers of each, if they can be cut so.
    pub(super) fn handed_round_at_table<'c, T: Plain>(
        &'c self,
        table: &'c Table,
        call: Call,
        each: Result<usize, CommError>,
        numbers: &[T],
        came: &'c mut [T],
    ) -> impl Pending<Output = Result<(), CommError>> {
        let turn = HandRound {
            rank: self.rank(),
            name: call.name(),
            numbers,
            came,
        };
        self.at_table(table, call.length(numbers.len()), each.map(|_| ()), turn)
    }

    /// Meets as this turn has it.
    fn at_table<'c, U: Turn>(
        &'c self,
        table: &'c Table,
        call: Call,
        fine: Result<(), CommError>,
        turn: U,
    ) -> impl Pending<Output = Result<U::Outcome, CommError>> {
        let value = fine.map(|()| Local(Swap::empty()));
        let join = |Local(one): Brought<U>, Local(other): Brought<U>| Local(one.join(other));
        let lay = |Local(swap): Brought<U>| swap.lay();
        let read = move |swapped: &Swapped<U::Part>| {
            let is_first = !table.has_total(self.meeting());
            Ok(is_first.then(|| swapped.pick(table.side())).flatten())
        };
        let meet = Meet::new(self, call, value, join, lay, read);
        AtTable {
            comm: self,
            table,
            meet,
            turn: Some(turn),
            came: false,
        }
    }
}

/// What a rank does at its table before and after the meeting.
trait Turn {
    /// What one side has for the other.
    type Part: Send + 'static;
    type Outcome;

    /// Lays down what the rank brings. The last one gets what all at the table have.
    fn gather(&self, table: &Table, meeting: u32) -> Option<Parcel<Self::Part>>;

    /// Reads the total. The first one makes it of what has come from the other side.
    fn read(
        self,
        table: &Table,
        meeting: u32,
        came: Option<Parcel<Self::Part>>,
    ) -> Result<Self::Outcome, CommError>;
}

struct Combine<'c, 'n, T, O> {
    /// This one, and how many there are.
    ranks: (usize, usize),
    numbers: &'n [T],
    totals: &'c mut [T],
    op: O,
}

impl<T: Plain, O: Fn(T, T) -> T> Turn for Combine<'_, '_, T, O> {
    type Part = Part<T>;
    type Outcome = ();

    fn gather(&self, table: &Table, meeting: u32) -> Option<Packet<T>> {
        table.gather(meeting, self.ranks, self.numbers, &self.op)
    }

    fn read(self, table: &Table, meeting: u32, came: Option<Packet<T>>) -> Result<(), CommError> {
        let (_, all) = self.ranks;
        table.read(meeting, (all, came), self.totals, &self.op);
        Ok(())
    }
}

struct AddUp<'c, 'n, T> {
    numbers: &'n [T],
    totals: &'c mut [T],
}

impl<'c, T: Real> Turn for AddUp<'c, '_, T> {
    type Part = ColumnSums;
    type Outcome = (Vec<usize>, &'c mut [T]);

    fn gather(&self, table: &Table, meeting: u32) -> Option<Parcel<ColumnSums>> {
        table.gather_sums(meeting, self.numbers)
    }

    fn read(
        self,
        table: &Table,
        meeting: u32,
        came: Option<Parcel<ColumnSums>>,
    ) -> Result<Self::Outcome, CommError> {
        let uncertain = table.read_sums(meeting, came, self.totals);
        Ok((uncertain, self.totals))
    }
}

struct HandRound<'c, 'n, T> {
    rank: usize,
    name: &'static str,
    numbers: &'n [T],
    came: &'c mut [T],
}

impl<T: Plain> Turn for HandRound<'_, '_, T> {
    type Part = T;
    type Outcome = ();

    fn gather(&self, table: &Table, meeting: u32) -> Option<Parcel<T>> {
        table.gather_parts(meeting, self.rank, self.numbers)
    }

    fn read(self, table: &Table, meeting: u32, came: Option<Parcel<T>>) -> Result<(), CommError> {
        // What has come is for all at the table: one that has no room for it takes its turn all the same.
        let fits = same_length(self.name, self.numbers.len(), self.came.len());
        let mut other = fits.is_err().then(|| self.numbers.to_vec());
        let into = other.as_deref_mut().unwrap_or(self.came);
        table.read_parts(meeting, (self.rank, came), self.numbers, into);
        fits
    }
}

/// What the last rank of a table brings to the meeting; the others bring nothing.
type Brought<U> = Local<Swap<<U as Turn>::Part>>;

/// A rank has its turn at its table, meets the others, and reads the total at its table.
struct AtTable<'c, U: Turn, C, F, R> {
    comm: &'c Communicator,
    table: &'c Table,
    meet: Meet<'c, Brought<U>, C, F, R>,
    turn: Option<U>,
    came: bool,
}

impl<U, C, F, R> Pending for AtTable<'_, U, C, F, R>
where
    U: Turn,
    C: Fn(Brought<U>, Brought<U>) -> Brought<U>,
    F: FnOnce(Brought<U>) -> Swapped<U::Part>,
    R: FnOnce(&Swapped<U::Part>) -> Result<Option<Parcel<U::Part>>, CommError>,
{
    type Output = Result<U::Outcome, CommError>;

    #[inline]
    fn look(&mut self) -> Option<Result<U::Outcome, CommError>> {
        let (comm, table) = (self.comm, self.table);
        if !self.came {
            self.came = true;
            let turn = self.turn.as_ref()?;
            self.meet.begin_with(|empty| {
                let parcel = turn.gather(table, comm.meeting());
                parcel.map_or(empty, |parcel| Local(Swap::of(table.side(), parcel)))
            });
        }
        let came = self.meet.look()?;
        let turn = self.turn.take()?;
        Some(came.and_then(|came| turn.read(table, comm.meeting(), came)))
    }

    fn why(&self) -> Whys {
        self.meet.why()
    }

    fn called(&self) -> Option<Called> {
        self.meet.called()
    }
}
