//! C#: threads that sleep on monitors, in a process of Mono that answers run after run, so that
//! what it runs is compiled.

use super::answering::Answering;
use super::workshop::{Workshop, answered, deviation};
use crate::program::WorkProgram;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The compiled program, and its process once it was asked.
#[derive(Debug)]
pub(crate) struct CSharp {
    shop: Workshop,
    running: RefCell<Option<Answering>>,
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
            running: RefCell::default(),
        })
    }

    /// The time of one run, by the program's own clock. It has a thread for each computation.
    pub(crate) fn run(&self, program: &WorkProgram) -> Result<Duration, String> {
        let answer = self.ask(&format!(
            "{} {} {} {} {}",
            program.pattern,
            program.parallel,
            program.stages,
            program.work.count,
            program.work.unit.terms()
        ))?;
        answered(answer.as_bytes()).ok_or(format!("it answers {answer}"))
    }

    /// How far the times of the clustering kernel lie from their mean, over the mean. It is
    /// told threads, points, clusters and synchronisations.
    pub(crate) fn fluctuation(&self, kernel: &[String]) -> Result<f64, String> {
        let answer = self.ask(&format!("kernel {}", kernel.join(" ")))?;
        deviation(answer.as_bytes()).ok_or(format!("it answers {answer}"))
    }

    fn ask(&self, line: &str) -> Result<String, String> {
        let mut kept = self.running.borrow_mut();
        let mut running = match kept.take() {
            Some(running) => running,
            None => {
                let mut command = Command::new("mono");
                command.arg("Stages.exe").current_dir(self.shop.folder());
                Answering::start(command)?
            }
        };
        // After an error the next one that asks starts anew.
        let answer = running.ask(line)?;
        *kept = Some(running);
        Ok(answer)
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
