//! Go: a program of its own, built from `peers/go` when it is first wanted.

use crate::program::Program;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, process};

/// The built program, in a folder that goes with it.
#[derive(Debug)]
pub(crate) struct Go {
    folder: PathBuf,
}

/// What the program prints.
#[derive(Deserialize)]
struct Timing {
    ns: u64,
}

impl Go {
    /// Builds the program; an error says why there is no peer.
    pub(crate) fn build(go: &Path) -> Result<Go, String> {
        let folder = env::temp_dir().join(format!("motet-bench-go-{}", process::id()));
        let build = Go { folder };
        let written = fs::create_dir_all(&build.folder).and_then(|()| {
            let source = include_str!("../../peers/go/ring.go");
            fs::write(build.folder.join("ring.go"), source)
        });
        written.map_err(|error| format!("{}: {error}", build.folder.display()))?;
        let built = Command::new(go)
            .args(["build", "-o", "ring", "ring.go"])
            .current_dir(&build.folder)
            // Nothing but the standard library is used: no network, no module files.
            .env("GO111MODULE", "off")
            .env("GOTOOLCHAIN", "local")
            .output()
            .map_err(|error| format!("{} does not run: {error}", go.display()))?;
        if built.status.success() {
            Ok(build)
        } else {
            let said = String::from_utf8_lossy(&built.stderr);
            Err(format!("{} does not build it: {said}", go.display()))
        }
    }

    /// The time of one run, by the program's own clock.
    pub(crate) fn ring(&self, program: &Program) -> Result<Duration, String> {
        let ran = Command::new(self.folder.join("ring"))
            .arg(program.pattern.name())
            .args([program.parallel.to_string(), program.stages.to_string()])
            .env("GOMAXPROCS", program.threads.to_string())
            .output()
            .map_err(|error| format!("the program does not run: {error}"))?;
        let timing: Timing = serde_json::from_slice(&ran.stdout)
            .map_err(|error| format!("the program's answer is no time: {error}"))?;
        Ok(Duration::from_nanos(timing.ns))
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // What cannot be removed stays for the system to clean up.
        let _ = fs::remove_dir_all(&self.folder);
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
