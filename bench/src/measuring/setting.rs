//! What is given to whatever is measured: effort, peers, tools.

use super::effort::Effort;
use crate::kernels::Lazy;
use crate::peers::csharp::CSharp;
use crate::peers::floor::Floor;
use crate::peers::go::Go;
use crate::peers::java::Java;
use crate::peers::java_mpi::{JavaMpiPrograms, JavaRanks};
use crate::peers::mpi::{Absent, Mpi};
use crate::peers::openmp::OpenMp;
use crate::system::said;
use crate::unit::Unit;
use motet_sync::thread;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use thiserror::Error;

/// The names of all peers of the suite; several series of one begin with it.
const PEERS: &[&str] = &[
    "tokio",
    "axum",
    "rayon",
    "crossbeam-channel",
    "Go",
    "Java",
    "Jetty",
    "Axis2",
    "C floor",
    "C with locks",
    "C# with locks",
    "C with threads",
    "C# with threads",
    "MPI",
    "MPJ Express",
    "MPJ Express processes",
    "Java on Intel MPI",
    "MPICH 4",
    "MPICH 5",
    "Open MPI 4",
    "Open MPI 5",
    "threads without messages",
    "scikit-learn",
    "Spark",
    "Spark MLlib",
    "OpenMP",
    "OpenBLAS",
];

/// There is no peer whose name begins so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no peer {0}: name none, or beginnings of {peers}",
    peers = PEERS.join(", ")
)]
pub struct UnknownPeer(pub String);

/// With what to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuringConfig {
    /// How much work, and how often.
    pub effort: Effort,
    /// Peers by the beginnings of their names; `None`: all there are, an empty list: none.
    pub peers: Option<Vec<String>>,
    /// Threads that fill the machine are bound to their cores.
    pub pinned: bool,
    /// The folder of the data sets.
    pub data: Option<PathBuf>,
    /// The Go compiler.
    pub go: PathBuf,
    /// The C compiler.
    pub cc: PathBuf,
    /// A Python that has the peers of the clustering.
    pub python: PathBuf,
    /// Folders of Java installations, beside those that are found.
    pub java: Vec<PathBuf>,
    /// Folders of MPI installations, beside those on the search path.
    pub mpi: Vec<PathBuf>,
    /// The program `motet`, which runs programs of ranks on several processes.
    pub motet: Option<PathBuf>,
}

/// A [`MeasuringConfig`] with what it makes: the unit of work, and peers, each built when it is
/// first wanted.
#[derive(Debug)]
pub struct Setting {
    config: MeasuringConfig,
    unit: Unit,
    /// The C programs of stages and of the clustering kernel.
    pub(crate) floor: Rc<Lazy<Floor>>,
    /// The C# program of stages, by Mono's compiler on the search path.
    pub(crate) csharp: Rc<Lazy<CSharp>>,
    /// The Go programs.
    pub(crate) go: Rc<Lazy<Go>>,
    /// The Java programs.
    pub(crate) java: Rc<Lazy<Java>>,
    /// The OpenMP programs of loops and matrices.
    pub(crate) openmp: Rc<Lazy<OpenMp>>,
    mpi: OnceCell<(Rc<[Mpi]>, Vec<Absent>)>,
    mpj: Rc<Lazy<JavaMpiPrograms>>,
    intel: Rc<Lazy<JavaMpiPrograms>>,
}

impl MeasuringConfig {
    /// Whether every peer that is asked for is one.
    ///
    /// # Errors
    /// [`UnknownPeer`], which lists those there are.
    pub fn check_peers(&self) -> Result<(), UnknownPeer> {
        let mut asked = self.peers.iter().flatten();
        match asked.find(|part| !PEERS.iter().any(|peer| begins(peer, part))) {
            Some(part) => Err(UnknownPeer(part.clone())),
            None => Ok(()),
        }
    }
}

impl Setting {
    /// Finds the length of the unit of work here and now.
    #[must_use]
    pub fn new(config: MeasuringConfig) -> Setting {
        let (with_cc, with_openmp, with_go) =
            (config.cc.clone(), config.cc.clone(), config.go.clone());
        let [kits, for_mpj, for_intel] = [(); 3].map(|()| config.java.clone());
        let installations = config.mpi.clone();
        Setting {
            unit: Unit::calibrate(),
            floor: Lazy::shared(move || Floor::build(&with_cc)),
            csharp: Lazy::shared(|| CSharp::build(Path::new("mcs"))),
            go: Lazy::shared(move || Go::build(&with_go)),
            java: Lazy::shared(move || Java::build(&kits)),
            mpi: OnceCell::new(),
            mpj: Lazy::shared(move || JavaMpiPrograms::mpj(&for_mpj)),
            intel: Lazy::shared(move || JavaMpiPrograms::intel(&for_intel, &installations)),
            openmp: Lazy::shared(move || OpenMp::build(&with_openmp)),
            config,
        }
    }

    /// What was asked for.
    #[must_use]
    pub fn config(&self) -> &MeasuringConfig {
        &self.config
    }

    /// The unit of work.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The number that belongs to the effort.
    #[must_use]
    pub fn by_effort<T>(&self, trial: T, quick: T, full: T) -> T {
        self.config.effort.pick(trial, quick, full)
    }

    /// Whether a peer is wanted.
    #[must_use]
    pub fn wants(&self, peer: &str) -> bool {
        let wanted = self.config.peers.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|part| begins(peer, part)))
    }

    /// Whether so many threads are to be bound to their cores.
    #[must_use]
    pub fn pins(&self, threads: usize) -> bool {
        self.config.pinned && threads == thread::cores()
    }

    /// The program of stages for an MPI in Java.
    pub(crate) fn java_mpi(&self, ranks: JavaRanks) -> Rc<Lazy<JavaMpiPrograms>> {
        Rc::clone(match ranks {
            JavaRanks::Intel => &self.intel,
            JavaRanks::MpjThreads | JavaRanks::MpjProcesses => &self.mpj,
        })
    }

    /// The MPI installations with their programs.
    pub(crate) fn mpi(&self) -> Rc<[Mpi]> {
        Rc::clone(&self.installations().0)
    }

    /// The MPI installations that cannot be used.
    pub(crate) fn mpi_absent(&self) -> &[Absent] {
        &self.installations().1
    }

    fn installations(&self) -> &(Rc<[Mpi]>, Vec<Absent>) {
        self.mpi.get_or_init(|| {
            let (found, absent) = Mpi::all(&self.config.mpi);
            (found.into(), absent)
        })
    }

    /// The versions of the peers that have been built so far.
    pub(crate) fn built(&self) -> Vec<(&'static str, String)> {
        let mut built = Vec::new();
        let mut say = |peer, version: Option<String>| {
            built.extend(version.map(|version| (peer, version)));
        };
        let config = &self.config;
        say(
            "Go",
            self.go.made().and_then(|_| said(&config.go, "version")),
        );
        say(
            "C",
            self.floor
                .made()
                .and_then(|_| said(&config.cc, "--version")),
        );
        let mono = Path::new("mono");
        say(
            "C#",
            self.csharp.made().and_then(|_| said(mono, "--version")),
        );
        say(
            "Java",
            self.java.made().map(|java| java.version().to_string()),
        );
        say(
            "MPJ Express",
            self.mpj.made().and_then(JavaMpiPrograms::mpj_version),
        );
        for mpi in self.mpi.get().into_iter().flat_map(|(all, _)| all.iter()) {
            built.push((mpi.name, mpi.said.clone()));
        }
        built
    }
}

impl Default for MeasuringConfig {
    fn default() -> Self {
        MeasuringConfig {
            effort: Effort::Quick,
            peers: None,
            pinned: true,
            data: None,
            go: PathBuf::from("go"),
            cc: PathBuf::from("cc"),
            python: PathBuf::from("python3"),
            java: Vec::new(),
            mpi: Vec::new(),
            motet: None,
        }
    }
}

/// Whether a name begins so, in either case of letters.
fn begins(peer: &str, part: &str) -> bool {
    peer.to_lowercase().starts_with(&part.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_wanted_by_the_beginnings_of_their_names() {
        let with = |peers: Option<Vec<String>>| {
            Setting::new(MeasuringConfig {
                peers,
                ..MeasuringConfig::default()
            })
        };
        assert!(with(None).wants("tokio"));
        assert!(!with(Some(Vec::new())).wants("tokio"));
        let some = with(Some(vec!["Tokio".to_owned(), "open mpi".to_owned()]));
        assert!(some.wants("tokio") && some.wants("Open MPI 5") && !some.wants("go"));
        assert_eq!(some.config().check_peers(), Ok(()));
        let wrong = with(Some(vec!["tokio".to_owned(), "nonsense".to_owned()]));
        let told = wrong.config().check_peers().unwrap_err().to_string();
        assert!(
            told.contains("no peer nonsense") && told.contains("crossbeam-channel"),
            "{told}"
        );
    }
}
