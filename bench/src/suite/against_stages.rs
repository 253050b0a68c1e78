//! Fixed work, cut into more and more stages: what E03 to E05 and E15 share.

use super::case::Case;
use super::picture::{Axis, LineFit, Picture};
use super::setting::Setting;
use super::stages::{Peer, Stages};
use crate::program::{Pattern, StageMode};
use motet_sync::thread;

/// The definition of such an experiment.
pub(super) const DEFINITION: &str = "Every computation does the same work W in each run, in S stages of W / S units; S goes \
    up to one unit per stage. T(S) is the run time; T(1), the same work in one stage, is measured in the same process next \
    to it. Overhead per stage = (T(S) - T(1) * ceil(P / threads)) / S, and also the slope of a line through T(S).";

/// Patterns whose work is cut.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) patterns: &'static [Pattern],
    pub(super) mode: StageMode,
    pub(super) parallel: usize,
    pub(super) peers: &'static [Peer],
}

impl Series {
    /// A case for each pattern and number of stages.
    pub(super) fn cases(&self, setting: &Setting) -> Vec<Case> {
        // The papers' work is 10^7 units, about 14 s.
        let units: u64 = setting.by_effort(20, 5_000, 10_000_000);
        // T(1) is in every row: at one stage there is nothing to divide by.
        let stages: &[u64] = setting.by_effort(
            &[20],
            &[50, 500, 5_000],
            &[10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000],
        );
        let mut cases = Vec::new();
        for &pattern in self.patterns {
            for &stages in stages {
                let stages = Stages {
                    pattern,
                    mode: self.mode,
                    parallel: self.parallel,
                    threads: self.parallel.min(thread::cores()),
                    stages,
                    units: units / stages,
                };
                cases.push(stages.case(setting, self.peers));
            }
        }
        cases
    }
}

/// Run time and overhead against stages.
pub(super) fn pictures(time: &'static str, overhead: &'static str) -> Vec<Picture> {
    let stages = Axis::linear("stages", "");
    let time = Picture::new(
        time,
        "Run time against stages",
        stages,
        Axis::linear("run time", "s"),
    )
    .panels_by(&["pattern"])
    .fit(LineFit::Line);
    let overhead = Picture::new(
        overhead,
        "Overhead per stage against stages",
        Axis::log("stages", ""),
        Axis::log("overhead per stage", "us"),
    );
    vec![time, overhead.panels_by(&["pattern"])]
}
