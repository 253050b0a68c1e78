//! E33: the product of two matrices with a static and a dynamic split, against their size.

use crate::kernels::matrices::Matrices;
use crate::kernels::thread_counts;
use crate::selection::Missing;
use crate::suite::contenders::Products;
use crate::suite::{About, Axis, Case, Experiment, Picture, Point, Quantity, Setting};

/// Time and rate of a product.
#[derive(Debug)]
pub(crate) struct MatrixMultiplication;

const TIME: Quantity = Quantity::new("time", "ms");
const RATE: Quantity = Quantity::new("rate", "GFLOP/s");

impl Experiment for MatrixMultiplication {
    fn about(&self) -> About {
        About {
            key: "E33",
            name: "matrix-multiplication",
            title: "Matrix multiplication with a static and a dynamic split",
            question: "How fast is a product of two matrices whose rows are split by hand (ports) or handed out (tasks), \
                       beside other ways to write the same loop and beside a library made for it?",
            definition: "C = A B with square matrices of f64 in the order of rows. Static: a band of rows for each thread, a \
                         message and a handler for each band (motet static). Dynamic: four bands for each thread, taken one after \
                         the other by one task per thread (motet dynamic); rayon's par_iter has the same bands. Their kernel for \
                         a band is that of the crate matrixmultiply, for AVX-512 where the processor has it. Who calls the \
                         loop is one of its threads, as in E36. OpenMP has a kernel of its own in C, OpenBLAS its own. Time \
                         of one product, of as many as last long enough, after some for nothing; rate = 2 N^3 / time. The \
                         elements are whole numbers whose sums are exact: every product's checksum is compared.",
            parameters: &[("size", "rows of the matrices"), ("threads", "threads")],
            threats: "Each band of a dynamic split brings B into the kernel's order anew, which OpenMP's kernel does once for \
                      all: that favours it for small bands. The kernels differ: compare motet with rayon to see the \
                      split, with OpenMP and OpenBLAS to see what a user gets. The papers' sizes and element type are lost.",
            sources: &["P4 Fig. 13", "P4 Fig. 14"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let products = Products::new(setting);
        let sizes: &[usize] = setting.by_effort(
            &[24],
            &[64, 256, 1024],
            &[32, 64, 128, 256, 512, 1024, 2048],
        );
        let points = thread_counts()
            .into_iter()
            .flat_map(|threads| sizes.iter().map(move |&size| (threads, size)));
        let cases = points.map(|(threads, size)| {
            let point = Point::new().with("size", size).with("threads", threads);
            Products::case(
                &products,
                setting,
                (point, size),
                &[TIME, RATE],
                move |us| {
                    let us = us(threads)?;
                    Ok(vec![us / 1e3, Matrices::operations(size) / us / 1e3])
                },
            )
        });
        Ok(cases.collect())
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = |key, title, y| {
            Picture::new(key, title, Axis::log("size", "rows"), y).panels_by(&["threads"])
        };
        vec![
            picture("e33-time", "Time of a product", Axis::log("time", "ms")),
            picture(
                "e33-rate",
                "Rate of a product",
                Axis::linear("rate", "GFLOP/s"),
            ),
        ]
    }
}
