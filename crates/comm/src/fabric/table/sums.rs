//! Ranks of one thread that add up long vectors exactly.
//!
//! All but the last lay their numbers down; the last adds up all at once, and takes a copy of the sums and their errors to
//! the meeting. So whoever comes when, and wherever the ranks live, what is rounded at the end is the same number.

use super::{Table, of_type};
use crate::exact_sum::{ColumnSums, Real};
use crate::lent::{Lender, Parcel};
use smallvec::SmallVec;

/// What the ranks of a table have brought. All but its room is the meeting's.
struct Laid<T> {
    rows: Vec<Vec<T>>,
    /// What they add up to.
    sums: ColumnSums,
    /// What came from the other side for the last total that was made here; then nothing is needed of it but the room.
    packet: Option<Parcel<ColumnSums>>,
}

/// What the ranks of a table read.
struct Rounded<T> {
    totals: Vec<T>,
    /// The columns whose rounding is not certain.
    uncertain: Vec<usize>,
}

impl Table {
    /// A rank has come to a meeting with its numbers. The last one gets what all here add up to, for the other side.
    pub(crate) fn gather_sums<T: Real>(
        &self,
        meeting: u32,
        numbers: &[T],
    ) -> Option<Parcel<ColumnSums>> {
        let mut state = self.state.lock();
        let before = state.count_in(meeting) - 1;
        let laid: &mut Laid<T> = of_type(&mut state.gathered);
        if before + 1 < self.ranks() {
            laid.rows.resize_with(self.ranks() - 1, Vec::new);
            laid.rows[before].clear();
            laid.rows[before].extend_from_slice(numbers);
            return None;
        }
        let rows = laid.rows[..before].iter().map(|row| &row[..]);
        let rows: SmallVec<[&[T]; 8]> = rows.chain([numbers]).collect();
        laid.sums.add_up(&rows, numbers.len());
        if self.alone {
            return None;
        }
        let mut packet = laid.packet.take().unwrap_or_default();
        packet.resize_with(1, ColumnSums::default);
        packet[0].copy(&laid.sums);
        Some(packet)
    }

    /// A rank reads the totals of a meeting that has taken place. The first one makes them of what lies here and of what
    /// has come from the other side, if there is one. The columns whose rounding is not certain: the same at both tables.
    pub(crate) fn read_sums<T: Real>(
        &self,
        meeting: u32,
        came: Option<Parcel<ColumnSums>>,
        totals: &mut [T],
    ) -> Vec<usize> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let long = size_of_val(totals) > Lender::LONGEST;
        let rounded: &mut Rounded<T> = of_type(&mut state.total);
        if state.laid == Some(meeting) {
            totals.copy_from_slice(&rounded.totals);
        } else {
            let laid: &mut Laid<T> = of_type(&mut state.gathered);
            if came.is_some() {
                laid.packet = came;
            }
            let other = laid.packet.as_deref().and_then(|sums| sums.first());
            rounded.uncertain = match (self.side, other) {
                // In one order, so that both find the same uncertain.
                (1, Some(other)) => other.round(Some(&laid.sums), totals),
                (_, other) => laid.sums.round(other, totals),
            };
            rounded.totals.clear();
            rounded.totals.extend_from_slice(totals);
            (state.laid, state.to_read) = (Some(meeting), self.ranks());
            if long {
                state.gathered = None;
            }
        }
        let uncertain = rounded.uncertain.clone();
        state.to_read -= 1;
        if state.to_read == 0 && long {
            state.total = None;
        }
        uncertain
    }
}

impl<T> Default for Laid<T> {
    fn default() -> Self {
        Laid {
            rows: Vec::new(),
            sums: ColumnSums::default(),
            packet: None,
        }
    }
}

impl<T> Default for Rounded<T> {
    fn default() -> Self {
        Rounded {
            totals: Vec::new(),
            uncertain: Vec::new(),
        }
    }
}
