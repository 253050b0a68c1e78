//! From pairs to clusters: of all rows, or of samples to whose clusters the others are given.

use std::time::Instant;

use motet::World;
use motet_comm::Communicator;
use motet_mining::{
    CancelToken, Checkpoints, ClusterChoice, Control, Dissimilarities, Given, MiningError,
    Pairwise, PairwiseClustering, Progress, Scaled, Scaling, ScalingMethod,
};

use crate::any_part::AnyPart;
use crate::error::CliError;
use crate::fit::{Chosen, clusters, join};
use crate::keep::{clear, of_choice};
use crate::pairs::{Aligned, Pairs, align};
use crate::plan::ClusterPlan;
use crate::progress::TerminalBar;
use crate::ranked::parts;
use crate::sample::{RowSample, Sampled};

/// What all steps of a run need.
pub(super) struct Run<'a> {
    pub(super) world: &'a World,
    pub(super) plan: &'a ClusterPlan,
    pub(super) kept: Option<&'a Checkpoints>,
    pub(super) cancel: &'a CancelToken,
    pub(super) quiet: bool,
}

/// What a run has found, for all rows.
pub(super) struct Fitted {
    pub(super) found: PairwiseClustering,
    pub(super) choice: Option<ClusterChoice>,
    pub(super) aligned: Option<Aligned>,
    pub(super) sampled: Option<Sampled>,
    /// The places of the rows that were clustered, if a picture is wanted.
    pub(super) places: Option<Scaled>,
    /// Seconds that the clustering took, without those of the alignments of all rows.
    pub(super) seconds: f64,
}

/// The dissimilarities of some rows, and how they came to be.
type Known = (Dissimilarities, Option<Aligned>);

impl Run<'_> {
    /// Clusters all rows; `None` in a process that has nothing more to do.
    pub(super) fn whole(&self, pairs: Pairs) -> Result<Option<Fitted>, CliError> {
        let Some((pairs, aligned)) = self.known(pairs, self.kept)? else {
            return Ok(None);
        };
        let start = Instant::now();
        let bar = TerminalBar::new(self.quiet);
        let show = |now: &Progress| bar.cool(now.done, now.temperature, now.clusters);
        let control = &self.control(&show);
        let found = parts(self.world, false, async |comm| {
            self.fit(comm, &pairs, control, self.kept).await
        });
        bar.clear();
        let whole = |parts| {
            join(parts, PairwiseClustering::join).ok_or_else(|| {
                CliError::Run("the parts of the ranks do not fit together".to_owned())
            })
        };
        let found = found?.map(whole).transpose()?;
        let seconds = start.elapsed().as_secs_f64();
        let places = self.places(&pairs)?;
        Ok(found.map(|(found, choice)| Fitted {
            found,
            choice,
            aligned,
            sampled: None,
            places,
            seconds,
        }))
    }

    /// Clusters samples, gives all rows to the clusters of each, and takes the one in which they
    /// cost least.
    pub(super) fn sampled(
        &self,
        pairs: &Pairs,
        sample: RowSample,
    ) -> Result<Option<Fitted>, CliError> {
        let start = Instant::now();
        let mut best: Option<Fitted> = None;
        for draw in 0..sample.draws {
            let rows = sample.sampling.rows(pairs.rows(), draw);
            let kept = self.kept.map(|kept| kept.named(&format!("sample-{draw}")));
            let Some((known, aligned)) = self.known(pairs.some(&rows)?, kept.as_ref())? else {
                return Ok(None);
            };
            let own = (&known, rows.as_slice());
            let Some((found, given, choice)) = self.given(own, pairs, kept.as_ref())? else {
                return Ok(None);
            };
            if best
                .as_ref()
                .is_none_or(|best| given.cost < best.found.cost)
            {
                let sampled = Sampled::new(sample, draw, pairs.rows(), &rows, found.cost);
                best = Some(Fitted {
                    found: of_all(found, given, &rows),
                    choice,
                    aligned,
                    sampled: Some(sampled),
                    places: self.places(&known)?,
                    seconds: 0.0,
                });
            }
        }
        // Other processes have done their part.
        let first = self.world.process().0 == 0;
        Ok(best.filter(|_| first).map(|best| Fitted {
            seconds: start.elapsed().as_secs_f64(),
            ..best
        }))
    }

    /// Removes the checkpoints, which nobody needs any more.
    pub(super) fn clear(&self) -> Result<(), CliError> {
        let draws = self.plan.sample.map_or(0, |sample| sample.draws);
        let Some(kept) = self.kept else {
            return Ok(());
        };
        let samples = (0..draws).map(|draw| kept.named(&format!("sample-{draw}")));
        let all = samples.chain([kept.clone()]);
        clear(all.flat_map(|kept| [kept.named("distances"), kept]))
    }

    /// Places in the plane by classical scaling, if files are wanted; `None` in other processes.
    fn places(&self, pairs: &Dissimilarities) -> Result<Option<Scaled>, CliError> {
        if self.plan.out.is_none() {
            return Ok(None);
        }
        let bar = TerminalBar::new(self.quiet);
        let show = |now: &Progress| bar.at(now.done, "placing the rows".to_owned());
        let control = &self.control(&show);
        let method = Scaling {
            method: ScalingMethod::Classical,
            ..Scaling::default()
        };
        let found = parts(self.world, false, async |comm| {
            method.fit(comm, pairs, control).await
        });
        bar.clear();
        Ok(found?.and_then(|mut parts| parts.pop()))
    }

    fn control<'c>(&'c self, show: &'c (dyn Fn(&Progress) + Sync)) -> Control<'c> {
        Control {
            progress: Some(show),
            cancel: Some(self.cancel),
        }
    }

    /// The dissimilarities, worked out if they are of sequences.
    fn known(&self, pairs: Pairs, kept: Option<&Checkpoints>) -> Result<Option<Known>, CliError> {
        let (sequences, method) = match pairs {
            Pairs::Matrix(pairs) => return Ok(Some((pairs, None))),
            Pairs::Sequences(sequences, method) => (sequences, method),
        };
        let (kept, ends) = (
            kept.map(|kept| kept.named("distances")),
            (self.cancel, self.quiet),
        );
        let done = align(self.world, true, (&sequences, &method), kept.as_ref(), ends)?;
        let Some((matrix, aligned)) = done else {
            return Ok(None);
        };
        let pairs = Dissimilarities::from_single(matrix, sequences.len());
        let pairs = pairs.map_err(|error| CliError::Data(error.to_string()))?;
        Ok(Some((pairs, Some(aligned))))
    }

    /// The clusters of a sample, and what all rows make of them.
    fn given(
        &self,
        (known, sample): (&Dissimilarities, &[usize]),
        pairs: &Pairs,
        kept: Option<&Checkpoints>,
    ) -> Result<Option<(PairwiseClustering, Given, Option<ClusterChoice>)>, CliError> {
        let bar = TerminalBar::new(self.quiet);
        let show = |now: &Progress| match now.temperature > 0.0 {
            true => bar.cool(now.done, now.temperature, now.clusters),
            false => bar.at(now.done, "giving the other rows".to_owned()),
        };
        let control = &self.control(&show);
        let all: Vec<usize> = (0..pairs.rows()).collect();
        let make = |rows: &[usize], to: &mut [f64]| pairs.between(rows, sample, to);
        let done = parts(self.world, true, async |comm| {
            let (part, choice) = self.fit(comm, known, control, kept).await?;
            let parts = AnyPart::all(comm.allgather(AnyPart::new(part)).await?).ok();
            let Some(found) = parts.and_then(PairwiseClustering::join) else {
                return Ok(None);
            };
            let given = found.give(comm, (&all, sample), make, control).await?;
            Ok(Some((found, given, choice)))
        });
        bar.clear();
        let Some(parts) = done? else {
            return Ok(None);
        };
        let first = parts.into_iter().next().flatten();
        let wrong = || CliError::Run("the parts of the ranks do not fit together".to_owned());
        first.map(Some).ok_or_else(wrong)
    }

    /// This rank's part.
    async fn fit(
        &self,
        comm: &Communicator,
        pairs: &Dissimilarities,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<Chosen<PairwiseClustering>, MiningError> {
        let mut method = Pairwise::default();
        let choose = async |most| match kept.map(of_choice) {
            Some(kept) => {
                method
                    .choose_kept(comm, (pairs, None), most, control, &kept)
                    .await
            }
            None => method.choose(comm, pairs, None, most, control).await,
        };
        let (clusters, choice) = clusters(self.plan.search, choose).await?;
        method.clusters = clusters;
        let found = match kept {
            Some(kept) => method.fit_kept(comm, pairs, None, control, kept).await?,
            None => method.fit(comm, pairs, None, control).await?,
        };
        Ok((found, choice))
    }
}

/// The clustering of a sample as one of all rows.
fn of_all(mut found: PairwiseClustering, given: Given, sample: &[usize]) -> PairwiseClustering {
    found.sizes.fill(0);
    given
        .labels
        .iter()
        .for_each(|label| found.sizes[*label as usize] += 1);
    let rows = given.labels.len();
    let masses = found.sizes.iter().map(|size| *size as f64 / rows as f64);
    found.masses = masses.collect();
    found.medoids.iter_mut().for_each(|row| *row = sample[*row]);
    (found.rows, found.labels, found.cost) = (0..rows, given.labels, given.cost);
    found
}
