//! E10: services beside a container of Web services.

use crate::selection::Missing;
use crate::suite::{About, Case, Experiment, Picture, Setting};

/// A Web service container.
#[derive(Debug)]
pub(crate) struct Container;

impl Experiment for Container {
    fn about(&self) -> About {
        About {
            key: "E10",
            name: "container",
            title: "A Web service container",
            question: "By what factor do services beat a container of Web services?",
            definition: "Two-way messages per second, external client, beside a container in the same run.",
            parameters: &[("client", "who asks, and from where")],
            threats: "A container does more than answer.",
            sources: &["P0 Fig. 14"],
        }
    }

    fn cases(&self, _: &Setting) -> Result<Vec<Case>, Missing> {
        Err(Missing {
            row: "E10".to_owned(),
            reason: "services are not reached by HTTP yet".to_owned(),
        })
    }

    fn pictures(&self) -> Vec<Picture> {
        Vec::new()
    }
}
