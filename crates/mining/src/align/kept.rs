//! Distances of all pairs with checkpoints.
//!
//! The items are done in rounds, in their order, each by all ranks; rank 0 gets the values of a
//! round and keeps them. So what is done is always the beginning of the items, whatever the number
//! of ranks. It is kept in parts, for it grows with the square of the sequences.

use super::scores::Table;
use super::{Alignment, PairDistances, Work};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::rank_view::RankView;
use crate::{Control, MiningError, Progress, Sequences};
use motet_comm::Communicator;

/// Rounds of the whole work.
const ROUNDS: usize = 256;

/// What rank 0 has of a run.
struct Done<'a> {
    keeper: CheckpointKeeper<'a>,
    values: Vec<f32>,
    /// Values that are in parts on the disk, and the number of these parts.
    saved: usize,
    parts: usize,
}

impl Alignment {
    /// As [`distances`](Alignment::distances), with checkpoints. It goes on from those that are
    /// there. Rank 0 has all distances at the end.
    ///
    /// # Errors
    ///
    /// Those of [`distances`](Alignment::distances), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: a rank looks after each batch of alignments, and all ranks end
    /// together soon after, within a 256th of the work at most. Whole 256ths are kept.
    pub fn distances_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        sequences: &'a Sequences,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<PairDistances, MiningError>> {
        Box::pin(async move {
            self.check(sequences.alphabet())?;
            // The same codes are other letters in another alphabet.
            let options = (self, sequences.alphabet());
            let keeper = CheckpointKeeper::new(comm, Some(kept), &options, |digest| {
                (0..sequences.len()).for_each(|row| digest.bytes(sequences.codes(row)));
            });
            let work = Work::new(sequences);
            let mut done = Done {
                keeper,
                values: Vec::new(),
                saved: 0,
                parts: 0,
            };
            let loaded = match comm.rank() {
                0 => Some(done.load(&work).map_err(words)),
                _ => None,
            };
            let first = comm.broadcast(0, loaded).await?.map_err(problem)?;
            self.rounds(
                (comm, control),
                (sequences, &work),
                first as usize,
                &mut done,
            )
            .await?;
            let items = match comm.rank() {
                0 => 0..work.items(),
                _ => work.items()..work.items(),
            };
            Ok(PairDistances {
                items,
                values: done.values,
            })
        })
    }

    async fn rounds(
        &self,
        (comm, control): (&Communicator, &Control<'_>),
        (sequences, work): (&Sequences, &Work),
        first: usize,
        done: &mut Done<'_>,
    ) -> Result<(), MiningError> {
        let (team, table) = (
            RankView::new(comm, control),
            Table::new(self.scores, sequences.alphabet()),
        );
        for round in first..ROUNDS {
            let edge = |rank: usize| work.edge(round * comm.size() + rank, ROUNDS * comm.size());
            let mut values = Vec::new();
            let whole = work
                .batches(edge(comm.rank())..edge(comm.rank() + 1))
                .all(|batch| self.align(&table, (sequences, work), &batch, &mut values, control));
            let whole = whole && !control.is_cancelled();
            let parts = comm.gather(0, (whole, values)).await?;
            let told = parts.map(|parts| {
                let cancelled = parts.iter().any(|(whole, _)| !whole);
                // A round of which something is missing is done again.
                let rounds = round + usize::from(!cancelled);
                if !cancelled {
                    let values = parts.into_iter().map(|(_, values)| values);
                    values.for_each(|values| done.values.extend(values));
                }
                let saved = done.save(rounds, cancelled || rounds == ROUNDS);
                saved.map_err(words).map(|()| cancelled)
            });
            let cancelled = comm.broadcast(0, told).await?.map_err(problem)?;
            if cancelled {
                return Err(MiningError::Cancelled);
            }
            team.report(|| Progress {
                temperature: 0.0,
                clusters: 0,
                target: 0,
                free_energy: 0.0,
                done: (round + 1) as f64 / ROUNDS as f64,
            });
        }
        Ok(())
    }
}

/// The words of an error, which all ranks are told.
fn words(error: MiningError) -> (String, String) {
    match error {
        MiningError::Checkpoint { path, problem } => (path, problem),
        other => (String::new(), other.to_string()),
    }
}

fn problem((path, problem): (String, String)) -> MiningError {
    MiningError::Checkpoint { path, problem }
}

impl Done<'_> {
    /// Takes the values of the parts; gives the number of rounds that they are of.
    fn load(&mut self, work: &Work) -> Result<u64, MiningError> {
        let parts: Vec<(u64, Vec<f32>)> = self.keeper.parts()?;
        let mut rounds = 0;
        self.parts = parts.len();
        for (end, values) in parts {
            rounds = end;
            self.values.extend(values);
        }
        self.saved = self.values.len();
        let items = 0..work.edge(rounds as usize, ROUNDS);
        let pairs: usize = work.batches(items).map(|batch| batch.pairs()).sum();
        match pairs == self.saved && rounds as usize <= ROUNDS {
            true => Ok(rounds),
            false => Err(self
                .keeper
                .problem("a part of it is missing: remove all of them")),
        }
    }

    /// Keeps what is new after so many rounds, if it is time or `now`.
    fn save(&mut self, rounds: usize, now: bool) -> Result<(), MiningError> {
        // A part without values would have the number of a round that an earlier one has.
        let new = self.values.len() > self.saved || rounds == ROUNDS;
        if !(new && (now || self.keeper.is_due())) {
            return Ok(());
        }
        let part = (rounds as u64, &self.values[self.saved..]);
        self.keeper.save_part(self.parts, &part)?;
        (self.saved, self.parts) = (self.values.len(), self.parts + 1);
        Ok(())
    }
}
