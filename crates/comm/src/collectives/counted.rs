//! Slices that ranks gather, scatter or give to all, of lengths that not all ranks know. Each rank
//! brings the lengths of what it has for whom. It brings the numbers with them if they are few or
//! all ranks share memory. What is long goes from rank to rank [afterwards](crate::exchange), when
//! all know how much comes from where.

use super::rank_parts::{append, copy};
use crate::buffer_pool::SharedBuffer;
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange, same_length};
use crate::fabric::RankCall;
use crate::pending::{Either, Giving, PendingCall, Then};
use crate::schedule::ExchangeSchedule;
use crate::{CommError, Communicator, Plain};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Who has numbers for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ways {
    /// Each rank for the root.
    Gather(usize),
    /// Each rank the same for all.
    Allgather,
    /// The root for each rank.
    Scatter(usize),
    /// Each rank for each.
    Alltoall,
}

/// What one rank has.
#[derive(Serialize, Deserialize)]
struct Brought<T> {
    /// Where the part of each rank ends among its numbers: one end, where all get the same.
    ends: Vec<usize>,
    /// `None`: they are long, and go afterwards.
    numbers: Option<SharedBuffer<T>>,
}

/// What a rank has read: the room, the schedule of what goes afterwards, and what has come from
/// each rank.
type Read<'c, T> = (&'c mut [T], Option<ExchangeSchedule>, Vec<usize>);

impl Ways {
    /// What a rank with these ends has for another, among its numbers.
    fn part(self, ends: &[usize], of: usize, to: usize) -> Range<usize> {
        let gives = match self {
            Ways::Gather(root) => to == root,
            Ways::Scatter(root) => of == root,
            Ways::Allgather | Ways::Alltoall => true,
        };
        let at = if ends.len() == 1 { 0 } else { to };
        match ends.get(at) {
            Some(&end) if gives => at.checked_sub(1).map_or(0, |before| ends[before])..end,
            _ => 0..0,
        }
    }
}

impl Communicator {
    /// The call that brings these numbers and puts what comes into the room, in rank order. `ends`
    /// says where the numbers for each rank end. `give` makes the result of how much has come from
    /// each.
    pub(super) fn counted_call<'n, 'c, T: Plain, R: 'c, G: FnOnce(Vec<usize>) -> R + 'c>(
        &'c self,
        way: (RankCall, Ways),
        ends: Result<Vec<usize>, CommError>,
        (numbers, room): (&'n [T], &'c mut [T]),
        give: G,
    ) -> CollectiveCall<impl Startable<'c, Given = R> + use<'n, 'c, T, R, G>> {
        TwoWays::new(
            self.wait_site(),
            (ends, numbers, room, give),
            move |(ends, numbers, room, give)| self.counted(way, ends, numbers, room, give),
            move |(ends, numbers, room, give)| {
                let meet = self.counted_at_once(way, ends, numbers, room, give);
                meet.started()
            },
        )
    }

    /// What is awaited.
    fn counted<'n, 'c, T: Plain, R, G: FnOnce(Vec<usize>) -> R + 'c>(
        &'c self,
        (call, ways): (RankCall, Ways),
        ends: Result<Vec<usize>, CommError>,
        numbers: &'n [T],
        room: &'c mut [T],
        give: G,
    ) -> impl PendingCall<Output = Result<R, CommError>> + use<'n, 'c, T, R, G> {
        let is_long = self.exchanges::<T>(numbers.len());
        let value = ends.map(|ends| self.brought(ends, numbers, is_long));
        let read = self.reading(call.name(), ways, is_long, room);
        let first = CollectivePart::new(self, call, value, append, |rows| rows, read);
        Then::new(first, move |(room, schedule, counts): Read<'c, T>| {
            let Some(schedule) = schedule else {
                return Either::One(give(counts));
            };
            let numbers = if is_long { numbers } else { &[] };
            let both = (numbers, ExchangeBuffer::There(room));
            let exchange = SliceExchange::new(self, call, Ok(schedule), both, |mine, _| mine);
            Either::Other(Giving::new(exchange, give(counts)))
        })
    }

    /// The same with all at once: what is short, or started.
    pub(super) fn counted_at_once<'c, T: Plain, R: 'c, G: FnOnce(Vec<usize>) -> R + 'c>(
        &'c self,
        (call, ways): (RankCall, Ways),
        ends: Result<Vec<usize>, CommError>,
        numbers: &[T],
        room: &'c mut [T],
        give: G,
    ) -> impl Collective<'c, R> + use<'c, T, R, G> {
        let value = ends.map(|ends| self.brought(ends, numbers, false));
        let read = self.reading(call.name(), ways, false, room);
        let read = move |rows: &Vec<Brought<T>>| read(rows).map(|(_, _, counts)| give(counts));
        CollectivePart::new(self, call, value, append, |rows| rows, read)
    }

    fn brought<T: Plain>(&self, ends: Vec<usize>, numbers: &[T], is_long: bool) -> Vec<Brought<T>> {
        let numbers = (!is_long).then(|| self.buffer_pool().copy_in(numbers));
        vec![Brought { ends, numbers }]
    }

    /// Copies what has come, and says what comes afterwards.
    fn reading<'c, T: Plain>(
        &'c self,
        name: &'static str,
        ways: Ways,
        is_long: bool,
        room: &'c mut [T],
    ) -> impl FnOnce(&Vec<Brought<T>>) -> Result<Read<'c, T>, CommError> + use<'c, T> {
        let own = self.rank();
        move |rows| {
            let part = |of: usize, to| ways.part(&rows[of].ends, of, to);
            let counts: Vec<usize> = (0..rows.len()).map(|of| part(of, own).len()).collect();
            let mut places = Vec::with_capacity(rows.len());
            let mut end = 0;
            for count in &counts {
                places.push(end..end + count);
                end += count;
            }
            // Who only gives may pass any room.
            let room = if end == 0 { &mut room[..0] } else { room };
            let is_there = |of: usize| rows[of].numbers.is_some();
            let all_there = (0..rows.len()).all(is_there);
            if all_there {
                same_length(name, end, room.len())?;
            }
            // What goes afterwards needs this rank. It is told there that its room is wrong.
            let fits = end == room.len();
            for (of, row) in rows.iter().enumerate() {
                if let Some(numbers) = row.numbers.as_ref().filter(|_| fits) {
                    copy(name, &numbers[part(of, own)], &mut room[places[of].clone()])?;
                }
            }
            if all_there {
                return Ok((room, None, told(ways, rows, counts)));
            }
            let gives = |to| if is_long { part(own, to) } else { 0..0 };
            let comes = |of: usize| match is_there(of) {
                true => places[of].start..places[of].start,
                false => places[of].clone(),
            };
            let mut schedule = ExchangeSchedule::alltoall((own, rows.len()), gives, comes);
            schedule.room = end;
            Ok((room, Some(schedule), told(ways, rows, counts)))
        }
    }
}

/// How much each rank has brought, as the call tells it: of what is gathered, to all.
fn told<T>(ways: Ways, rows: &[Brought<T>], counts: Vec<usize>) -> Vec<usize> {
    match ways {
        Ways::Gather(_) => rows.iter().map(|row| row.ends[0]).collect(),
        _ => counts,
    }
}
