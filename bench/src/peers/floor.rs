//! Plain C, with threads that are bound to cores: the floor, where they spin, and one where they
//! sleep on locks. Built from `peers/c` when it is first wanted.

use super::workshop::{Fluctuation, Workshop, printed, timing, words};
use crate::program::WorkProgram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The built program, in a folder that goes with it.
#[derive(Debug)]
pub(crate) struct Floor {
    shop: Workshop,
}

impl Floor {
    /// Builds the program; an error says why there is no floor.
    pub(crate) fn build(cc: &Path) -> Result<Floor, String> {
        let source = include_str!("../../peers/c/stages.c");
        let kernel = include_str!("../../peers/c/kernel.c");
        let shop = Workshop::new("c", &[("stages.c", source), ("kernel.c", kernel)])?;
        for program in ["stages", "kernel"] {
            let mut compiler = Command::new(cc);
            let source = format!("{program}.c");
            compiler.args(["-O3", "-pthread", "-o", program, &source, "-lm"]);
            shop.build(&mut compiler)?;
        }
        Ok(Floor { shop })
    }

    /// The time of one run, by the program's own clock. It has a thread for each computation, which
    /// waits as `wait` says: `spin` or `locks`.
    pub(crate) fn run(&self, program: &WorkProgram, wait: &str) -> Result<Duration, String> {
        let mut command = Command::new(self.shop.folder().join("stages"));
        command.args(words(program)).arg(wait);
        timing(command)
    }

    /// How far the times of the clustering kernel lie from their mean, over the mean. It is
    /// told threads, points, clusters and synchronisations.
    pub(crate) fn fluctuation(&self, kernel: &[String]) -> Result<f64, String> {
        let mut command = Command::new(self.shop.folder().join("kernel"));
        command.args(kernel);
        Ok(printed::<Fluctuation>(command, "it")?.deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_compiler_is_a_reason() {
        let reason = Floor::build(Path::new("no-such-cc")).unwrap_err();
        assert!(reason.starts_with("no-such-cc does not run"), "{reason}");
    }
}
