//! What a clustering run gives back.

use crate::nearest::InnerCentres;
use crate::{DataError, Points};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A clustering: the centres, which all ranks know, and the labels of the rows of one rank.
///
/// Centres are in ascending order of their first coordinate, then the second, and so on. A cluster
/// is the place of its centre in that order. Every field but `rows` and `labels` is the same on all
/// ranks, and all of them have the same bits for any number of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Clustering {
    /// The number of columns.
    pub dim: usize,
    /// The rows of the data whose labels are here.
    pub rows: Range<usize>,
    /// The cluster of each of these rows: that of the nearest centre, the first of equals. A row
    /// of weight zero has a label too.
    pub labels: Vec<u32>,
    /// The coordinates of the centres, `dim` per cluster, in the units of the data.
    pub centres: Vec<f64>,
    /// The share of the whole weight in each cluster; they add up to 1.
    pub masses: Vec<f64>,
    /// The number of rows in each cluster, of all ranks.
    pub sizes: Vec<usize>,
    /// The root of the weighted mean squared distance of a cluster's points from its centre, in
    /// the units of the data.
    pub spread: Vec<f64>,
    /// The sum over all points of weight times squared distance from the centre.
    pub inertia: f64,
    /// The temperatures of an annealing run in order; empty for K-means.
    pub trace: Vec<TraceStep>,
    /// The work done: passes over the data (or over a summary of them) times clusters.
    pub cluster_iterations: u64,
    /// The steps of the start of K-means that counts; 0 of annealing, whose passes are in `trace`.
    pub iterations: usize,
    /// The columns whose value is the same in every row.
    pub constant_columns: Vec<usize>,
    pub(crate) inner: InnerCentres,
}

/// One temperature of an annealing run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceStep {
    /// In the units of the data squared.
    pub temperature: f64,
    /// The free energy -T Σ w ln Z with weights that add up to 1, in the units of the data
    /// squared.
    pub free_energy: f64,
    /// The number of clusters at the end of this temperature.
    pub clusters: usize,
    /// Passes over the data at this temperature.
    pub iterations: usize,
}

impl Clustering {
    /// The number of clusters.
    pub fn clusters(&self) -> usize {
        self.centres.len() / self.dim
    }

    /// The centre of one cluster.
    ///
    /// # Panics
    ///
    /// If there is no such cluster.
    pub fn centre(&self, cluster: usize) -> &[f64] {
        &self.centres[cluster * self.dim..][..self.dim]
    }

    /// The cluster of each row of `points`, which may be others than those that were clustered:
    /// that of the nearest centre, the first of equals. The rows that were clustered get the labels
    /// that they have, to the last bit. Weights do not count.
    ///
    /// # Errors
    ///
    /// [`DataError::Columns`] if the points have not as many columns as the centres.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Control, KMeans, Points};
    ///
    /// let points = Points::new(vec![0.0, 1.0, 10.0, 11.0], 1)?;
    /// let method = KMeans { clusters: 2, ..KMeans::default() };
    /// let found = World::solo()
    ///     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
    ///     .unwrap()
    ///     .remove(0);
    /// let others = Points::new(vec![5.0, 6.0], 1)?;
    /// assert_eq!(found.predict(&others)?, [0, 1]);
    /// assert_eq!(found.transform(&others)?, [4.5, 5.5, 5.5, 4.5]);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn predict(&self, points: &Points) -> Result<Vec<u32>, DataError> {
        self.inner.predict(points)
    }

    /// The distances of each row of `points` from all centres, row after row, in the units of the
    /// data.
    ///
    /// # Errors
    ///
    /// As [`Clustering::predict`].
    pub fn transform(&self, points: &Points) -> Result<Vec<f64>, DataError> {
        self.inner.transform(points)
    }

    /// Joins the parts of all ranks, in rank order, into one clustering with all labels. It is
    /// `None` if there are no parts or one does not follow the one before.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Clustering, Control, KMeans, Points};
    ///
    /// let points = Points::new((0..3000).map(f64::from).collect(), 1)?;
    /// let method = KMeans { clusters: 3, ..KMeans::default() };
    /// let parts = World::threads(2)
    ///     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
    ///     .unwrap();
    /// let whole = Clustering::join(parts).unwrap();
    /// assert_eq!(whole.rows, 0..3000);
    /// assert_eq!(whole.labels.len(), 3000);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn join(parts: impl IntoIterator<Item = Clustering>) -> Option<Clustering> {
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
