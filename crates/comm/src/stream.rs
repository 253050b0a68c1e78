//! Long vectors of two ranks that live in a process each: they come to a meeting, which tells them whether both have
//! called the same, and their numbers go beside it, from where they lie to where they are used.
//!
//! ```text
//!  numbers ──► transport ──► pieces ──► used, piece by piece, in order
//! ```
//!
//! What one gives is borrowed as long as it is on its way: where the rank goes to sleep, or drops its call, the rest is
//! copied and goes on without it.

use crate::fabric::{Beside, Call, Place};
use crate::meet::Meet;
use crate::pending::{Pending, Whys};
use crate::profile::Called;
use crate::wire::numbers_of;
use crate::{CommError, Communicator, Plain};
use std::any::type_name;
use std::cell::Cell;

/// The meeting, to which nothing is brought.
type Agreed<'c> = Meet<'c, (), fn((), ()), fn(()), fn(&()) -> Result<(), CommError>>;

/// One rank's part in a collective of two that gives the other its numbers, and uses the other's.
pub(crate) struct Stream<'n, 'c, T: Plain, U> {
    comm: &'c Communicator,
    meet: Agreed<'c>,
    /// Since the rank has come.
    way: Option<Beside<'c>>,
    /// The ranks have called the same.
    agreed: bool,
    gives: &'n [T],
    /// Bytes of them that have gone.
    gone: Cell<usize>,
    /// So many numbers come, and so many have been used.
    comes: usize,
    used: usize,
    /// Uses numbers that have come, which begin at this place.
    uses: U,
    pieces: Vec<Vec<u8>>,
}

/// Shorter vectors, in bytes, are brought to the meeting: that is one message.
const LEAST: usize = 8 * 1024;

/// So many looks in a row that find nothing while the other rank is at it.
const PATIENCE: u32 = 200;

/// So many pieces are read before others are sent.
const AT_ONCE: usize = 8;

/// In so many turns of which all bring something messages of others are looked for once.
const TURNS: u32 = 16;

impl Communicator {
    /// Whether vectors of so many elements go beside the meetings of this communicator.
    pub(crate) fn streams<T>(&self, length: usize) -> bool {
        self.size() == 2
            && length * size_of::<T>() >= LEAST
            && matches!(self.team().place(), Some(Place::Bridge(bridge)) if bridge.is_pair())
    }
}

impl<'n, 'c, T: Plain, U: FnMut(usize, &[T])> Stream<'n, 'c, T, U> {
    /// A call in which this rank gives the other one these numbers, if `fine`, and `uses` as many as it `comes` from there. All
    /// ranks of the communicator [stream](Communicator::streams) them.
    pub(crate) fn new(
        comm: &'c Communicator,
        call: Call,
        fine: Result<(), CommError>,
        gives: &'n [T],
        (comes, uses): (usize, U),
    ) -> Self {
        Stream {
            comm,
            meet: Meet::new(comm, call, fine, |(), ()| (), |()| (), |()| Ok(())),
            way: None,
            agreed: false,
            gives,
            gone: Cell::new(0),
            comes,
            used: 0,
            uses,
            pieces: Vec::new(),
        }
    }

    fn begin(&mut self) {
        let place = self.comm.team().place();
        if let (Some(meeting), Some(Place::Bridge(bridge))) = (self.meet.begin(), place) {
            let (own, team) = (self.comm.rank(), self.comm.team());
            let ranks = [own, 1 - own].map(|rank| team.world_rank(rank));
            self.way = Some(bridge.beside(meeting, ranks));
        }
    }

    /// Whether both ranks have called the same, when that is known.
    fn agree(&mut self) -> Option<Result<(), CommError>> {
        if self.agreed {
            return Some(Ok(()));
        }
        let told = self.meet.look()?;
        if told.is_ok() {
            self.agreed = true;
            self.comm.stay_in_meeting();
        }
        Some(told)
    }

    /// Sends on; whether anything has gone.
    fn send(&self, way: Beside<'_>) -> bool {
        let rest = self.rest();
        let gone = if rest.is_empty() { 0 } else { way.send(rest) };
        self.gone.set(self.gone.get() + gone);
        gone > 0
    }

    /// Uses what has come; whether that was anything.
    fn take(&mut self, way: Beside<'_>) -> Result<bool, CommError> {
        if self.used == self.comes {
            return Ok(false);
        }
        let (mut pieces, mut whole) = (std::mem::take(&mut self.pieces), true);
        way.take(&mut pieces);
        for piece in &pieces {
            whole &= self.put_to_use(piece);
        }
        let mut any = !pieces.is_empty();
        self.pieces = pieces;
        // A few at a time: there is room for others then.
        for _ in 0..AT_ONCE {
            if self.used == self.comes || !way.read(&mut |block| whole &= self.put_to_use(block)) {
                break;
            }
            any = true;
        }
        if whole { Ok(any) } else { Err(torn::<T>()) }
    }

    /// Whether they are whole numbers, and not too many.
    fn put_to_use(&mut self, bytes: &[u8]) -> bool {
        let numbers = bytes.len() / size_of::<T>();
        let whole = bytes.len().is_multiple_of(size_of::<T>());
        if !whole || self.comes - self.used < numbers {
            return false;
        }
        (self.uses)(self.used, &numbers_of(bytes));
        self.used += numbers;
        true
    }
}

impl<T: Plain, U> Stream<'_, '_, T, U> {
    fn rest(&self) -> &[u8] {
        &bytemuck::cast_slice(self.gives)[self.gone.get()..]
    }

    /// What has not gone goes on without this rank.
    fn leave(&self) {
        let rest = self.rest();
        if let Some(way) = self.way.filter(|_| !rest.is_empty()) {
            way.send_rest(rest);
            self.gone.set(size_of_val(self.gives));
        }
    }
}

impl<T: Plain, U: FnMut(usize, &[T])> Pending for Stream<'_, '_, T, U> {
    type Output = Result<(), CommError>;

    fn look(&mut self) -> Option<Result<(), CommError>> {
        if self.way.is_none() {
            self.begin();
        }
        let mut patience = 0;
        for turn in 1_u32.. {
            let mut moved = self.way.is_some_and(|way| self.send(way));
            match (self.agree(), self.way) {
                (Some(Ok(())), Some(way)) => match self.take(way) {
                    Ok(any) => moved |= any,
                    Err(torn) => {
                        self.way = None;
                        return Some(Err(torn));
                    }
                },
                (Some(told), _) => {
                    // The other one wants none of it.
                    self.way = None;
                    return Some(told);
                }
                (None, _) => {}
            }
            if self.agreed && self.used == self.comes && self.rest().is_empty() {
                self.comm.leave_meeting();
                return Some(Ok(()));
            }
            if moved {
                patience = PATIENCE;
            }
            let looks = self.agreed && (!moved || turn.is_multiple_of(TURNS));
            if let Some(way) = self.way.filter(|_| looks) {
                way.poll();
            }
            patience = patience.checked_sub(1)?;
        }
        None
    }

    fn why(&self) -> Whys {
        self.leave();
        self.meet.why()
    }

    fn called(&self) -> Option<Called> {
        self.meet.called()
    }
}

impl<T: Plain, U> Drop for Stream<'_, '_, T, U> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cold]
fn torn<T>() -> CommError {
    CommError::Unportable {
        type_name: type_name::<T>(),
        reason: "a piece of a vector is cut off".to_owned(),
    }
}
