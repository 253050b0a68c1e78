//! E04: run time against stages, two computations.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::against_stages::{self, Series};
use crate::suite::stages::{PARAMETERS, Peer};
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Pipeline of two spawned computations, from one stage to ten million.
#[derive(Debug)]
pub(crate) struct Two;

impl Experiment for Two {
    fn about(&self) -> About {
        About {
            key: "E04",
            name: "two",
            title: "Run time against stages, two computations",
            question: "What does it cost to cut fixed work of two computations into more and more stages?",
            definition: against_stages::DEFINITION,
            parameters: PARAMETERS,
            threats: "The papers left two of four cores free; on a machine with two cores none is.",
            sources: &["P0 Fig. 4", "P0 Fig. 5"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let series = Series {
            patterns: &[Pattern::Pipeline],
            mode: StageMode::Spawned,
            parallel: 2,
            peers: Peer::SPAWNED,
        };
        Ok(series.cases(setting))
    }

    fn pictures(&self) -> Vec<Picture> {
        against_stages::pictures("e04-time", "e04-overhead")
    }
}
