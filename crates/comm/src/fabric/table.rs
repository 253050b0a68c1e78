//! Ranks of one thread that combine long vectors among themselves, before they meet the others and after it.
//!
//! ```text
//!  thread 0:  0 ─► (0 1) ─► ((0 1)(2 3)) ─┐ a copy   ┌─► total ─► 0, 1, 2, 3
//!  thread 1:  4 ─► (4 5) ─► ((4 5)(6 7)) ─┘ for each └─► total ─► 4, 5, 6, 7
//! ```
//!
//! Whoever comes lays its numbers down, or combines them with those of its other half, which lie there; the last one
//! takes a copy of what has been made along to the meeting. When that has taken place the first to read makes the total
//! of what lies here and what has come from the other thread. So between the cores goes one vector each way, however many
//! ranks there are, and all else stays in a core's own cache.
//!
//! What all have for all is [handed round](parts) in the same way, and exact sums are [added up](sums).
//!
//! The ranks of a table take turns on one thread, so nobody waits for its lock, which is held while the program's
//! operator runs. The room is the table's: what lies here is read by its thread alone, and what came from the other side
//! goes back there filled anew (see `lent.rs`).

mod parts;
mod sums;

use super::order::{Row, Span, fold_rows};
use crate::Plain;
use crate::lent::{Lender, Parcel};
use motet_sync::{CachePadded, Mutex};
use smallvec::SmallVec;
use std::any::Any;

/// The tables of a communicator: one for each worker with ranks of it.
pub(crate) struct Tables {
    /// By worker.
    tables: Box<[CachePadded<Table>]>,
    /// Those that have ranks.
    used: usize,
}

/// The ranks of a communicator that live on one worker.
#[derive(Default)]
pub(crate) struct Table {
    /// In their order.
    members: Vec<usize>,
    /// Those of the other table, if there are two with ranks.
    others: Vec<usize>,
    /// Its number among those that have ranks, and whether there are others.
    side: usize,
    alone: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The meeting that is gathered for, and the ranks that have come.
    meeting: Option<u32>,
    came: usize,
    /// A `Gathered` of the type of the numbers, or what is laid down to be added up exactly, or parts for each.
    gathered: Slot,
    /// The meeting whose total lies here, and the ranks that have not read it.
    laid: Option<u32>,
    to_read: usize,
    /// The total. Apart from what is gathered: the next meeting may have begun while somebody reads it.
    total: Slot,
}

type Slot = Option<Box<dyn Any + Send>>;

/// What neighbours have been combined to.
#[derive(Clone)]
pub(crate) struct Part<T> {
    span: Span,
    numbers: Vec<T>,
}

/// What one side has for the other.
pub(crate) type Packet<T> = Parcel<Part<T>>;

/// What the ranks of a table have brought. All but its room is the meeting's.
struct Gathered<T> {
    parts: Vec<Part<T>>,
    spare: Vec<Vec<T>>,
    /// What came from the other side for the last total that was made here; then nothing is needed of it but the room.
    packet: Option<Packet<T>>,
}

impl Tables {
    /// The tables of ranks that live on these workers.
    pub(super) fn new(homes: impl Iterator<Item = usize>) -> Self {
        let mut tables: Vec<Table> = Vec::new();
        for (rank, home) in homes.enumerate() {
            if tables.len() <= home {
                tables.resize_with(home + 1, Table::default);
            }
            tables[home].members.push(rank);
        }
        let with_ranks = tables.iter_mut().filter(|table| !table.members.is_empty());
        let mut with_ranks: Vec<&mut Table> = with_ranks.collect();
        let used = with_ranks.len();
        for (side, table) in with_ranks.iter_mut().enumerate() {
            (table.side, table.alone) = (side, used == 1);
        }
        if let [one, other] = &mut with_ranks[..] {
            one.others.clone_from(&other.members);
            other.others.clone_from(&one.members);
        }
        Tables {
            used,
            tables: tables.into_iter().map(CachePadded::new).collect(),
        }
    }

    /// How many tables have ranks.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// The table of a worker.
    pub(crate) fn of(&self, home: usize) -> &Table {
        &self.tables[home]
    }
}

impl Table {
    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.members.len()
    }

    /// Which side of two it is.
    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// A rank of `all` has come to a meeting with its numbers. The last one gets what all here have brought, for the
    /// other side.
    pub(crate) fn gather<T: Plain>(
        &self,
        meeting: u32,
        (rank, all): (usize, usize),
        numbers: &[T],
        op: &impl Fn(T, T) -> T,
    ) -> Option<Packet<T>> {
        let mut state = self.state.lock();
        let came = state.count_in(meeting);
        let (anew, last) = (came == 1, came == self.ranks());
        let gathered: &mut Gathered<T> = of_type(&mut state.gathered);
        if anew {
            // The last meeting may have failed.
            gathered.clear();
        }
        if last && !self.alone {
            // Its last part is copied block by block, while it is combined.
            let mut packet = gathered.packet.take().unwrap_or_default();
            let mut copy = packet.pop().map_or_else(Vec::new, |part| part.numbers);
            copy.clear();
            let keep = |block: &[T]| copy.extend_from_slice(block);
            gathered.add((Span::of(rank), all), numbers, op, keep);
            gathered.pack(&mut packet, copy);
            return Some(packet);
        }
        gathered.add((Span::of(rank), all), numbers, op, |_| ());
        None
    }

    /// Whether a rank here has made the total of this meeting.
    pub(crate) fn has_total(&self, meeting: u32) -> bool {
        self.state.lock().laid == Some(meeting)
    }

    /// A rank reads the total of a meeting that has taken place. The first one makes it of what lies here and of what
    /// has come from the other side, if there is one.
    pub(crate) fn read<T: Plain>(
        &self,
        meeting: u32,
        (all, came): (usize, Option<Packet<T>>),
        totals: &mut [T],
        op: &impl Fn(T, T) -> T,
    ) {
        let mut state = self.state.lock();
        let State {
            gathered,
            laid,
            to_read,
            total,
            ..
        } = &mut *state;
        let long = size_of_val(totals) > Lender::LONGEST;
        if *laid == Some(meeting) {
            totals.copy_from_slice(of_type::<Vec<T>>(total));
        } else {
            let gathered: &mut Gathered<T> = of_type(gathered);
            let total: &mut Vec<T> = of_type(total);
            if came.is_some() {
                gathered.packet = came;
            }
            total.clear();
            // Should the operator panic, all is left for the next one to read.
            gathered.fold(all, totals, op, |block| total.extend_from_slice(block));
            gathered.clear();
            *laid = Some(meeting);
            *to_read = self.ranks();
            if long {
                *gathered = Gathered::default();
            }
        }
        *to_read -= 1;
        if *to_read == 0 && long {
            *total = None;
        }
    }
}

impl State {
    /// One more has come to a meeting; how many have.
    fn count_in(&mut self, meeting: u32) -> usize {
        if self.meeting.replace(meeting) != Some(meeting) {
            self.came = 0;
        }
        self.came += 1;
        self.came
    }
}

/// What the slot holds; if that is of another type, something new.
fn of_type<R: Any + Send + Default>(slot: &mut Slot) -> &mut R {
    if !slot.as_deref().is_some_and(|held| held.is::<R>()) {
        *slot = Some(Box::new(R::default()));
    }
    let held = slot.as_deref_mut().and_then(<dyn Any + Send>::downcast_mut);
    held.expect("it is of this type")
}

impl<T: Plain> Gathered<T> {
    /// Forgets what was brought.
    fn clear(&mut self) {
        self.spare
            .extend(self.parts.drain(..).map(|part| part.numbers));
    }

    /// Adds what a rank has brought to its other half, or keeps it until that comes.
    /// `done` gets the blocks of what it becomes.
    fn add(
        &mut self,
        (rank, all): (Span, usize),
        numbers: &[T],
        op: &impl Fn(T, T) -> T,
        mut done: impl FnMut(&[T]),
    ) {
        let (mut span, all) = (rank, u32::try_from(all).unwrap_or(u32::MAX));
        // The halves that it completes, from the smallest on; and whether each stands before what it is combined with.
        let mut halves: SmallVec<[(Part<T>, bool); 4]> = SmallVec::new();
        while let Some((at, whole, before)) = self.other_half(span, all) {
            halves.push((self.parts.swap_remove(at), before));
            span = whole;
        }
        let numbers = match halves.split_first_mut() {
            None => {
                let mut room = self.spare.pop().unwrap_or_default();
                room.clear();
                room.extend_from_slice(numbers);
                done(&room);
                room
            }
            Some(((first, before), others)) => {
                let mut begin = 0;
                for room in first.numbers.chunks_mut(super::order::BLOCK) {
                    combine(room, &numbers[begin.min(numbers.len())..], *before, op);
                    for (other, before) in &*others {
                        let other = &other.numbers[begin.min(other.numbers.len())..];
                        combine(room, other, !*before, op);
                    }
                    done(room);
                    begin += room.len();
                }
                let mut rooms = halves.into_iter().map(|(part, _)| part.numbers);
                let room = rooms.next().unwrap_or_default();
                self.spare.extend(rooms);
                room
            }
        };
        self.parts.push(Part { span, numbers });
    }

    /// Where the other half of this one's branch lies, the branch, and whether it stands before this one.
    fn other_half(&self, span: Span, all: u32) -> Option<(usize, Span, bool)> {
        let parts = self.parts.iter().enumerate();
        parts
            .filter_map(|(at, part)| {
                let before = part.span.join(span, all).map(|whole| (at, whole, true));
                before.or_else(|| Some((at, span.join(part.span, all)?, false)))
            })
            .next()
    }

    /// Makes the packet a copy of what was brought, whose last part has been copied.
    fn pack(&self, packet: &mut Packet<T>, copy: Vec<T>) {
        if let Some((last, parts)) = self.parts.split_last() {
            packet.truncate(parts.len());
            for (copy, part) in packet.iter_mut().zip(parts) {
                copy.span = part.span;
                copy.numbers.clear();
                copy.numbers.extend_from_slice(&part.numbers);
            }
            packet.extend_from_slice(&parts[packet.len()..]);
            packet.push(Part {
                span: last.span,
                numbers: copy,
            });
        }
    }

    /// Combines what lies here and what has come, block by block.
    fn fold(&self, all: usize, totals: &mut [T], op: &impl Fn(T, T) -> T, done: impl FnMut(&[T])) {
        let others = self.packet.as_deref().map_or(&[][..], Vec::as_slice);
        let parts = self.parts.iter().chain(others);
        let rows = parts.map(|part| (part.span.first as usize, &part.numbers[..]));
        let mut rows: SmallVec<[Row<'_, T>; 4]> = rows.collect();
        rows.sort_unstable_by_key(|row| row.0);
        fold_rows(&rows, all, totals, op, done);
    }
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Gathered {
            parts: Vec::new(),
            spare: Vec::new(),
            packet: None,
        }
    }
}

/// Combines the numbers in the room with others, which stand behind them, or before.
fn combine<T: Copy>(room: &mut [T], others: &[T], behind: bool, op: &impl Fn(T, T) -> T) {
    let pairs = room.iter_mut().zip(others);
    if behind {
        pairs.for_each(|(mine, theirs)| *mine = op(*mine, *theirs));
    } else {
        pairs.for_each(|(mine, theirs)| *mine = op(*theirs, *mine));
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::lent::Swap;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn op(a: f64, b: f64) -> f64 {
        a - b * 0.5
    }

    fn of(rank: usize) -> Vec<f64> {
        (0..700).map(|i| (rank * 3 + i) as f64).collect()
    }

    /// A meeting of ranks that come and read in this order; rank `r` lives on worker `r * 2 / ranks`.
    fn meet(tables: &Tables, number: u32, order: &[usize]) -> Vec<f64> {
        let (all, home) = (order.len(), |rank: usize| rank * 2 / order.len());
        let mut swap = Swap::empty();
        for &rank in order {
            let table = tables.of(home(rank));
            let packet = table.gather(number, (rank, all), &of(rank), &op);
            swap = swap.join(packet.map_or_else(Swap::empty, |p| Swap::of(table.side(), p)));
        }
        let swapped = swap.lay();
        let mut totals = order.iter().map(|&rank| {
            let (table, mut totals) = (tables.of(home(rank)), vec![0.0; 700]);
            let came = (!table.has_total(number)).then(|| swapped.pick(table.side()));
            table.read(number, (all, came.flatten()), &mut totals, &op);
            totals
        });
        let first = totals.next().expect("there is a rank");
        assert!(totals.all(|totals| totals == first), "{order:?}");
        first
    }

    #[test]
    fn whoever_comes_first_the_total_is_that_of_pairs() {
        for all in [3, 4, 5, 6, 7, 8, 11] {
            let tables = Tables::new((0..all).map(|rank| rank * 2 / all));
            let pairs = |one: Vec<f64>, other: Vec<f64>| {
                one.iter().zip(&other).map(|(a, b)| op(*a, *b)).collect()
            };
            let expected = super::super::order::combined((0..all).map(of).collect(), pairs);
            let expected = expected.expect("there is a rank");
            let mut order: Vec<usize> = (0..all).collect();
            for number in 1..40 {
                order.swap(number % all, number * 7 % all);
                if number % 5 == 0 {
                    // A meeting that failed: only some have come.
                    let rank = order[0];
                    let table = tables.of(rank * 2 / all);
                    table.gather(number as u32 + 100, (rank, all), &[1_u8; 9], &u8::max);
                    table.gather(number as u32 + 200, (rank, all), &[1.0; 9], &op);
                }
                assert_eq!(meet(&tables, number as u32, &order), expected, "{order:?}");
            }
        }
    }

    #[test]
    fn an_operator_that_panics_takes_nothing_from_the_others() {
        let tables = Tables::new([0, 0, 1, 1].into_iter());
        let expected = meet(&tables, 1, &[0, 1, 2, 3]);
        let gather = |rank: usize| {
            let table = tables.of(rank / 2);
            let packet = table.gather(2, (rank, 4), &of(rank), &op);
            packet.map_or_else(Swap::empty, |packet| Swap::of(table.side(), packet))
        };
        let swapped = (0..4).map(gather).reduce(Swap::join).expect("four").lay();
        let read = |op: &dyn Fn(f64, f64) -> f64| {
            let (table, mut totals) = (tables.of(0), vec![0.0; 700]);
            let came = (!table.has_total(2)).then(|| swapped.pick(0)).flatten();
            table.read(2, (4, came), &mut totals, &op);
            totals
        };
        let calls = Cell::new(0);
        let fails = |a, b| {
            calls.set(calls.get() + 1);
            assert!(calls.get() < 600, "in the second block");
            op(a, b)
        };
        let failed = catch_unwind(AssertUnwindSafe(|| read(&fails)));
        assert!(failed.is_err());
        assert_eq!(read(&op), expected);
        assert_eq!(read(&op), expected);
    }

    #[test]
    fn room_is_used_again() {
        let tables = Tables::new([0, 3, 3].into_iter());
        let third = tables.of(3);
        assert_eq!((tables.used(), third.side(), third.ranks()), (2, 1, 2));
        let tables = Tables::new([0, 0, 1, 1].into_iter());
        let rooms = || {
            let mut state = tables.of(0).state.lock();
            let gathered: &mut Gathered<f64> = of_type(&mut state.gathered);
            let packet = gathered.packet.as_ref().expect("one has come");
            let mut rooms = vec![packet[0].numbers.as_ptr()];
            rooms.extend(gathered.spare.iter().map(|room| room.as_ptr()));
            rooms.sort_unstable();
            rooms
        };
        let seen = (1..9).map(|number| {
            meet(&tables, number, &[0, 1, 2, 3]);
            rooms()
        });
        // Two packets take turns, and the room of the table stays.
        let seen: Vec<_> = seen.collect();
        assert_eq!((&seen[0], &seen[5]), (&seen[2], &seen[7]));
    }
}
