//! A mixture that is there already: checked, and used for other rows.

use super::model::{Covariance, Factors, MixtureModel, Parameters};
use super::share::Share;
use crate::boxed::LocalBoxFuture;
use crate::rank_view::RankView;
use crate::{Control, DataError, MiningError, ParameterError, Points};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The components of the rows of one rank, by [`MixtureModel::predict`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MixtureLabels {
    /// These rows.
    pub rows: Range<usize>,
    /// The component with the largest share in each, the first of equals.
    pub labels: Vec<u32>,
    /// The mean of ln p over the rows of all ranks.
    pub log_likelihood: f64,
}

impl MixtureLabels {
    /// Joins the parts of all ranks, in rank order; `None` if there are no parts or one does not
    /// follow the one before.
    pub fn join(parts: impl IntoIterator<Item = MixtureLabels>) -> Option<MixtureLabels> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            if part.rows.start != whole.rows.end {
                return None;
            }
            whole.rows.end = part.rows.end;
            whole.labels.extend(part.labels);
        }
        Some(whole)
    }
}

impl MixtureModel {
    /// Whether the numbers make a mixture, as those of a file may not.
    ///
    /// # Errors
    ///
    /// [`DataError::NoColumns`], [`DataError::Shape`], [`DataError::Distribution`] for weights,
    /// [`DataError::NotFinite`] with component and column, [`DataError::Variance`].
    pub fn check(&self) -> Result<(), DataError> {
        let (k, dim) = (self.components(), self.dim);
        if dim == 0 {
            return Err(DataError::NoColumns);
        }
        let of_covariances = match self.covariance {
            Covariance::Full => k * dim * dim,
            Covariance::Tied => dim * dim,
            Covariance::Diagonal => k * dim,
            Covariance::Spherical => k,
        };
        for (what, found, expected) in [
            ("weights", k, k.max(1)),
            ("means", self.means.len(), k * dim),
            ("covariances", self.covariances.len(), of_covariances),
        ] {
            if found != expected {
                return Err(DataError::Shape {
                    what,
                    found,
                    expected,
                });
            }
        }
        let sum: f64 = self.weights.iter().sum();
        let good = self.weights.iter().all(|weight| *weight > 0.0);
        if !good || (sum - 1.0).abs() > 1e-9 {
            let (what, row) = ("weights", 0);
            return Err(DataError::Distribution { what, row, sum });
        }
        let size = match self.covariance {
            Covariance::Full | Covariance::Tied => dim * dim,
            Covariance::Diagonal => dim,
            Covariance::Spherical => 1,
        };
        // Of each the numbers of one component.
        let numbers = [(&self.means, dim), (&self.covariances, size)].map(|(values, size)| {
            let bad = values.iter().position(|value| !value.is_finite())?;
            Some((bad / size, bad % size % dim, values[bad]))
        });
        if let Some((row, column, value)) = numbers.into_iter().flatten().next() {
            return Err(DataError::NotFinite { row, column, value });
        }
        let step = match self.covariance {
            Covariance::Full | Covariance::Tied => dim + 1,
            Covariance::Diagonal | Covariance::Spherical => 1,
        };
        for (row, values) in self.covariances.chunks_exact(size).enumerate() {
            let mut diagonal = values.iter().step_by(step).enumerate();
            if let Some((column, &value)) = diagonal.find(|(_, value)| **value <= 0.0) {
                return Err(DataError::Variance { row, column, value });
            }
        }
        Ok(())
    }

    /// The component of each row of `points`, which need not be those of the fit; all ranks of
    /// `comm` call it with the same input.
    ///
    /// # Errors
    ///
    /// [`MiningError::Data`] for a model that [`check`](MixtureModel::check) refuses,
    /// [`MiningError::Parameter`] for other columns and for a row so far away that no number holds
    /// its distance, [`MiningError::Degenerate`] for a matrix that is not positive definite,
    /// [`MiningError::Cancelled`], [`MiningError::Comm`].
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together after this pass.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Control, Mixture, MixtureLabels, MixtureModel, Points};
    ///
    /// let values = [0.0, 0.5, 1.0, 8.0, 8.5, 9.0];
    /// let points = Points::new(values.to_vec(), 1)?;
    /// let others = Points::new(vec![9.5, -0.5], 1)?;
    /// let method = Mixture { components: 2, ..Mixture::default() };
    /// let world = World::threads(2);
    /// let parts = world.run(async |comm| method.fit(&comm, &points, &Control::default()).await);
    /// let model = MixtureModel::join(parts.unwrap()).unwrap();
    /// let parts = world.run(async |comm| model.predict(&comm, &others, &Control::default()).await);
    /// let found = MixtureLabels::join(parts.unwrap()).unwrap();
    /// assert_eq!(found.labels, [model.labels[5], model.labels[0]]);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn predict<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<MixtureLabels, MiningError>> {
        Box::pin(async move {
            self.check().map_err(MiningError::Data)?;
            if points.dim() != self.dim {
                return Err(ParameterError::Unfit {
                field: "points",
                advice: "they have another number of columns than the model: give the same columns",
            }
            .into());
            }
            let team = RankView::new(comm, control);
            let share = Share::new(&team, points).await?;
            let means = self.means.chunks_exact(self.dim);
            let means = means.flat_map(|mean| mean.iter().zip(&share.middle).map(|(a, b)| a - b));
            let now = Parameters {
                weights: self.weights.clone(),
                means: means.collect(),
                covariances: self.covariances.clone(),
            };
            let factors = Factors::new(self.covariance, self.dim, &now)?;
            let (log_likelihood, labels) = share.assign(&now.means, &factors).await?;
            if !log_likelihood.is_finite() {
                return Err(ParameterError::Unfit {
                    field: "points",
                    advice: "a row is so far from all components that no number holds its \
                             distance: leave it out, or divide the columns for the fit too",
                }
                .into());
            }
            Ok(MixtureLabels {
                rows: share.rows.clone(),
                labels,
                log_likelihood,
            })
        })
    }
}
