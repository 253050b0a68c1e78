//! E18: the overhead of clustering against the number of clusters.

use super::e12_grain_size::several_threads;
use crate::selection::Missing;
use crate::suite::overhead::{Clusterings, OVERHEAD, PointData};
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};
use motet_sync::thread;

/// Overhead against clusters.
#[derive(Debug)]
pub(crate) struct ClusterCount;

impl Experiment for ClusterCount {
    fn about(&self) -> About {
        About {
            key: "E18",
            name: "clusters",
            title: "Overhead of clustering against the number of clusters",
            question: "Does clustering on several threads lose less when there are more clusters, also on points of many columns?",
            definition: "As E12, with all cores and a fixed number of points: 200,000 census blocks in the plane, 40,000 compounds by \
                         1052 binary properties; fewer of them in quick runs, taken from all over the file.",
            parameters: &[
                ("data", "census, chemistry as floats or chemistry as bits"),
                ("clusters", "clusters"),
                ("points per thread", "n"),
                ("1/n", "the inverse grain size"),
                ("threads", "threads: the cores there are"),
            ],
            threats: "As E12. The fit that is replayed leaves out centres that are far from a tile of points, so the work is not \
                      proportional to the clusters where they lie in heaps.",
            sources: &["P3 Fig. 2"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let (all, threads) = (Clusterings::new(setting), thread::cores());
        let mut cases = Vec::new();
        for data in PointData::ALL.into_iter().filter(|_| threads > 1) {
            let rows = match data {
                PointData::Census => setting.by_effort(200, 20_000, 200_000),
                PointData::Chemistry => setting.by_effort(200, 250, 40_000),
                // Ranks share bits by 512 rows.
                PointData::Bits => setting.by_effort(200, 4_096, 40_000),
            };
            let counts: &[usize] = match data {
                PointData::Census => {
                    setting.by_effort(&[2], &[2, 5, 10, 20, 40], &[2, 5, 10, 20, 40, 80])
                }
                PointData::Chemistry | PointData::Bits => {
                    setting.by_effort(&[2], &[2, 5, 10], &[2, 5, 10, 20])
                }
            };
            for &clusters in counts {
                let number = cases.len();
                cases.push(all.case(setting, number, (data, rows), (clusters, threads)));
            }
        }
        several_threads(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e18-overhead",
            "Overhead of clustering against the number of clusters",
            Axis::linear("clusters", "clusters"),
            Axis::linear(OVERHEAD.name, ""),
        );
        vec![picture.panels_by(&["data"])]
    }
}
