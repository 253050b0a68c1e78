//! What a run found, in the units of the user's columns: the source of the table, the JSON object
//! and the files.

use motet_comm::{Overhead, OverheadModel, Profile};
use motet_mining::ClusterChoice;
use serde::Serialize;

use crate::read::OnMissing;
use crate::sample::Sampled;

/// The result of `motet cluster`; with `--json` this object is printed.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The version of the program.
    pub motet: &'static str,
    /// The path as given, or `<stdin>`.
    pub file: String,
    /// Number of points.
    pub points: usize,
    /// The columns clustered by, in order; centres have one number for each.
    pub columns: Vec<String>,
    /// Dimensions of the space the clustering worked in: the columns, or 3 for the sphere.
    pub dimensions: usize,
    /// Whether the columns are a latitude and a longitude.
    pub geo: bool,
    /// Whether the columns were brought to mean 0 and standard deviation 1.
    pub standardised: bool,
    /// The column of weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// What was done with rows that lack a value, unless the first one would have ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingRows>,
    /// Columns in which all points are equal.
    pub constant_columns: Vec<String>,
    /// How the clusters were found.
    pub method: String,
    /// Their number.
    pub clusters: usize,
    /// Why so many, if none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<ClusterChoice>,
    /// Sum over the points of weight times squared distance to the centre.
    pub inertia: f64,
    /// The unit of the inertia, the temperatures and the free energies; `None`: the squared unit of
    /// the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub square_unit: Option<&'static str>,
    /// The unit of the spreads; `None`: that of the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread_unit: Option<&'static str>,
    /// Seconds the clustering took, without reading and writing.
    pub run_seconds: f64,
    /// Threads it ran on.
    pub threads: usize,
    /// The comparison with one thread, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ThreadScaling>,
    /// Where the time went, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiled>,
    /// The clusters, the largest first.
    pub table: Vec<Cluster>,
    /// The steps of the method, in order.
    pub trace: Vec<MethodStep>,
    /// The sample, if not all rows were clustered; inertia and table are those of all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampled>,
    /// The files that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// What was done with rows that lack a value.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MissingRows {
    /// What `--missing` says.
    pub what: OnMissing,
    /// Rows left out.
    pub dropped_rows: usize,
    /// Cells that got the mean of their column.
    pub filled_cells: usize,
}

/// One cluster.
#[derive(Debug, Clone, Serialize)]
pub struct Cluster {
    /// Its number, from 1, by size.
    pub cluster: usize,
    /// Its number of points.
    pub size: usize,
    /// The sum of their weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Its centre, in the order and the units of the columns.
    pub centre: Vec<f64>,
    /// Root of the mean squared distance of its points to the centre.
    pub spread: f64,
}

/// The same clustering with one thread and with all.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ThreadScaling {
    /// Threads of the parallel run, P.
    pub threads: usize,
    /// Seconds with one thread, T_1.
    pub t1_seconds: f64,
    /// Seconds with P threads, T_P.
    pub tp_seconds: f64,
    /// f = (P·T_P − T_1)/T_1.
    pub overhead: f64,
    /// T_1/(P·T_P) = 1/(1 + f).
    pub efficiency: f64,
    /// Whether both runs gave the same labels and the same bits of every centre.
    pub same_result: bool,
}

/// Where the time of the clustering went.
#[derive(Debug, Clone, Serialize)]
pub struct Profiled {
    /// Of every rank and stage.
    #[serde(flatten)]
    pub profile: Profile,
    /// f and its parts.
    pub overhead: Overhead,
    /// f at other grain sizes, as far as one run tells.
    pub model: Option<OverheadModel>,
}

impl From<Profile> for Profiled {
    fn from(profile: Profile) -> Self {
        Profiled {
            overhead: profile.overhead(),
            model: profile.model(),
            profile,
        }
    }
}

impl ThreadScaling {
    /// Compares `t1_seconds` on one thread with `tp_seconds` on `threads`.
    pub(crate) fn new(
        threads: usize,
        t1_seconds: f64,
        tp_seconds: f64,
        same: bool,
    ) -> ThreadScaling {
        let overhead = (threads as f64 * tp_seconds - t1_seconds) / t1_seconds;
        let efficiency = 1.0 / (1.0 + overhead);
        ThreadScaling {
            threads,
            t1_seconds,
            tp_seconds,
            overhead,
            efficiency,
            same_result: same,
        }
    }
}

/// One step of the method.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MethodStep {
    /// The temperature, a squared distance.
    pub temperature: f64,
    /// The free energy at its end, per unit of weight; at temperature 0 the inertia over the
    /// weight.
    pub free_energy: f64,
    /// Clusters at its end.
    pub clusters: usize,
    /// Iterations it took.
    pub iterations: usize,
}

#[cfg(test)]
mod tests {
    use super::ThreadScaling;

    #[test]
    fn overhead_and_efficiency_follow_their_formulas() {
        let scaling = ThreadScaling::new(4, 8.0, 2.5, true);
        assert_eq!((scaling.overhead, scaling.efficiency), (0.25, 0.8));
    }
}
