//! What of an exchange has come and gone, and what is left.

use super::{PIECE, SliceExchange, length_of};
use crate::Plain;
use crate::schedule::{SendFrom, SendStep};

impl<T: Plain, O> SliceExchange<'_, '_, T, O> {
    /// The bytes of a send, as far as they are there.
    pub(super) fn bytes_of(&self, send: &SendStep, made: usize) -> &[u8] {
        bytemuck::cast_slice(match send.from {
            SendFrom::Numbers => &self.numbers[send.place.clone()],
            SendFrom::Room => &self.room[send.place.clone()],
            SendFrom::Made => &self.room[send.place.clone()][..made.min(send.place.len())],
        })
    }

    /// Whether all of a receive has come.
    pub(super) fn is_in(&self, receive: usize) -> bool {
        self.came[receive] == length_of::<T>(&self.schedule.receives[receive])
    }

    pub(super) fn end_reading(&self) {
        if let Some(way) = self.way.filter(|_| self.agreed) {
            way.reads(false);
        }
    }

    /// Whether this rank takes what comes next from a rank of the world.
    pub(super) fn reads(&self, from: usize) -> bool {
        let mut receives = self.schedule.receives.iter().zip(&self.came);
        let next = receives.find(|(receive, came)| {
            self.comm.team().world_rank(receive.peer) == from && length_of::<T>(receive) > **came
        });
        next.is_some_and(|(receive, &came)| {
            let most = PIECE.min(length_of::<T>(receive) - came);
            !receive.is_row || self.rows.free(came, self.made) >= most
        })
    }

    /// Whether all has come, and gone.
    pub(super) fn is_over(&self) -> bool {
        let gone = self.gone.borrow();
        let mut sends = self.schedule.sends.iter().zip(&*gone);
        (0..self.came.len()).all(|receive| self.is_in(receive))
            && self.made == self.schedule.made.len()
            && sends.all(|(send, gone)| send.place.len() * size_of::<T>() == *gone)
    }

    /// Whether something is there that has not gone.
    pub(super) fn has_more(&self) -> bool {
        let gone = self.gone.borrow();
        let mut sends = self.schedule.sends.iter().zip(&*gone);
        sends.any(|(send, gone)| self.bytes_of(send, self.made).len() > *gone)
    }

    /// What is there and has not gone goes on without this rank, and what comes is dropped. Where
    /// ranks wait for what this rank was to make they are told, if they are not told anyway. (Not
    /// at once: the error of a rank that fails goes before those of its peers.)
    pub(super) fn leave(&self, tells: bool) {
        let Some(way) = self.way else { return };
        way.leave();
        for (send, gone) in self.schedule.sends.iter().zip(&mut *self.gone.borrow_mut()) {
            let peer = self.comm.team().world_rank(send.peer);
            let rest = &self.bytes_of(send, self.made)[*gone..];
            for piece in rest.chunks(PIECE) {
                way.send_rest(peer, piece);
                *gone += piece.len();
            }
            if tells && *gone < send.place.len() * size_of::<T>() {
                self.comm.fabric().close_later(peer, way.end_later(peer));
            }
        }
    }
}
