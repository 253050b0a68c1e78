//! E34: the efficiency of the product of matrices with a static and a dynamic split.

use crate::kernels::thread_counts;
use crate::selection::Missing;
use crate::suite::contenders::Products;
use crate::suite::{About, Axis, Case, Experiment, Picture, Point, Quantity, Setting};

/// How much of so many threads a product gets.
#[derive(Debug)]
pub(crate) struct MatrixEfficiency;

const EFFICIENCY: Quantity = Quantity::new("efficiency", "");

impl Experiment for MatrixEfficiency {
    fn about(&self) -> About {
        About {
            key: "E34",
            name: "matrix-efficiency",
            title: "Efficiency of matrix multiplication, static against dynamic",
            question: "From which size on do threads pay, and does it matter who decides which of them gets which rows?",
            definition: "efficiency = T(1) / (p T(p)): the time of a product on one thread and on p, one after the other, by \
                         the same program as in E33, divided in pairs. A static split on one thread is one band, a dynamic one \
                         four.",
            parameters: &[("size", "rows of the matrices"), ("threads", "threads")],
            threats: "One thread may run at a higher clock than all, which lowers every efficiency; a program that is slow on one \
                      thread has it easier: look at the rates of E33.",
            sources: &["P4 Fig. 15", "P4 Fig. 16"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        cases(setting, &[EFFICIENCY], |point| point)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e34-efficiency",
            "Efficiency of a product",
            Axis::log("size", "rows"),
            Axis::linear("efficiency", ""),
        );
        vec![picture.panels_by(&["threads"])]
    }
}

/// The efficiencies of all sizes and threads, at points that `place` may add to.
pub(super) fn cases(
    setting: &Setting,
    quantities: &[Quantity],
    place: impl Fn(Point) -> Point,
) -> Result<Vec<Case>, Missing> {
    let products = Products::new(setting);
    let sizes: &[usize] = setting.by_effort(
        &[24],
        &[32, 64, 128, 256, 512],
        &[32, 64, 128, 256, 512, 1024, 2048],
    );
    let mut cases = Vec::new();
    for threads in thread_counts().into_iter().filter(|&threads| threads > 1) {
        for &size in sizes {
            let point = place(Point::new().with("size", size).with("threads", threads));
            let case = Products::case(&products, setting, (point, size), quantities, move |us| {
                let (one, all) = (us(1)?, us(threads)?);
                Ok(vec![one / (threads as f64 * all)])
            });
            cases.push(case);
        }
    }
    match cases.is_empty() {
        false => Ok(cases),
        true => Err(Missing {
            row: "every size".to_owned(),
            reason: "there is one core only, whose efficiency is 1 by definition".to_owned(),
        }),
    }
}
