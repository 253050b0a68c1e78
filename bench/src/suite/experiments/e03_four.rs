//! E03: run time against stages, four computations.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::against_stages::{self, Series};
use crate::suite::stages::{PARAMETERS, Peer};
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Pipeline of four spawned computations, from one stage to ten million.
#[derive(Debug)]
pub(crate) struct Four;

impl Experiment for Four {
    fn about(&self) -> About {
        About {
            key: "E03",
            name: "four",
            title: "Run time against stages, four computations",
            question: "What does it cost to cut fixed work of four computations into more and more stages?",
            definition: against_stages::DEFINITION,
            parameters: PARAMETERS,
            threats: "On fewer than four cores the computations take turns: the ideal time is by the rule of ceil(P / threads). The slope of a line through few points of a short run has the spread of the run.",
            sources: &["P0 Fig. 2", "P0 Fig. 3", "P0 section 2"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let series = Series {
            patterns: &[Pattern::Pipeline],
            mode: StageMode::Spawned,
            parallel: 4,
            peers: Peer::SPAWNED,
        };
        Ok(series.cases(setting))
    }

    fn pictures(&self) -> Vec<Picture> {
        against_stages::pictures("e03-time", "e03-overhead")
    }
}
