//! E15: rendezvous overhead against stages.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::against_stages::{self, Series};
use crate::suite::stages::{PARAMETERS, Peer};
use crate::suite::{About, Case, Experiment, Picture, Setting};
use motet_sync::thread;

/// Ranks on all cores: Exchange, Exchange as two shifts and Shift.
#[derive(Debug)]
pub(crate) struct RendezvousRanks;

impl Experiment for RendezvousRanks {
    fn about(&self) -> About {
        About {
            key: "E15",
            name: "rendezvous",
            title: "Rendezvous overhead against stages",
            question: "What does a stage cost to computations that wait for each other, down to one unit of work per stage?",
            definition: against_stages::DEFINITION,
            parameters: PARAMETERS,
            threats: "Peers that spin suffer more from other load than ranks do. MPI runs its own number of stages, as many as its time allows, and its time is scaled.",
            sources: &["P1 Fig. 5"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let series = Series {
            patterns: &[
                Pattern::Exchange,
                Pattern::ExchangeTwoShifts,
                Pattern::Shift,
            ],
            mode: StageMode::Rendezvous,
            parallel: thread::cores().max(2),
            peers: Peer::RENDEZVOUS,
        };
        Ok(series.cases(setting))
    }

    fn pictures(&self) -> Vec<Picture> {
        against_stages::pictures("e15-time", "e15-overhead")
    }
}
