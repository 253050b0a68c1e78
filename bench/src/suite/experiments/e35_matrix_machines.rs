//! E35: the efficiency of the product of matrices on different processors.

use super::e34_matrix_efficiency;
use crate::selection::Missing;
use crate::suite::{About, Axis, Case, Experiment, Identity, Picture, Quantity, Setting};

/// The same as E34, by processor.
#[derive(Debug)]
pub(crate) struct MatrixMachines;

const EFFICIENCY: Quantity = Quantity::new("efficiency", "");

impl Experiment for MatrixMachines {
    fn about(&self) -> About {
        About {
            key: "E35",
            name: "matrix-machines",
            title: "Efficiency of matrix multiplication, processor against processor",
            question: "Does one processor reach the same efficiency at smaller matrices than another?",
            definition: "The efficiencies of E34 with the processor's name in each point. This machine measures one processor: run \
                         the experiment on another, and put the lines of both files together to see both.",
            parameters: &[
                ("processor", "the model that the system names"),
                ("size", "rows of the matrices"),
                ("threads", "threads"),
            ],
            threats: "As E34; and that two machines differ in memory and cooling too, not in their processors alone.",
            sources: &["P4 Fig. 17", "P4 Fig. 18"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let Identity {
            model,
            architecture,
            ..
        } = Identity::here();
        let processor = model.unwrap_or(architecture);
        e34_matrix_efficiency::cases(setting, &[EFFICIENCY], |point| {
            point.with("processor", processor.as_str())
        })
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e35-processors",
            "Efficiency of a product by processor",
            Axis::log("size", "rows"),
            Axis::linear("efficiency", ""),
        );
        vec![picture.series_by(&["processor"]).panels_by(&["threads"])]
    }
}
