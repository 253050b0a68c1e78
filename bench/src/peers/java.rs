//! Java: virtual threads, the HTTP server of its development kit, Jetty and Axis2. They run in a
//! process that answers run after run, so that what it runs is compiled.

use super::answering::{Answering, Asked};
use super::workshop::{Workshop, time, told, words};
use crate::program::{StageMode, WorkProgram};
use serde::Deserialize;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The compiled program, and a process for each number of threads.
#[derive(Debug)]
pub(crate) struct Java {
    shop: Workshop,
    version: u32,
    java: PathBuf,
    compiler: PathBuf,
    running: Asked<usize>,
}

/// A server of HTTP in Java.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JavaServer {
    /// That of the kit.
    Kit,
    /// Jetty's, whose jars are in the folder that `MOTET_JETTY` names.
    Jetty,
    /// Axis2's, with a service by SOAP; `MOTET_AXIS2` names its jars.
    Axis2,
}

const SOURCES: [(&str, &str); 4] = [
    ("Stages.java", include_str!("../../peers/java/Stages.java")),
    (
        "Container.java",
        include_str!("../../peers/java/Container.java"),
    ),
    ("Jetty.java", include_str!("../../peers/java/Jetty.java")),
    ("Axis2.java", include_str!("../../peers/java/Axis2.java")),
];

/// The first version with virtual threads.
const LEAST: u32 = 21;

impl Java {
    /// Compiles the program with the newest kit of these folders and of the usual places; an error
    /// says why there is no peer.
    pub(crate) fn build(folders: &[PathBuf]) -> Result<Java, String> {
        let (version, home) = kit(folders, LEAST, "virtual threads need")?;
        let shop = Workshop::new("java", &SOURCES)?;
        let compiler = home.join("bin/javac");
        shop.build(Command::new(&compiler).args(["Stages.java", "Container.java"]))?;
        Ok(Java {
            shop,
            version,
            java: home.join("bin/java"),
            compiler,
            running: Asked::at_most(usize::MAX),
        })
    }

    /// The version of the kit.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// A server of a counter by HTTP: where it is. It ends with what comes beside.
    pub(crate) fn container(
        &self,
        container: JavaServer,
    ) -> Result<(SocketAddr, impl Sized + use<>), String> {
        let (class, variable) = match container {
            JavaServer::Kit => return self.server(".", "Container"),
            JavaServer::Jetty => ("Jetty", "MOTET_JETTY"),
            JavaServer::Axis2 => ("Axis2", "MOTET_AXIS2"),
        };
        let jars = std::env::var_os(variable).filter(|jars| !jars.is_empty());
        let jars = jars.ok_or_else(|| {
            format!("{variable} names no folder of its jars: bench/peers/java/README.md says how to fetch them")
        })?;
        let jars = format!("{}/*", Path::new(&jars).display());
        let mut compiler = Command::new(&self.compiler);
        self.shop
            .build(compiler.args(["-cp", &jars, &format!("{class}.java")]))?;
        self.server(&format!(".:{jars}"), class)
    }

    fn server(&self, path: &str, class: &str) -> Result<(SocketAddr, Answering), String> {
        #[derive(Deserialize)]
        struct Serving {
            port: u16,
        }
        let mut command = self.java();
        command.args(["-cp", path, class]);
        let mut running = Answering::start(command)?;
        let Serving { port } = told(&running.ask("port")?)?;
        Ok(((Ipv4Addr::LOCALHOST, port).into(), running))
    }

    /// The time of one run, by the program's own clock.
    pub(crate) fn run(&self, mode: StageMode, program: &WorkProgram) -> Result<Duration, String> {
        let (threads, line) = (program.threads, words(program).join(" "));
        let start = || self.start(threads);
        time(
            &self
                .running
                .ask(threads, &format!("{mode} {line}"), start)?,
        )
    }

    fn start(&self, threads: usize) -> Command {
        let scheduler = "-Djdk.virtualThreadScheduler";
        let mut command = self.java();
        command
            .arg(format!("{scheduler}.parallelism={threads}"))
            .arg(format!("{scheduler}.maxPoolSize={threads}"))
            .args(["-cp", ".", "Stages"]);
        command
    }

    fn java(&self) -> Command {
        let mut command = Command::new(&self.java);
        command
            .args(["-XX:+UseSerialGC", "-Xmn512m", "-Xshare:auto"])
            .current_dir(self.shop.folder());
        command
    }
}

/// The newest kit of these folders and of the usual places, and its version, which is to be so
/// new; `need` says for what.
pub(super) fn kit(folders: &[PathBuf], least: u32, need: &str) -> Result<(u32, PathBuf), String> {
    match newest(folders) {
        None => Err("no Java development kit is found: name one's folder with --java".to_owned()),
        Some((version, _)) if version < least => Err(format!(
            "the newest Java found is {version}, {need} {least}: name a newer one's folder with --java"
        )),
        Some(kit) => Ok(kit),
    }
}

/// The newest kit with a compiler, and its major version.
fn newest(folders: &[PathBuf]) -> Option<(u32, PathBuf)> {
    let usual = ["/usr/lib/jvm", "/opt", "/Library/Java/JavaVirtualMachines"];
    let below = usual.iter().filter_map(|folder| fs::read_dir(folder).ok());
    let found = below.flatten().flatten().map(|entry| entry.path());
    let kits = folders.iter().cloned().chain(found);
    kits.filter(|home| home.join("bin/javac").exists())
        .filter_map(|home| Some((version(&home)?, home)))
        .max()
}

/// The major version, as the kit's own file says it.
fn version(home: &Path) -> Option<u32> {
    let told = fs::read_to_string(home.join("release")).ok()?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let line = line.trim_matches('"');
    // Before version 9 they counted 1.8.
    let line = line.strip_prefix("1.").unwrap_or(line);
    line.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_kits_file() {
        let shop = |text: &str| Workshop::new("java-test", &[("release", text)]).unwrap();
        for (text, expected) in [
            ("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.3\"\n", Some(25)),
            ("JAVA_VERSION=\"1.8.0_402\"\n", Some(8)),
            ("JAVA_VERSION=\"21\"\n", Some(21)),
            ("VERSION=\"21\"\n", None),
        ] {
            assert_eq!(version(shop(text).folder()), expected, "{text}");
        }
    }
}
