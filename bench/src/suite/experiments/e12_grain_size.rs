//! E12: the overhead of clustering against the inverse of the grain size.

use crate::kernels::thread_counts;
use crate::selection::Missing;
use crate::suite::overhead::{Clusterings, OVERHEAD, PointData};
use crate::suite::{About, Axis, Case, Experiment, LineFit, Picture, Setting};

/// Overhead against points per thread.
#[derive(Debug)]
pub(crate) struct GrainSize;

impl Experiment for GrainSize {
    fn about(&self) -> About {
        About {
            key: "E12",
            name: "grain-size",
            title: "Overhead of clustering against 1 / grain size",
            question: "How many points must a thread have for clustering on several threads to lose little?",
            definition: "f = (P T(n, P) - T(P n, 1)) / T(P n, 1), n being the points of each of P threads. Deterministic annealing of \
                         census blocks in the plane and of compounds by 1052 binary properties, held as floating-point numbers and as bits, with 10 and 20 clusters: a fit is \
                         made once, and the steps that it made while it had all clusters are replayed on one thread and on P, one \
                         after the other; T is the time of these steps, reductions included, preparation not; for bits it is that of whole fits, without search. Beside it \
                         scikit-learn's own Lloyd step. The step per point and cluster is that on P threads. Theory: f is \
                         proportional to 1 / n and smaller for more clusters, since a step's work is n times the clusters and its \
                         communication is not.",
            parameters: &[
                ("data", "census, chemistry as floats or chemistry as bits"),
                ("points per thread", "n"),
                ("1/n", "the inverse grain size"),
                ("clusters", "clusters"),
                ("threads", "P"),
            ],
            threats: "Other load falls on P threads more than on one. One thread may run at a higher clock. Many points no longer fit \
                      the caches of one core but do fit those of two, which makes f smaller than 0. A step of annealing and a Lloyd \
                      step are not the same work: their times stand beside each other, their f compares how well each is split.",
            sources: &["P1 Fig. 1", "P2 Fig. 1", "P3 Fig. 1"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let all = Clusterings::new(setting);
        let mut cases = Vec::new();
        for threads in thread_counts().into_iter().filter(|&threads| threads > 1) {
            for data in PointData::ALL {
                let sizes: &[usize] = match data {
                    PointData::Census => setting.by_effort(
                        &[100],
                        &[1_000, 4_000, 16_000],
                        &[1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000],
                    ),
                    PointData::Chemistry => {
                        setting.by_effort(&[100], &[100, 250], &[100, 250, 1_000, 4_000, 16_000])
                    }
                    // Ranks share bits by 512 rows.
                    PointData::Bits => setting.by_effort(
                        &[100],
                        &[512, 4_096],
                        &[512, 1_024, 2_048, 4_096, 8_192, 16_384],
                    ),
                };
                // A fit in 1052 columns takes seconds.
                let quick: &[usize] = match data {
                    PointData::Census => &[10, 20],
                    PointData::Chemistry | PointData::Bits => &[10],
                };
                for &size in sizes.iter().filter(|&&size| size * threads <= data.rows()) {
                    for &clusters in setting.by_effort(&[3][..], quick, &[10, 20]) {
                        let rows = size * threads;
                        let number = cases.len();
                        cases.push(all.case(setting, number, (data, rows), (clusters, threads)));
                    }
                }
            }
        }
        several_threads(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e12-overhead",
            "Overhead of clustering against grain size",
            Axis::log("points per thread", "points"),
            Axis::linear(OVERHEAD.name, ""),
        );
        let inverse = Picture::new(
            "e12-overhead-inverse",
            "Overhead of clustering against 1 / grain size",
            Axis::linear("1/n", "1/points"),
            Axis::linear(OVERHEAD.name, ""),
        );
        [picture, inverse.fit(LineFit::ThroughOrigin)]
            .map(|picture| {
                picture
                    .series_by(&["clusters"])
                    .panels_by(&["data", "threads"])
            })
            .into()
    }
}

/// The cases, if there are any.
pub(super) fn several_threads(cases: Vec<Case>) -> Result<Vec<Case>, Missing> {
    match cases.is_empty() {
        false => Ok(cases),
        true => Err(Missing {
            row: "every point".to_owned(),
            reason: "there is one core only: what is measured is what several threads lose"
                .to_owned(),
        }),
    }
}
