//! OpenMP: C programs of the project's own (`peers/openmp`), built with the C compiler when they
//! are first wanted. `peers/openmp/README.md` says why they are built and started as they are.

use super::workshop::{Workshop, printed};
use crate::kernels::loops::LoopSplit;
use crate::unit::Unit;
use motet_sync::thread;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// The built programs, in a folder that goes with them.
#[derive(Debug)]
pub(crate) struct OpenMp {
    shop: Workshop,
}

/// What a program prints.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct PrintedResult {
    /// The time of a round, in µs.
    pub(crate) us: f64,
    /// What it has computed.
    pub(crate) sum: f64,
}

const SOURCES: [(&str, &str); 3] = [
    ("peer.h", include_str!("../../peers/openmp/peer.h")),
    ("loops.c", include_str!("../../peers/openmp/loops.c")),
    ("product.c", include_str!("../../peers/openmp/product.c")),
];

impl OpenMp {
    /// Builds the programs; an error says why there is no peer.
    pub(crate) fn build(cc: &Path) -> Result<OpenMp, String> {
        let shop = Workshop::new("openmp", &SOURCES)?;
        for program in ["loops", "product"] {
            let mut compiler = Command::new(cc);
            compiler.args(["-O3", "-march=native", "-fopenmp", "-o", program]);
            shop.build(compiler.arg(format!("{program}.c")))?;
        }
        Ok(OpenMp { shop })
    }

    /// A loop over blocks of so many units each, for about so long.
    pub(crate) fn loops(
        &self,
        (blocks, threads): (usize, usize),
        (units, unit): (u64, Unit),
        split: LoopSplit,
        budget_us: f64,
    ) -> Result<PrintedResult, String> {
        let arguments = [
            blocks as u64,
            threads as u64,
            units,
            u64::from(unit.terms()),
        ];
        self.run("loops", &arguments, threads, split, budget_us)
    }

    /// A product of matrices, for about so long.
    pub(crate) fn product(
        &self,
        size: usize,
        threads: usize,
        split: LoopSplit,
        budget_us: f64,
    ) -> Result<PrintedResult, String> {
        self.run(
            "product",
            &[size as u64, threads as u64],
            threads,
            split,
            budget_us,
        )
    }

    fn run(
        &self,
        program: &str,
        arguments: &[u64],
        threads: usize,
        split: LoopSplit,
        budget_us: f64,
    ) -> Result<PrintedResult, String> {
        let schedule = match split {
            LoopSplit::Static => "static",
            LoopSplit::Dynamic => "dynamic",
        };
        // With a core for each thread they may spin for each other, and must stay where they are.
        let (wait, bind) = match threads <= thread::cores() {
            true => ("active", "true"),
            false => ("passive", "false"),
        };
        let mut command = Command::new(self.shop.folder().join(program));
        command
            .args(arguments.iter().map(u64::to_string))
            .arg(schedule)
            .arg(format!("{budget_us:.0}"))
            .envs([("OMP_WAIT_POLICY", wait), ("OMP_PROC_BIND", bind)])
            .envs([("OMP_PLACES", "cores"), ("OMP_DYNAMIC", "false")]);
        printed(command, program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::matrices::Matrices;

    #[test]
    fn its_programs_compute_what_motets_do() {
        let openmp = match OpenMp::build(Path::new("cc")) {
            Ok(openmp) => openmp,
            // A machine without a compiler has no peer, and the suite says so.
            Err(reason) => return assert!(reason.starts_with("cc does not"), "{reason}"),
        };
        let unit = Unit::calibrate();
        for split in LoopSplit::BOTH {
            for threads in [1, 2, 3] {
                for size in [1, 7, 70, 300] {
                    let told = openmp.product(size, threads, split, 1.0).unwrap();
                    assert_eq!(told.sum, Matrices::known(size), "size {size}");
                }
                for blocks in [0, 1, 100] {
                    let told = openmp.loops((blocks, threads), (1, unit), split, 1.0);
                    let known = (0..blocks).sum::<usize>() as f64;
                    assert_eq!(told.unwrap().sum, known, "{blocks} blocks");
                }
            }
        }
    }

    #[test]
    fn an_absent_compiler_is_a_reason() {
        let reason = OpenMp::build(Path::new("no-such-cc")).unwrap_err();
        assert!(reason.starts_with("no-such-cc does not run"), "{reason}");
    }
}
