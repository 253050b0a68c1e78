//! E09: two-way messages between services, by the size of the group.

use crate::selection::Missing;
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// Service messages by group size.
#[derive(Debug)]
pub(crate) struct Services;

impl Experiment for Services {
    fn about(&self) -> About {
        About {
            key: "E09",
            name: "services",
            title: "Service messages by group size",
            question: "What does a request with its response take between two services of one machine?",
            definition: "Mean time of a two-way message against the number of messages in a group.",
            parameters: &[("messages", "messages in a group")],
            threats: "Small groups hold the start of both services.",
            sources: &["P0 Fig. 13"],
        }
    }

    fn cases(&self, _: &Setting) -> Result<Vec<Case>, Missing> {
        Err(Missing {
            row: "E09".to_owned(),
            reason: "motet has no services yet".to_owned(),
        })
    }

    fn pictures(&self) -> Vec<Picture> {
        Vec::new()
    }
}
