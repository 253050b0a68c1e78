//! MPI for Java (`peers/java-mpi`): MPJ Express, which is Java alone, and Intel MPI's binding,
//! which calls the library. Ranks start once and answer round after round.

use super::answering::Asked;
use super::java;
use super::mpi;
use super::workshop::{Workshop, told};
use crate::program::WorkProgram;
use crate::said::Said;
use serde::Deserialize;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of them: the compiled programs, and what has been started of them.
#[derive(Debug)]
pub(crate) struct JavaMpiPrograms {
    shop: Workshop,
    /// The kit's virtual machine.
    java: PathBuf,
    /// Where the library is.
    home: PathBuf,
    running: Asked<(JavaRanks, usize)>,
}

/// Whose ranks, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JavaRanks {
    /// MPJ Express: threads, its multicore configuration.
    MpjThreads,
    /// MPJ Express: processes on this machine, its cluster configuration.
    MpjProcesses,
    /// Processes of Intel MPI.
    Intel,
}

/// What the program prints.
#[derive(Debug, Deserialize)]
struct Measured {
    us: f64,
    work_us: f64,
    processes: usize,
}

/// The first version of Java with what the programs are written in.
const LEAST: u32 = 17;
const NEED: &str = "ranks in Java need";

const STAGES: (&str, &str) = (
    "Stages.java",
    include_str!("../../peers/java-mpi/Stages.java"),
);

/// Where Debian's package of MPJ Express is, and what it needs beside.
const MPJ: &str = "/usr/share/mpj";
const LOG4J: &str = "/usr/share/java/log4j-1.2.jar";

/// What all ranks of MPJ Express in one virtual machine share; each has the rest for itself.
const SHARED: [&str; 6] = ["starter", "smpdev", "xdev", "mpjbuf", "mpiExp", "loader1"];

impl JavaRanks {
    pub(crate) const ALL: [JavaRanks; 3] = [
        JavaRanks::MpjThreads,
        JavaRanks::MpjProcesses,
        JavaRanks::Intel,
    ];

    /// The name of its series.
    pub(crate) fn name(self) -> &'static str {
        match self {
            JavaRanks::MpjThreads => "MPJ Express",
            JavaRanks::MpjProcesses => "MPJ Express processes",
            JavaRanks::Intel => "Java on Intel MPI",
        }
    }
}

impl JavaMpiPrograms {
    /// MPJ Express, in the folder that `MPJ_HOME` names or where Debian has it. It runs by the
    /// newest of these Java kits and of those in the usual places. An error says why there is no
    /// peer.
    pub(crate) fn mpj(kits: &[PathBuf]) -> Result<JavaMpiPrograms, String> {
        let home = env::var_os("MPJ_HOME").filter(|home| !home.is_empty());
        JavaMpiPrograms::mpj_at(home.map_or_else(|| PathBuf::from(MPJ), PathBuf::from), kits)
    }

    fn mpj_at(home: PathBuf, kits: &[PathBuf]) -> Result<JavaMpiPrograms, String> {
        let library = home.join("lib/mpj.jar");
        if !library.exists() {
            return Err(format!(
                "there is no {}: apt-get install libmpj-java, or name the folder of MPJ Express by MPJ_HOME",
                library.display()
            ));
        }
        let messages = include_str!("../../peers/java-mpi/MpjExpress.java");
        let processes = include_str!("../../peers/java-mpi/Processes.java");
        let sources = [
            STAGES,
            ("Messages.java", messages),
            ("Processes.java", processes),
        ];
        JavaMpiPrograms::build(home, &library, kits, &sources)
    }

    /// The binding of an Intel MPI in one of these folders.
    pub(crate) fn intel(
        kits: &[PathBuf],
        installations: &[PathBuf],
    ) -> Result<JavaMpiPrograms, String> {
        let library = |home: &Path| home.join("share/java/mpi.jar");
        let home = installations.iter().find(|home| library(home).exists());
        let home = home.ok_or(
            "no Intel MPI with share/java/mpi.jar is found: pip install impi-rt, and name its folder with --mpi",
        )?;
        // The programs run in a folder of their own.
        let home = std::path::absolute(home).said()?;
        let messages = include_str!("../../peers/java-mpi/IntelMpi.java");
        let sources = [STAGES, ("Messages.java", messages)];
        JavaMpiPrograms::build(home.clone(), &library(&home), kits, &sources)
    }

    fn build(
        home: PathBuf,
        library: &Path,
        kits: &[PathBuf],
        sources: &[(&str, &str)],
    ) -> Result<JavaMpiPrograms, String> {
        let (_, kit) = java::kit(kits, LEAST, NEED)?;
        let shop = Workshop::new("java-mpi", sources)?;
        let mut compiler = Command::new(kit.join("bin/javac"));
        compiler.args(["-nowarn", "-cp"]).arg(library);
        compiler.args(sources.iter().map(|(name, _)| name));
        shop.build(&mut compiler)?;
        Ok(JavaMpiPrograms {
            shop,
            java: kit.join("bin/java"),
            home,
            running: Asked::at_most(usize::MAX),
        })
    }

    /// The version of MPJ Express, as the name of its library tells it.
    pub(crate) fn mpj_version(&self) -> Option<String> {
        let library = std::fs::canonicalize(self.home.join("lib/mpj.jar")).ok()?;
        let name = library.file_stem()?.to_str()?;
        Some(name.trim_start_matches("mpj-").to_owned())
    }

    /// The time of a stage of this program, and of its work alone, in µs. There is a rank for each
    /// computation. They run as many stages as last so long.
    pub(crate) fn stages(
        &self,
        ranks: JavaRanks,
        program: &WorkProgram,
        budget_us: f64,
    ) -> Result<(f64, f64), String> {
        let line = format!(
            "{} {} {} {budget_us}",
            program.pattern,
            program.work.count,
            program.work.unit.terms()
        );
        let start = || self.start(ranks, program.parallel);
        let told: Measured = told(&self.running.ask((ranks, program.parallel), &line, start)?)?;
        match told.processes == program.parallel {
            true => Ok((told.us, told.work_us)),
            false => Err(format!("{} ranks ran together", told.processes)),
        }
    }

    fn start(&self, ranks: JavaRanks, count: usize) -> Command {
        let mut command = match ranks {
            JavaRanks::Intel => mpi::intel(&self.home, count),
            JavaRanks::MpjThreads | JavaRanks::MpjProcesses => Command::new(&self.java),
        };
        command.current_dir(self.shop.folder());
        let jar = |name: &str| {
            self.home
                .join(format!("lib/{name}.jar"))
                .display()
                .to_string()
        };
        let options = ["-XX:+UseSerialGC", "-Xshare:auto"];
        let count = count.to_string();
        match ranks {
            JavaRanks::Intel => {
                let path = format!("{}:.", self.home.join("share/java/mpi.jar").display());
                command.arg(&self.java).args(options).args([
                    "--enable-native-access=ALL-UNNAMED",
                    "-cp",
                    &path,
                    "Stages",
                ]);
            }
            JavaRanks::MpjThreads => {
                let folder = self.shop.folder().display().to_string();
                let path = format!("{}:{LOG4J}", SHARED.map(jar).join(":"));
                let own = [jar("mpi"), jar("mpjdev"), folder.clone()].join(":");
                command
                    .env("MPJ_HOME", &self.home)
                    .args(options)
                    .args(["-cp", &path, "runtime.starter.MulticoreStarter", &folder])
                    .args([&count, "smpdev", "useLocalLoader", &own, "Stages"]);
            }
            JavaRanks::MpjProcesses => {
                let path = format!("{}:{LOG4J}:.", jar("mpj"));
                command
                    .env("MPJ_HOME", &self.home)
                    .args(options)
                    .args(["-cp", ".", "Processes", &count])
                    .arg(&self.java)
                    .args([&path, "Stages"]);
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_a_reason() {
        let reason = JavaMpiPrograms::mpj_at("/nowhere".into(), &[]).unwrap_err();
        assert!(reason.contains("apt-get install libmpj-java"), "{reason}");
        let reason = JavaMpiPrograms::intel(&[], &["/nowhere".into()]).unwrap_err();
        assert!(reason.contains("pip install impi-rt"), "{reason}");
    }
}
