//! E17: the latency of services again, start-up left out.

use crate::selection::Missing;
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Service latency.
#[derive(Debug)]
pub(crate) struct ServiceLatency;

impl Experiment for ServiceLatency {
    fn about(&self) -> About {
        About {
            key: "E17",
            name: "service-latency",
            title: "Service latency",
            question: "What does a request with its response take between services, once they have started?",
            definition: "As E09, without the first messages.",
            parameters: &[("messages", "messages in a group")],
            threats: "As E09.",
            sources: &["P1 section 5.2", "P3 section I"],
        }
    }

    fn cases(&self, _: &Setting) -> Result<Vec<Case>, Missing> {
        Err(Missing {
            row: "E17".to_owned(),
            reason: "services are not reached from other processes yet".to_owned(),
        })
    }

    fn pictures(&self) -> Vec<Picture> {
        Vec::new()
    }
}
