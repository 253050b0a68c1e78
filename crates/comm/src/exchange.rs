//! Long slices between ranks that do not all live in one process. The ranks come to a collective,
//! which tells them whether all have called the same. Their numbers go beside it by a
//! [schedule](crate::schedule), from where they lie to where they are used.
//!
//! ```text
//!  numbers ──► transport ──► rows ──► combined ──► room ──► transport ──► room
//!          └─────────────────────────────────────► room
//! ```
//!
//! What a rank gives of its own is borrowed as long as it is on its way. Where the rank sleeps it
//! is woken to send more. Where it drops its call the rest is copied and goes on without it. What
//! it is to combine or to pass on does not: who waits for that is told.

mod counts;
mod exchange_buffer;
mod windows;

pub(crate) use exchange_buffer::ExchangeBuffer;

use crate::collective_part::CollectivePart;
use crate::fabric::{Beside, FOLDED, MeetingPoint, RankCall, RankRow, fold_rows};
use crate::non_temporal::copy_piece;
use crate::pending::{PendingCall, Whys};
use crate::profile::Called;
use crate::schedule::{ExchangeSchedule, ReceiveStep, SendFrom};
use crate::{CommError, Communicator, Plain};
use smallvec::SmallVec;
use std::any::type_name;
use std::cell::RefCell;
use std::ops::Range;
use windows::Windows;

/// The collective, to which nothing is brought.
type Agreed<'c> = CollectivePart<'c, (), fn((), ()), fn(()), fn(&()) -> Result<(), CommError>>;

/// One rank's part in a collective of long slices.
pub(crate) struct SliceExchange<'n, 'c, T: Plain, O> {
    comm: &'c Communicator,
    name: &'static str,
    meet: Agreed<'c>,
    /// Since the rank has come.
    way: Option<Beside<'c>>,
    /// The ranks have called the same.
    agreed: bool,
    numbers: &'n [T],
    room: ExchangeBuffer<'c, T>,
    /// What other ranks have for the share that is combined here, rank by rank without this one.
    rows: Windows<T>,
    schedule: ExchangeSchedule,
    /// Bytes that have gone of each send.
    gone: RefCell<Vec<usize>>,
    /// Bytes that have come of each receive.
    came: Vec<usize>,
    /// So many elements of the share that this rank makes are there.
    made: usize,
    op: O,
}

/// Shorter slices, in bytes, are brought to the collective: that is one message.
const LEAST: usize = 8 * 1024;

/// So many bytes go to each rank before it is known that all have called the same.
const EAGER: usize = 64 * 1024;

/// So many looks in a row that find nothing while the other ranks are at it.
const PATIENCE: u32 = 200;

/// So many pieces of a rank are read before others are sent.
const AT_ONCE: usize = 8;

/// In so many turns of which all bring something messages of others are looked for once.
const TURNS: u32 = 16;

/// Bytes that go at once: so much room a row has before more of it is taken.
const PIECE: usize = 32 * 1024;

impl Communicator {
    /// Whether slices of so many elements go beside the collectives of this communicator.
    pub(crate) fn exchanges<T>(&self, length: usize) -> bool {
        let spans_processes = matches!(self.team().place(), Some(MeetingPoint::ProcessLevel(_)));
        self.size() > 1 && spans_processes && length * size_of::<T>() >= LEAST
    }

    /// Whether each of its ranks lives in a process of its own.
    pub(crate) fn is_spread(&self) -> bool {
        match self.team().place() {
            Some(MeetingPoint::ProcessLevel(process_level)) => process_level.is_spread(),
            _ => false,
        }
    }
}

impl<'n, 'c, T: Plain, O: Fn(T, T) -> T> SliceExchange<'n, 'c, T, O> {
    /// A call in which ranks send each other these numbers, or those in the room, by a schedule
    /// that `fine` gives. They combine the numbers by `op` if the schedule says so. All ranks of
    /// the communicator [exchange](Communicator::exchanges) them.
    pub(crate) fn new(
        comm: &'c Communicator,
        call: RankCall,
        fine: Result<ExchangeSchedule, CommError>,
        (numbers, room): (&'n [T], ExchangeBuffer<'c, T>),
        op: O,
    ) -> Self {
        let (schedule, fine) = match fine {
            Ok(schedule) => (schedule, Ok(())),
            Err(refused) => (ExchangeSchedule::default(), Err(refused)),
        };
        SliceExchange {
            comm,
            name: call.name(),
            meet: CollectivePart::new(comm, call, fine, |(), ()| (), |()| (), |()| Ok(())),
            way: None,
            agreed: false,
            numbers,
            room,
            rows: Windows::none(),
            gone: RefCell::new(vec![0; schedule.sends.len()]),
            came: vec![0; schedule.receives.len()],
            schedule,
            made: 0,
            op,
        }
    }

    fn begin(&mut self) {
        let place = self.comm.team().place();
        if let (Some(collective), Some(MeetingPoint::ProcessLevel(process_level))) =
            (self.meet.begin(), place)
        {
            let own = self.comm.team().world_rank(self.comm.rank());
            self.way = Some(process_level.beside(collective, own));
        }
    }

    /// Whether all ranks have called the same, when that is known.
    fn agree(&mut self) -> Option<Result<(), CommError>> {
        if self.agreed {
            return Some(Ok(()));
        }
        if let Err(failed) = self.meet.look()? {
            // The others want none of it, and this rank nothing of theirs.
            self.way.take().iter().for_each(Beside::leave);
            return Some(Err(failed));
        }
        let fits = same_length(self.name, self.schedule.room, self.room.len());
        if fits.is_err() {
            self.leave(true);
            self.way = None;
            return Some(fits);
        }
        self.agreed = true;
        if let Some(way) = self.way {
            way.reads(true);
        }
        self.comm.stay_in_collective();
        if let Some((kept, to)) = &self.schedule.kept {
            self.room[*to..][..kept.len()].copy_from_slice(&self.numbers[kept.clone()]);
        }
        if self.schedule.rows > 0 {
            let (others, length) = (self.schedule.rows - 1, self.schedule.made.len());
            self.rows = Windows::new(self.comm.buffer_pool(), others, length);
        }
        Some(Ok(()))
    }

    /// Sends on; whether anything has gone. What this rank has made goes behind all of its own
    /// numbers: a peer knows by the order what is what.
    fn send(&self, way: Beside<'_>) -> bool {
        let (mut any, mut own_gone) = (false, true);
        let mut gone = self.gone.borrow_mut();
        for (send, gone) in self.schedule.sends.iter().zip(gone.iter_mut()) {
            if send.from == SendFrom::Made && !own_gone {
                break;
            }
            let all = self.bytes_of(send, self.made);
            let most = if self.agreed { all.len() } else { EAGER };
            let rest = &all[*gone..all.len().min(most).max(*gone)];
            for piece in rest.chunks(PIECE) {
                let went = way.send(self.comm.team().world_rank(send.peer), piece);
                *gone += went;
                any |= went > 0;
                if went < piece.len() {
                    break;
                }
            }
            own_gone &= send.from == SendFrom::Made || *gone == all.len();
        }
        any
    }

    /// Takes what has come; whether that was anything.
    fn take(&mut self, way: Beside<'_>) -> Result<bool, CommError> {
        let (mut any, mut whole, mut left) = (false, true, false);
        let receives = &self.schedule.receives;
        let is_in = |at: usize, came: &[usize]| came[at] == length_of::<T>(&receives[at]);
        let (own, combined) = (self.comm.rank(), self.made);
        let rows = &mut self.rows;
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut self.room);
        let length = room.len();
        for (at, receive) in receives.iter().enumerate() {
            if receive
                .after
                .is_some_and(|before| !is_in(before, &self.came))
            {
                continue;
            }
            let to = &mut room[bytes::<T>(receive.place.clone())];
            let peer = self.comm.team().world_rank(receive.peer);
            // A few at a time: there is room for others then.
            for _ in 0..AT_ONCE {
                let mut came = self.came[at];
                if is_in(at, &self.came)
                    || receive.is_row && rows.free(came, combined) < PIECE.min(to.len() - came)
                {
                    break;
                }
                let mut put = |piece: &[u8]| match to.get_mut(came..came + piece.len()) {
                    Some([]) => left = true,
                    Some(place) => {
                        match receive.is_row {
                            true => rows.put(row_of(receive.peer, own), came, piece),
                            false => copy_piece(piece, place, length),
                        }
                        came += piece.len();
                    }
                    None => whole = false,
                };
                if !way.read(peer, &mut put) {
                    break;
                }
                if left {
                    return Err(CommError::Left {
                        peer: receive.peer,
                        operation: self.name,
                    });
                }
                self.came[at] = came;
                any = true;
            }
        }
        if whole { Ok(any) } else { Err(torn::<T>()) }
    }

    /// Makes as much of the share that this rank passes on as can be made of what has come; whether
    /// that was anything.
    fn make(&mut self) -> bool {
        let made = self.schedule.made.clone();
        if self.made == made.len() {
            return false;
        }
        let share = self.schedule.receives.iter().zip(&self.came);
        let parts = share.filter(|(receive, _)| {
            receive.is_row || self.schedule.rows == 0 && receive.place == made
        });
        let there = parts.map(|(_, came)| came / size_of::<T>()).min();
        let there = there.unwrap_or_default();
        // Whole blocks, but for the last.
        let ready = if there < made.len() {
            there / FOLDED * FOLDED
        } else {
            there
        };
        if ready <= self.made {
            return false;
        }
        while self.schedule.rows > 0 && self.made < ready {
            let next = self.rows.whole(self.made, ready);
            let own = self.comm.rank();
            let row = |rank: usize| match rank == own {
                true => &self.numbers[self.schedule.own.clone()][next.clone()],
                false => self.rows.row(row_of(rank, own), next.clone()),
            };
            let rows = (0..self.schedule.rows).map(|rank| (rank, row(rank)));
            let rows: SmallVec<[RankRow<'_, T>; 8]> = rows.collect();
            let totals = &mut self.room[made.clone()][next.clone()];
            fold_rows(&rows, rows.len(), totals, &self.op, |_| ());
            self.made = next.end;
        }
        self.made = ready;
        true
    }
}

impl<T: Plain, O: Fn(T, T) -> T> PendingCall for SliceExchange<'_, '_, T, O> {
    type Output = Result<(), CommError>;

    fn look(&mut self) -> Option<Result<(), CommError>> {
        if self.way.is_none() {
            self.begin();
        }
        let mut patience = 0;
        for turn in 1_u32.. {
            let mut moved = self.way.is_some_and(|way| self.send(way));
            if let Err(told) = self.agree().unwrap_or(Ok(())) {
                return Some(Err(told));
            }
            if let Some(way) = self.way.filter(|_| self.agreed) {
                match self.take(way) {
                    Ok(any) => {
                        if any {
                            way.reads(true);
                        }
                        moved |= any | self.make();
                    }
                    Err(failed) => {
                        // All ranks that wait for one that has left are told so by that one.
                        self.leave(!matches!(failed, CommError::Left { .. }));
                        self.end_reading();
                        self.way = None;
                        return Some(Err(failed));
                    }
                }
            }
            if self.agreed && self.is_over() {
                self.rows.end(self.comm.buffer_pool());
                self.end_reading();
                self.way = None;
                self.comm.leave_collective();
                return Some(Ok(()));
            }
            if moved {
                patience = PATIENCE;
            }
            let looks = self.agreed && (!moved || turn.is_multiple_of(TURNS));
            if let Some(way) = self.way.filter(|_| looks) {
                way.poll(|from| self.reads(from));
            }
            patience = patience.checked_sub(1)?;
        }
        None
    }

    fn why(&self) -> Whys {
        if let Some(way) = self.way.filter(|_| self.agreed && self.has_more()) {
            way.wait_for_room();
        }
        self.meet.why()
    }

    fn stage(&self) -> usize {
        usize::from(self.agreed) + usize::from(self.agreed && self.has_more())
    }

    fn called(&self) -> Option<Called> {
        self.meet.called()
    }
}

impl<T: Plain, O> Drop for SliceExchange<'_, '_, T, O> {
    fn drop(&mut self) {
        self.leave(true);
        self.end_reading();
    }
}

/// The bytes of these elements.
fn bytes<T>(place: Range<usize>) -> Range<usize> {
    place.start * size_of::<T>()..place.end * size_of::<T>()
}

/// The row of another rank.
fn row_of(rank: usize, own: usize) -> usize {
    rank - usize::from(rank > own)
}

/// The number of bytes that come.
fn length_of<T>(receive: &ReceiveStep) -> usize {
    receive.place.len() * size_of::<T>()
}

#[cold]
fn torn<T>() -> CommError {
    CommError::Unportable {
        type_name: type_name::<T>(),
        reason: "a piece of a vector is cut off".to_owned(),
    }
}

/// Checks that as many elements go in as come out.
pub(crate) fn same_length(name: &str, numbers: usize, room: usize) -> Result<(), CommError> {
    if numbers == room {
        return Ok(());
    }
    let problem = format!("{name} of {numbers} elements, and there is room for {room}");
    Err(CommError::Arguments { problem })
}
