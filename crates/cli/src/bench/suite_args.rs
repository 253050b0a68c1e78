//! The command line of `motet bench run`.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use motet_bench::measuring::Effort;
use motet_bench::measuring::MeasuringConfig;

use crate::amount::{PYTHON, python};
use crate::bench::print_args::PrintArgs;
use crate::own;

/// Options of `motet bench run`.
#[derive(Debug, Clone, Args)]
pub struct SuiteArgs {
    /// Keys or names of experiments, or all
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// Little work and few rounds: all experiments within five minutes (the default)
    #[arg(long, conflicts_with_all = ["full", "trial"])]
    pub quick: bool,

    /// The papers' sizes, which take hours for all
    #[arg(long, conflicts_with = "trial")]
    pub full: bool,

    /// Only to see that everything runs
    #[arg(long, hide = true)]
    pub trial: bool,

    /// Peers by the beginnings of their names, or none [default: all there are]
    #[arg(long, value_name = "PEERS", value_delimiter = ',')]
    pub vs: Vec<String>,

    /// The folder of rows.jsonl and machine.json
    #[arg(long, value_name = "DIR", default_value = "motet-bench")]
    pub out: PathBuf,

    /// Bind threads that fill the machine to their cores: yes or no
    #[arg(long, value_name = "YES", default_value = "yes", action = ArgAction::Set)]
    #[arg(value_parser = clap::builder::BoolishValueParser::new())]
    pub pinned: bool,

    /// The folder of the data sets
    #[arg(long, value_name = "DIR", env = "MOTET_DATA")]
    pub data: Option<PathBuf>,

    /// The Go compiler
    #[arg(long, value_name = "PATH", default_value = "go")]
    pub go: PathBuf,

    /// The C compiler
    #[arg(long, value_name = "PATH", default_value = "cc")]
    pub cc: PathBuf,

    /// A Python that has the peers of the clustering
    #[arg(
        long,
        value_name = "PATH",
        default_value = PYTHON,
        env = "MOTET_PYTHON",
        value_parser = python()
    )]
    pub python: PathBuf,

    /// Folders of Java development kits, beside the usual ones
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub java: Vec<PathBuf>,

    /// Folders of MPI installations, beside those on the search path [default: of MOTET_MPI]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub mpi: Vec<PathBuf>,

    /// How results are printed.
    #[command(flatten)]
    pub print: PrintArgs,
}

impl SuiteArgs {
    /// What the suite is given.
    pub(super) fn config(&self) -> MeasuringConfig {
        let effort = match (self.trial, self.full) {
            (true, _) => Effort::Trial,
            (_, true) => Effort::Full,
            (false, false) => Effort::Quick,
        };
        let peers = match self.vs.as_slice() {
            [] => None,
            [none] if none == "none" => Some(Vec::new()),
            some => Some(some.to_vec()),
        };
        MeasuringConfig {
            effort,
            peers,
            pinned: self.pinned,
            data: self.data.clone(),
            go: self.go.clone(),
            cc: self.cc.clone(),
            python: self.python.clone(),
            java: self.java.clone(),
            mpi: installations(&self.mpi),
            motet: own::program().ok(),
        }
    }
}

/// The folders that were named, else those of the libraries that `MOTET_MPI` names for the tests.
pub(super) fn installations(named: &[PathBuf]) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let libraries = std::env::var_os("MOTET_MPI").unwrap_or_default();
    // A library lies in `lib` of its installation.
    let folders = std::env::split_paths(&libraries);
    let folders = folders.filter_map(|path| Some(path.parent()?.parent()?.to_owned()));
    folders.collect()
}

pub(super) const RUN: &str = "\
Runs some of the papers' experiments, or all, with today's peers beside.

Rounds go through all experiments, in each motet and the peers in turn; a row is the median of the \
rounds with the least and the most. Load of others is noticed: the round of the case is measured again, and \
if there was too much over all rounds the rows say so. After each round of an experiment its rows are \
appended to DIR/rows.jsonl; the earlier ones go when the run has ended, those of an experiment that was ended in its first round stay; \
DIR/machine.json says on what they were measured, and with which effort and binding, which are one for all \
rows of a folder. What cannot run here is a row with the reason. An \
interrupt ends the run after the program that is running, a second one at once; rows are whole in \
either case.";

pub(super) const RUN_TAIL: &str = "\
Examples:
  motet bench list
      the experiments, by key and name
  motet bench run all --quick --out today
      every experiment within five minutes
  motet bench run E06 E14 --vs tokio,go --out today
      two experiments beside two peers, into the same folder
  motet bench run exchange-latency --mpi /opt/mpich,/opt/openmpi --pinned no
      beside MPI, threads where the system puts them

Fields of a row (--json prints them as they come): schema, experiment, series (motet or the peer),
  point (the parameters), quantity, unit, then median, least, most, runs, or absent with the reason;
  disturbed";
