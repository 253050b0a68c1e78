//! C#: threads that sleep on monitors, in a process of Mono that answers run after run, so that
//! what it runs is compiled.

use super::answering::Asked;
use super::workshop::{Fluctuation, Workshop, time, told, words};
use crate::program::WorkProgram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The compiled program, and its process once it was asked.
#[derive(Debug)]
pub(crate) struct CSharp {
    shop: Workshop,
    running: Asked<()>,
}

impl CSharp {
    /// Compiles the program; an error says why there is no peer.
    pub(crate) fn build(compiler: &Path) -> Result<CSharp, String> {
        let source = include_str!("../../peers/csharp/Stages.cs");
        let shop = Workshop::new("csharp", &[("Stages.cs", source)])?;
        let mut command = Command::new(compiler);
        command.args(["-optimize+", "-out:Stages.exe", "Stages.cs"]);
        let installed = |reason| format!("{reason}: apt-get install mono-mcs mono-runtime");
        shop.build(&mut command).map_err(installed)?;
        Ok(CSharp {
            shop,
            running: Asked::at_most(1),
        })
    }

    /// The time of one run, by the program's own clock. It has a thread for each computation.
    pub(crate) fn run(&self, program: &WorkProgram) -> Result<Duration, String> {
        time(&self.ask(&words(program).join(" "))?)
    }

    /// How far the times of the clustering kernel lie from their mean, over the mean. It is
    /// told threads, points, clusters and synchronisations.
    pub(crate) fn fluctuation(&self, kernel: &[String]) -> Result<f64, String> {
        let answer = self.ask(&format!("kernel {}", kernel.join(" ")))?;
        Ok(told::<Fluctuation>(&answer)?.deviation)
    }

    fn ask(&self, line: &str) -> Result<String, String> {
        self.running.ask((), line, || {
            let mut command = Command::new("mono");
            command.arg("Stages.exe").current_dir(self.shop.folder());
            command
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_compiler_is_a_reason() {
        let reason = CSharp::build(Path::new("no-such-mcs")).unwrap_err();
        assert!(reason.starts_with("no-such-mcs does not run"), "{reason}");
        assert!(reason.contains("mono-mcs"), "{reason}");
    }
}
