//! E21: the latency of an exchange on all cores.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::stages::{PARAMETERS, Peer, Stages};
use crate::suite::{About, Axis, Case, Experiment, PaperBeside, Picture, Setting};
use motet_sync::thread;

/// Exchange on all cores, beside everybody who can.
#[derive(Debug)]
pub(crate) struct ExchangeLatency;

impl Experiment for ExchangeLatency {
    fn about(&self) -> About {
        About {
            key: "E21",
            name: "exchange-latency",
            title: "The latency of an exchange",
            question: "What does an exchange of messages with both neighbours cost on all cores, beside MPI and others?",
            definition: "Overhead per stage of Exchange, rendezvous, as many computations as cores: with 20 units of work between \
                         exchanges (the papers' 30 us) and with none.",
            parameters: PARAMETERS,
            threats: "Messages are one number of 8 bytes, not of zero size. Without work between exchanges everything hangs on how \
                      far the cores lie apart. The C floor is no library: it spins and knows its neighbours.",
            sources: &["P3 Table III"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let parallel = thread::cores().max(2);
        let shapes = [
            (20, setting.by_effort(5, 1_000, 100_000)),
            (0, setting.by_effort(20, 20_000, 500_000)),
        ];
        let case = |(units, stages)| {
            let stages = Stages {
                pattern: Pattern::Exchange,
                mode: StageMode::Rendezvous,
                parallel,
                threads: parallel.min(thread::cores()),
                stages,
                units,
            };
            stages.case(setting, Peer::RENDEZVOUS)
        };
        Ok(shapes.into_iter().map(case).collect())
    }

    fn pictures(&self) -> Vec<Picture> {
        let latency = Picture::new(
            "e21-latency",
            "The latency of an exchange",
            Axis::linear("series", ""),
            Axis::log("overhead per stage", "us"),
        );
        vec![latency.bars().panels_by(&["units"]).beside(PaperBeside {
            table: "p3_table3_exchange",
            only: &[("status", "ok")],
            x: "runtime",
            y: "value",
            series_by: &["machine", "os"],
        })]
    }
}
