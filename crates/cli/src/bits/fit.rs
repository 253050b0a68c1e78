//! From fingerprints to clusters: of all rows, or of samples to whose clusters the others are
//! given.

use motet::World;
use motet_comm::Communicator;
use motet_mining::{
    BitAnnealing, BitClustering, BitKMeans, Bits, CancelToken, Checkpoints, ClusterChoice, Control,
    MiningError, Progress,
};

use crate::any_part::AnyPart;
use crate::error::CliError;
use crate::fit::{Chosen, clusters, join};
use crate::keep::{clear, of_choice};
use crate::plan::ClusterSearch;
use crate::progress::TerminalBar;
use crate::ranked::parts;
use crate::sample::{RowSample, Sampled};

/// What all steps of a run need.
pub(super) struct Run<'a> {
    pub(super) world: &'a World,
    pub(super) search: ClusterSearch,
    pub(super) kept: Option<&'a Checkpoints>,
    pub(super) cancel: &'a CancelToken,
    pub(super) quiet: bool,
}

/// What a run has found, for all rows.
pub(super) struct Fitted {
    pub(super) found: BitClustering,
    /// Why so many clusters, if none were asked for.
    pub(super) choice: Option<ClusterChoice>,
    pub(super) sampled: Option<Sampled>,
}

/// A sample that is to be clustered.
struct Drawn {
    rows: Vec<usize>,
    bits: Bits,
    kept: Option<Checkpoints>,
}

/// A rank's part of all rows, given to the clusters of one sample.
type Given = (BitClustering, Option<ClusterChoice>, f64, usize);

impl Run<'_> {
    /// Clusters all rows; `None` in a process that has nothing more to do.
    pub(super) fn whole(&self, bits: &Bits) -> Result<Option<Fitted>, CliError> {
        let bar = TerminalBar::new(self.quiet);
        let show = |now: &Progress| bar.cool(now.done, now.temperature, now.clusters);
        let control = &self.control(&show);
        let found = parts(self.world, false, async |comm| {
            self.fit(comm, bits, control, self.kept).await
        });
        bar.clear();
        let whole = |parts| join(parts, BitClustering::join).ok_or_else(apart);
        let found = found?.map(whole).transpose()?;
        Ok(found.map(|(found, choice)| Fitted {
            found,
            choice,
            sampled: None,
        }))
    }

    /// Clusters samples, gives all rows to the clusters of each, and takes the one in which they
    /// cost least.
    pub(super) fn sampled(
        &self,
        bits: &Bits,
        sample: RowSample,
    ) -> Result<Option<Fitted>, CliError> {
        let drawn = (0..sample.draws).map(|draw| {
            let rows = sample.sampling.rows(bits.len(), draw);
            let some = bits.some(&rows);
            Ok(Drawn {
                bits: some.map_err(|error| CliError::Data(error.to_string()))?,
                kept: self.kept.map(|kept| of_draw(kept, draw)),
                rows,
            })
        });
        let drawn: Vec<Drawn> = drawn.collect::<Result<_, CliError>>()?;
        let bar = TerminalBar::new(self.quiet);
        let found = parts(self.world, false, async |comm| {
            self.best(comm, bits, &drawn, &bar).await
        });
        bar.clear();
        let Some(parts) = found? else {
            return Ok(None);
        };
        let parts: Vec<Given> = parts.into_iter().collect::<Option<_>>().ok_or_else(apart)?;
        let Some((_, choice, cost, draw)) = parts.first().cloned() else {
            return Err(apart());
        };
        let found = BitClustering::join(parts.into_iter().map(|part| part.0));
        let rows = &drawn[draw].rows;
        Ok(Some(Fitted {
            found: found.ok_or_else(apart)?,
            choice,
            sampled: Some(Sampled::new(sample, draw, bits.len(), rows, cost)),
        }))
    }

    /// Removes the checkpoints, which nobody needs any more.
    pub(super) fn clear(&self, sample: Option<RowSample>) -> Result<(), CliError> {
        let Some(kept) = self.kept else {
            return Ok(());
        };
        let draws = sample.map_or(0, |sample| sample.draws);
        let samples = (0..draws).map(|draw| of_draw(kept, draw));
        clear(samples.chain([kept.clone()]))
    }

    /// This rank's part of what the best sample gives. All ranks take the same one, since they
    /// know what all rows cost in each; `None` if parts do not fit together.
    async fn best(
        &self,
        comm: &Communicator,
        bits: &Bits,
        drawn: &[Drawn],
        bar: &TerminalBar,
    ) -> Result<Option<Given>, MiningError> {
        let cool = |now: &Progress| bar.cool(now.done, now.temperature, now.clusters);
        let giving = |now: &Progress| bar.at(now.done, "giving the other rows".to_owned());
        let mut best: Option<Given> = None;
        for (draw, drawn) in drawn.iter().enumerate() {
            let control = &self.control(&cool);
            let fit = self.fit(comm, &drawn.bits, control, drawn.kept.as_ref());
            let (part, choice) = fit.await?;
            let parts = AnyPart::all(comm.allgather(AnyPart::new(part)).await?).ok();
            let Some(found) = parts.and_then(BitClustering::join) else {
                return Ok(None);
            };
            let given = found.give(comm, bits, &self.control(&giving)).await?;
            if best
                .as_ref()
                .is_none_or(|best| given.inertia < best.0.inertia)
            {
                best = Some((given, choice, found.inertia, draw));
            }
        }
        Ok(best)
    }

    fn control<'c>(&'c self, show: &'c (dyn Fn(&Progress) + Sync)) -> Control<'c> {
        Control {
            progress: Some(show),
            cancel: Some(self.cancel),
        }
    }

    /// This rank's part.
    async fn fit(
        &self,
        comm: &Communicator,
        bits: &Bits,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<Chosen<BitClustering>, MiningError> {
        if let ClusterSearch::KMeans {
            clusters,
            seed,
            restarts,
        } = self.search
        {
            let method = BitKMeans {
                clusters,
                seed,
                restarts,
            };
            let found = match kept {
                Some(kept) => method.fit_kept(comm, bits, control, kept).await?,
                None => method.fit(comm, bits, control).await?,
            };
            return Ok((found, None));
        }
        let mut method = BitAnnealing::default();
        let choose = async |most| match kept.map(of_choice) {
            Some(kept) => method.choose_kept(comm, bits, most, control, &kept).await,
            None => method.choose(comm, bits, most, control).await,
        };
        let (clusters, choice) = clusters(self.search, choose).await?;
        method.clusters = clusters;
        let found = match kept {
            Some(kept) => method.fit_kept(comm, bits, control, kept).await?,
            None => method.fit(comm, bits, control).await?,
        };
        Ok((found, choice))
    }
}

/// The checkpoints of one sample.
fn of_draw(kept: &Checkpoints, draw: usize) -> Checkpoints {
    kept.named(&format!("sample-{draw}"))
}

fn apart() -> CliError {
    CliError::Run("the parts of the ranks do not fit together".to_owned())
}
