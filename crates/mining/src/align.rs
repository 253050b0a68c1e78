//! Distances of sequences by alignment of all pairs.
//!
//! Measured on 640 Alu repeats of about 300 letters, by CPU time of one thread of a busy AMD EPYC
//! with AVX-512. Global with counts: 66,000 pairs per second, where parasail 1.3.4 at its best
//! (`nw_stats_scan_16`) did 14,200. Local: 51,500 and 11,900. With AVX2 it is about a third.

mod between;
mod joined;
mod kept;
mod kernel;
mod scores;
#[cfg(test)]
mod tests;

use crate::boxed::LocalBoxFuture;
use crate::lanes::Instructions16;
use crate::rank_view::RankView;
use crate::{Alphabet, Control, MiningError, ParameterError, Progress, Sequences};
use kernel::{Batch, MOST, align_one, fits};
use motet_comm::Communicator;
use scores::Table;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The least number of times at which the ranks agree whether they go on.
const ROUNDS: usize = 16;

/// Cells of batches that a rank works out between two such times: part of a second with AVX-512.
const ROUND_CELLS: usize = 1 << 26;

/// What is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignmentKind {
    /// The whole of both sequences.
    Global,
    /// The best pair of parts.
    Local,
}

/// What two letters score that stand below each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scores {
    /// Equal letters and different ones; 0 where a letter stands for several.
    Letters {
        /// The score of equal letters.
        same: i16,
        /// The score of different letters.
        other: i16,
    },
    /// The matrix BLOSUM62, for proteins.
    Blosum62,
}

/// Alignment of all pairs of sequences with affine gaps. A distance is the share of the columns of
/// the best alignment in which the letters are not identical.
///
/// A gap of n letters costs `open + (n - 1) * extend`. Two sequences with no local alignment of
/// positive score have distance 1. The shorter sequence is the first; of equal lengths it is the
/// one that comes first in the alphabet. So a distance is a function of the two sequences alone.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Alignment, Alphabet, Control, PairDistances, Sequences};
///
/// let text = b">a\nACGTACGT\n>b\nACGTACGA\n>c\nACGACGT\n";
/// let sequences = Sequences::from_fasta(text, Alphabet::Dna)?;
/// let method = Alignment::dna();
/// let parts = World::threads(2)
///     .run(async |comm| method.distances(&comm, &sequences, &Control::default()).await)
///     .unwrap();
/// let matrix = PairDistances::join(&sequences, &parts).unwrap().unwrap();
/// assert_eq!(matrix[..3], [0.0, 1.0 / 8.0, 1.0 / 8.0]);
/// # Ok::<(), motet_mining::SequenceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// What is aligned.
    pub kind: AlignmentKind,
    /// What two letters score.
    pub scores: Scores,
    /// What the first letter of a gap costs.
    pub open: i16,
    /// What each further letter of a gap costs.
    pub extend: i16,
}

impl Alignment {
    /// Global alignment of DNA: 5 for equal letters, -4 for others, gaps 16 and 4.
    pub fn dna() -> Alignment {
        Alignment {
            kind: AlignmentKind::Global,
            scores: Scores::Letters { same: 5, other: -4 },
            open: 16,
            extend: 4,
        }
    }

    /// Global alignment of proteins: BLOSUM62, gaps 12 and 1.
    pub fn protein() -> Alignment {
        Alignment {
            kind: AlignmentKind::Global,
            scores: Scores::Blosum62,
            open: 12,
            extend: 1,
        }
    }

    /// The distances of this rank's share of the pairs; all ranks of `comm` call it with the same
    /// input. The shares are even by cells of the alignments.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::Cancelled`], [`MiningError::Comm`]; on all
    /// ranks alike.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: a rank looks after each batch of alignments, and all ranks end
    /// together soon after, within a sixteenth of the work at most.
    pub fn distances<'a>(
        &'a self,
        comm: &'a Communicator,
        sequences: &'a Sequences,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<PairDistances, MiningError>> {
        Box::pin(async move {
            self.check(sequences.alphabet())?;
            let team = RankView::new(comm, control);
            let table = Table::new(self.scores, sequences.alphabet());
            let work = Work::new(sequences);
            let share = work.share(comm.rank(), comm.size());
            let mut values = Vec::new();
            let rounds = work.rounds(comm.size());
            for round in 0..rounds {
                let edge = |round: usize| share.start + share.len() * round / rounds;
                let whole = work.batches(edge(round)..edge(round + 1)).all(|batch| {
                    self.align(&table, (sequences, &work), &batch, &mut values, control)
                });
                team.agree(!whole || control.is_cancelled()).await?;
                team.report(|| Progress {
                    temperature: 0.0,
                    clusters: 0,
                    target: 0,
                    free_energy: 0.0,
                    done: (round + 1) as f64 / rounds as f64,
                });
            }
            Ok(PairDistances {
                items: share,
                values,
            })
        })
    }

    /// Aligns some first sequences with a batch of second ones. Returns whether all are done: not
    /// if the run is cancelled meanwhile.
    fn align(
        &self,
        table: &Table,
        (sequences, work): (&Sequences, &Work),
        part: &BatchPart,
        values: &mut Vec<f32>,
        control: &Control<'_>,
    ) -> bool {
        let codes = |place: usize| sequences.codes(work.order[place]);
        let seconds: Vec<&[u8]> = part.seconds.clone().map(codes).collect();
        let start = part.seconds.start;
        let firsts = part.firsts.clone();
        let firsts = firsts.map(|first| (codes(first), start.max(first + 1) - start));
        self.align_batch(
            table,
            &seconds,
            &firsts.collect::<Vec<_>>(),
            values,
            control,
        )
    }

    /// Aligns first sequences with a batch of second ones, the longest of which is the last. With
    /// each first comes the number of seconds at the front that are not wanted. Returns whether all
    /// are done: not if the run is cancelled meanwhile.
    fn align_batch(
        &self,
        table: &Table,
        seconds: &[&[u8]],
        firsts: &[(&[u8], usize)],
        values: &mut Vec<f32>,
        control: &Control<'_>,
    ) -> bool {
        let longest = seconds.last().map_or(0, |last| last.len());
        let mut batch = None;
        let instructions = Instructions16::available()[0];
        for &(first, after) in firsts {
            if control.is_cancelled() {
                return false;
            }
            if fits(self, table, first.len(), longest) {
                let batch = batch.get_or_insert_with(|| Batch::new(table, seconds));
                let found = batch.align(self, instructions, first);
                values.extend(found[after..].iter().map(|found| found.distance()));
            } else {
                for second in &seconds[after..] {
                    if control.is_cancelled() {
                        return false;
                    }
                    values.push(align_one(self, table, first, second).distance());
                }
            }
        }
        true
    }

    fn check(&self, alphabet: Alphabet) -> Result<(), ParameterError> {
        let wrong = |field, value: i16, range| {
            Err(ParameterError::OutOfRange {
                field,
                value: f64::from(value),
                range,
            })
        };
        match self.scores {
            Scores::Letters { same, .. } if !(1..=100).contains(&same) => {
                return wrong("same", same, "from 1 to 100");
            }
            Scores::Letters { other, .. } if !(-100..=0).contains(&other) => {
                return wrong("other", other, "from -100 to 0");
            }
            Scores::Blosum62 if alphabet != Alphabet::Protein => {
                return Err(ParameterError::Unfit {
                    field: "scores",
                    advice: "BLOSUM62 is for proteins: score DNA by equal and other letters",
                });
            }
            Scores::Letters { .. } | Scores::Blosum62 => {}
        }
        if !(1..=1000).contains(&self.extend) {
            return wrong("extend", self.extend, "from 1 to 1000");
        }
        if !(self.extend..=1000).contains(&self.open) {
            return wrong("open", self.open, "at least extend and at most 1000");
        }
        Ok(())
    }
}

/// The distances of some pairs: what one rank has worked out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairDistances {
    items: Range<usize>,
    values: Vec<f32>,
}

/// All pairs, cut into items: one first sequence and a batch of second ones. A place is that of a
/// sequence in the order by length.
struct Work {
    /// The sequence at each place.
    order: Vec<usize>,
    /// The cells of all places before this one; one more than places.
    letters: Vec<usize>,
}

/// Items of one batch.
#[derive(Debug)]
struct BatchPart {
    firsts: Range<usize>,
    seconds: Range<usize>,
}

impl BatchPart {
    /// The pairs of these items: a first has only seconds after it.
    fn pairs(&self) -> usize {
        let seconds = |first: usize| self.seconds.end - self.seconds.start.max(first + 1);
        self.firsts.clone().map(seconds).sum()
    }
}

impl Work {
    fn new(sequences: &Sequences) -> Work {
        let mut order: Vec<usize> = (0..sequences.len()).collect();
        order.sort_by_key(|at| (sequences.letters(*at), sequences.codes(*at)));
        let mut letters = vec![0];
        for (place, at) in order.iter().enumerate() {
            letters.push(letters[place] + sequences.letters(*at));
        }
        Work { order, letters }
    }

    /// The places of a batch.
    fn seconds(&self, batch: usize) -> Range<usize> {
        batch * MOST..((batch + 1) * MOST).min(self.order.len())
    }

    /// The number of items before a batch: each batch has all places before its last as firsts.
    fn before(&self, batch: usize) -> usize {
        let whole = batch.min(self.order.len() / MOST);
        let items = MOST * whole * (whole + 1) / 2 - whole;
        let rest = self.order.len() % MOST;
        match batch > whole && rest > 0 {
            true => items + self.order.len() - 1,
            false => items,
        }
    }

    fn batch_count(&self) -> usize {
        self.order.len().div_ceil(MOST)
    }

    fn items(&self) -> usize {
        self.before(self.batch_count())
    }

    /// The cells of all items before this one.
    fn cells(&self, item: usize) -> usize {
        let (mut cells, mut left) = (0, item);
        for batch in 0..self.batch_count() {
            let seconds = self.seconds(batch);
            let longest = self.letters[seconds.end] - self.letters[seconds.end - 1];
            let firsts = (seconds.end - 1).min(left);
            cells += self.letters[firsts] * longest;
            left -= firsts;
            if left == 0 {
                break;
            }
        }
        cells
    }

    /// How often so many ranks agree whether they go on.
    fn rounds(&self, ranks: usize) -> usize {
        ROUNDS.max(self.cells(self.items()) / ranks / ROUND_CELLS)
    }

    /// The items of a rank: neighbours, with the same number of cells for each as far as can be.
    fn share(&self, rank: usize, ranks: usize) -> Range<usize> {
        self.edge(rank, ranks)..self.edge(rank + 1, ranks)
    }

    /// The item before which a `part` of so many equal `parts` of all cells lies.
    fn edge(&self, part: usize, parts: usize) -> usize {
        let all = self.cells(self.items());
        let wanted = (all as u128 * part as u128 / parts as u128) as usize;
        let (mut low, mut high) = (0, self.items());
        while low < high {
            let middle = low.midpoint(high);
            match self.cells(middle) < wanted {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Some items, batch by batch.
    fn batches(&self, items: Range<usize>) -> impl Iterator<Item = BatchPart> {
        let parts = (0..self.batch_count()).map(move |batch| {
            let (start, end) = (self.before(batch), self.before(batch + 1));
            BatchPart {
                firsts: items.start.clamp(start, end) - start..items.end.clamp(start, end) - start,
                seconds: self.seconds(batch),
            }
        });
        parts.filter(|part| !part.firsts.is_empty())
    }
}
