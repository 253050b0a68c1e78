//! What the annealing of rows and that of pairs share: how many clusters they are asked for, and
//! their run on ranks.

use crate::fit::{FitRanks, of_choice};
use motet::mining::{Checkpoints, ClusterChoice, Clusters, Control, MiningError, Progress};
use motet::{Communicator, RunError};

/// Why there are so many clusters, if their number was chosen. First the factor of the temperature
/// over which it lasts. Then the temperatures at which two clusters are first there, then three, …
pub(crate) type ChoiceReason = Option<(f64, Vec<f64>)>;

/// How many clusters there are to be.
#[derive(Clone, Copy)]
pub(crate) enum WantedClusters {
    Exactly(usize),
    /// As many as there are at this temperature.
    Found {
        t_min: f64,
        at_most: usize,
    },
    /// As many as the data speak for.
    Chosen {
        at_most: usize,
    },
}

impl WantedClusters {
    pub(crate) fn new(
        clusters: Option<usize>,
        t_min: Option<f64>,
        at_most: usize,
    ) -> WantedClusters {
        match (clusters, t_min) {
            (Some(clusters), _) => WantedClusters::Exactly(clusters),
            (None, Some(t_min)) => WantedClusters::Found { t_min, at_most },
            (None, None) => WantedClusters::Chosen { at_most },
        }
    }

    pub(crate) fn most(self) -> usize {
        match self {
            WantedClusters::Exactly(most)
            | WantedClusters::Found { at_most: most, .. }
            | WantedClusters::Chosen { at_most: most } => most,
        }
    }
}

/// A method with its data.
pub(crate) trait AnnealedMethod: Sync {
    /// What a rank finds.
    type Part: Send + 'static;

    /// How many clusters, up to so many, the data speak for.
    async fn choose(
        &self,
        comm: &Communicator,
        at_most: usize,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<ClusterChoice, MiningError>;

    async fn fit(
        &self,
        comm: &Communicator,
        clusters: Clusters,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<Self::Part, MiningError>;

    /// The whole of what all ranks have found.
    fn join(parts: Vec<Self::Part>) -> Option<Self::Part>;
}

/// Runs a method on ranks. Where it chooses the number of clusters, that is the first
/// half of the progress.
pub(crate) fn annealed<M: AnnealedMethod>(
    ranks: &FitRanks,
    control: &Control<'_>,
    asked: WantedClusters,
    method: &M,
) -> Result<(M::Part, ChoiceReason), RunError<MiningError>> {
    let half = |now: &Progress, before: f64| {
        if let Some(progress) = control.progress {
            let mut now = now.clone();
            now.done = before + now.done / 2.0;
            progress(&now);
        }
    };
    let first = |now: &Progress| half(now, 0.0);
    let second = |now: &Progress| half(now, 0.5);
    let (kept, choice_kept) = (ranks.kept(), ranks.kept().map(of_choice));
    let run = async |comm: Communicator| {
        let (clusters, choice, control) = match asked {
            WantedClusters::Exactly(clusters) => (Clusters::Exactly(clusters), None, *control),
            WantedClusters::Found { t_min, at_most } => {
                (Clusters::Found { t_min, at_most }, None, *control)
            }
            WantedClusters::Chosen { at_most } => {
                let cancel = control.cancel;
                let progress = Some(&first as _);
                let choosing = Control { progress, cancel };
                let kept = choice_kept.as_ref();
                let choice = method.choose(&comm, at_most, &choosing, kept).await?;
                let progress = Some(&second as _);
                let control = Control { progress, cancel };
                (Clusters::Exactly(choice.clusters), Some(choice), control)
            }
        };
        let part = method.fit(&comm, clusters, &control, kept).await?;
        Ok::<_, MiningError>((part, choice))
    };
    let (parts, choices): (Vec<_>, Vec<_>) = ranks.run(run)?.into_iter().unzip();
    let whole = M::join(parts).expect("the parts of all ranks make a whole");
    // All ranks have made the same choice.
    let reason = choices.into_iter().next().flatten();
    Ok((whole, reason.map(|choice| (choice.lasts, choice.appear))))
}
