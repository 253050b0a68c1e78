//! Go: programs of their own, built from `peers/go` when it is first wanted.

use super::workshop::{Workshop, printed, timing, words};
use crate::program::{StageMode, WorkProgram};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The built programs, in a folder that goes with it.
#[derive(Debug)]
pub(crate) struct Go {
    shop: Workshop,
}

/// What the program of calls prints of single timings.
#[derive(Deserialize)]
struct SingleTimings {
    each: Vec<u64>,
}

impl Go {
    /// Builds the programs; an error says why there is no peer.
    pub(crate) fn build(go: &Path) -> Result<Go, String> {
        let source = include_str!("../../peers/go/ring.go");
        let calls = include_str!("../../peers/go/calls.go");
        let shop = Workshop::new("go", &[("ring.go", source), ("calls.go", calls)])?;
        for program in ["ring", "calls"] {
            let mut compiler = Command::new(go);
            compiler
                .args(["build", "-o", program, &format!("{program}.go")])
                // Nothing but the standard library is used: no network, no module files.
                .env("GO111MODULE", "off")
                .env("GOTOOLCHAIN", "local");
            shop.build(&mut compiler)?;
        }
        Ok(Go { shop })
    }

    /// Microseconds of a call, by the own clock. `group` has `one` messages in a group and `two`
    /// groups. `clients` has `one` clients and `two` messages of each.
    pub(crate) fn calls(
        &self,
        mode: &str,
        threads: usize,
        one: usize,
        two: usize,
    ) -> Result<f64, String> {
        let mut command = Command::new(self.shop.folder().join("calls"));
        command
            .args([mode, &one.to_string(), &two.to_string()])
            .env("GOMAXPROCS", threads.to_string());
        Ok(timing(command)?.as_secs_f64() * 1e6 / (one * two) as f64)
    }

    /// Microseconds of a call in each of so many timings of a group on one thread, after a group
    /// that is not counted.
    pub(crate) fn timings(&self, timings: usize, group: usize) -> Result<Vec<f64>, String> {
        let mut command = Command::new(self.shop.folder().join("calls"));
        command
            .args(["timings", &group.to_string(), &timings.to_string()])
            .env("GOMAXPROCS", "1");
        let SingleTimings { each } = printed(command, "it")?;
        let us = |ns: u64| ns as f64 / 1e3 / group as f64;
        Ok(each.into_iter().map(us).collect())
    }

    /// The time of one run of spawned stages, by the program's own clock.
    pub(crate) fn ring(&self, program: &WorkProgram) -> Result<Duration, String> {
        self.run(StageMode::Spawned, program)
    }

    /// The time of one run, by the program's own clock.
    pub(crate) fn run(&self, mode: StageMode, program: &WorkProgram) -> Result<Duration, String> {
        let mut command = Command::new(self.shop.folder().join("ring"));
        command
            .arg(mode.name())
            .args(words(program))
            .env("GOMAXPROCS", program.threads.to_string());
        timing(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_compiler_is_a_reason() {
        let reason = Go::build(Path::new("no-such-go")).unwrap_err();
        assert!(reason.starts_with("no-such-go does not run"), "{reason}");
    }
}
