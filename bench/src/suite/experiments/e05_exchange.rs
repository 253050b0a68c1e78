//! E05: Exchange in place of Pipeline, against stages.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::against_stages::{self, Series};
use crate::suite::stages::{PARAMETERS, Peer};
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Exchange of four spawned computations against stages.
#[derive(Debug)]
pub(crate) struct Exchange;

impl Experiment for Exchange {
    fn about(&self) -> About {
        About {
            key: "E05",
            name: "exchange",
            title: "Exchange against stages",
            question: "What does a stage cost whose handler needs a message from each neighbour?",
            definition: against_stages::DEFINITION,
            parameters: PARAMETERS,
            threats: "Motet joins one message from each side; the papers and the peers take any two.",
            sources: &["P0 Fig. 6"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let series = Series {
            patterns: &[Pattern::Exchange],
            mode: StageMode::Spawned,
            parallel: 4,
            peers: Peer::SPAWNED,
        };
        Ok(series.cases(setting))
    }

    fn pictures(&self) -> Vec<Picture> {
        against_stages::pictures("e05-time", "e05-overhead")
    }
}
