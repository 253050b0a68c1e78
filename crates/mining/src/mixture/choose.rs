//! How many components a mixture has: the least value of a criterion.

use super::{Mixture, MixtureModel};
use crate::boxed::LocalBoxFuture;
use crate::{Checkpoints, Control, MiningError, ParameterError, Points, Progress};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};

/// What a number of components costs beside what it explains.
///
/// Sources: G. Schwarz, Estimating the dimension of a model, The Annals of Statistics 6 (1978); H.
/// Akaike, A new look at the statistical model identification, IEEE Transactions on Automatic
/// Control 19 (1974).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Criterion {
    /// Schwarz's: [`MixtureModel::bic`].
    Bic,
    /// Akaike's: [`MixtureModel::aic`].
    Aic,
}

/// A number of components that [`Mixture::choose`] has tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MixtureTried {
    /// The number of components.
    pub components: usize,
    /// The mean over the rows of ln p.
    pub log_likelihood: f64,
    /// Schwarz's criterion.
    pub bic: f64,
    /// Akaike's criterion.
    pub aic: f64,
}

impl Mixture {
    /// Fits mixtures of 1 to `at_most` components, whatever [`Mixture::components`] says. The one
    /// with the least value of the criterion counts, the first of equals.
    ///
    /// It ends at the first number for which there are too few rows, or whose starts all lead to
    /// a component without rows or extent.
    ///
    /// # Errors
    ///
    /// As for [`fit`](Mixture::fit). That 1 component cannot be fitted is an error.
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Mixture::fit).
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Control, Criterion, Mixture, Points};
    ///
    /// let wobble = |i: usize| ((i * 37 % 101) + (i * 53 % 97)) as f64 / 198.0;
    /// let values = (0..400).map(|i| [0.0, 5.0][i % 2] + wobble(i));
    /// let points = Points::new(values.collect(), 1)?;
    /// let chosen = World::threads(2)
    ///     .run(async |comm| {
    ///         let method = Mixture::default();
    ///         method.choose(&comm, &points, 4, Criterion::Bic, &Control::default()).await
    ///     })
    ///     .unwrap();
    /// let (model, tried) = &chosen[0];
    /// assert_eq!((model.components(), tried.len()), (2, 4));
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn choose<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        at_most: usize,
        criterion: Criterion,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<(MixtureModel, Vec<MixtureTried>), MiningError>> {
        Box::pin(async move {
            self.try_all(comm, points, (at_most, criterion), control, None)
                .await
        })
    }

    /// As [`choose`](Mixture::choose), with checkpoints: each number of components has one, with
    /// the number at the end of its name. It goes on from those that are there.
    ///
    /// # Errors
    ///
    /// Those of [`choose`](Mixture::choose), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Mixture::fit); the last checkpoints stay.
    pub fn choose_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        (at_most, criterion): (usize, Criterion),
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<(MixtureModel, Vec<MixtureTried>), MiningError>> {
        Box::pin(async move {
            let wanted = (at_most, criterion);
            self.try_all(comm, points, wanted, control, Some(kept))
                .await
        })
    }

    async fn try_all(
        &self,
        comm: &Communicator,
        points: &Points,
        (at_most, criterion): (usize, Criterion),
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<(MixtureModel, Vec<MixtureTried>), MiningError> {
        let value = |model: &MixtureModel| match criterion {
            Criterion::Bic => model.bic,
            Criterion::Aic => model.aic,
        };
        let (mut best, mut tried) = (None::<MixtureModel>, Vec::new());
        for components in 1..=at_most {
            let method = Mixture {
                components,
                ..self.clone()
            };
            let show = |now: &Progress| {
                let done = ((components - 1) as f64 + now.done) / at_most as f64;
                if let Some(progress) = control.progress {
                    progress(&Progress {
                        done,
                        ..now.clone()
                    });
                }
            };
            let control = Control {
                progress: control.progress.is_some().then_some(&show),
                cancel: control.cancel,
            };
            let kept = kept.map(|kept| kept.named(&components.to_string()));
            let fitted = method.run(comm, points, &control, kept.as_ref()).await;
            let model = match fitted {
                Ok(model) => model,
                Err(
                    MiningError::FewPoints { .. }
                    | MiningError::FewDistinctPoints { .. }
                    | MiningError::Degenerate { .. },
                ) if best.is_some() => break,
                Err(error) => return Err(error),
            };
            tried.push(MixtureTried {
                components,
                log_likelihood: model.log_likelihood,
                bic: model.bic,
                aic: model.aic,
            });
            if best.as_ref().is_none_or(|best| value(&model) < value(best)) {
                best = Some(model);
            }
        }
        let best = best.ok_or(ParameterError::Zero { field: "at_most" })?;
        Ok((best, tried))
    }
}
