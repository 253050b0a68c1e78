//! The `motet` program: parallel data mining from the command line.
//!
//! A thin `main` calls [`main()`] here, so that tests and the Python package reach the same code.
//!
//! - Depends on: `motet` (the facade), `motet-mining` (the methods), `motet-comm` (the ranks they
//!   run on), `motet-mpi` (processes).
//! - Also on: `motet-service` and `motet-http` (services), `motet-machine` (what the machine
//!   offers), `motet-dispatch`, `motet-ports`, `motet-sync`, `motet-values` (parts as bytes).
//! - With the feature `bench` on `motet-bench` (the experiments), with the feature `mesh` on
//!   `motet-mesh-zenoh` (links).
//! - Used by: the `motet` binary, the Python package.
//!
//! ```text
//!  arguments ─► args ─► plan ─► read ─► space ─► fit ─► summary ─┬─► report ─► standard output
//!               clap    checked  table   points   ranks          └─► files, map ─► --out folder
//! ```
//!
//! - `motet run` becomes the launcher of an MPI library (`run.rs`).
//! - `motet doctor` says what the machine offers (`doctor.rs`).
//! - `motet bench` goes from `args` to an experiment and prints its rows (`bench.rs`).
//!
//! Results go to standard output, progress and remarks to standard error, and every error is one
//! line that says what, where and what to do. Exit codes: 0 done, 1 a fault of the program, 2 a
//! wrong file, column, value or option, 130 cancelled.
//!
//! # Examples
//!
//! ```
//! use std::process::ExitCode;
//!
//! let table = std::env::temp_dir().join("motet-cli-example.csv");
//! std::fs::write(&table, "x,y\n0,0\n0,1\n9,0\n9,1\n").unwrap();
//! let arguments = ["motet", "cluster", table.to_str().unwrap(), "--clusters", "2", "--quiet"];
//! assert_eq!(motet_cli::main(arguments), ExitCode::SUCCESS);
//! ```
//!
//! Read next: [`Cli`] for the options, [`Summary`] for the fields of `--json`, `cluster.rs` for the
//! order of the steps.

mod amount;
mod any_part;
mod args;
#[cfg(feature = "bench")]
mod bench;
mod bits;
mod call;
mod cluster;
mod distance;
mod doctor;
mod entry;
mod error;
mod files;
mod fit;
mod flow;
mod hmm;
mod interrupt;
mod keep;
mod keys;
mod manual;
mod map;
mod mapped;
#[cfg(feature = "mesh")]
mod mesh;
mod mixture;
mod model;
mod mpi_search;
mod npy;
mod order;
mod own;
mod pairs;
mod pairwise;
mod plan;
mod plane;
mod processes;
mod progress;
mod ranked;
mod read;
mod remark;
mod report;
mod run;
mod sample;
mod scale;
mod serve;
#[cfg(unix)]
mod signals;
mod space;
mod spread;
mod stderr;
mod stdout;
mod summary;
#[cfg(unix)]
mod supervise;
mod table;
mod text;
mod usage;
mod watch;
#[cfg(not(feature = "bench"))]
mod without_bench;
#[cfg(not(feature = "mesh"))]
mod without_mesh;

pub use args::{BitArgs, Cli, ClusterArgs, Command, Method, MethodArgs, PairArgs, ResultArgs};
#[cfg(feature = "bench")]
pub use bench::{
    AnnealingArgs, BenchArgs, CompareArgs, CoreArgs, ExperimentCommand, IdleArgs,
    OversubscribedArgs, PrintArgs, QualityArgs, RankProgramArgs, RanksArgs, ResultsArgs,
    SearchArgs, SelectionArgs, SoakArgs, StagesArgs, SuiteArgs,
};
pub use bits::{BitCluster, BitSummary};
pub use call::CallArgs;
pub use distance::{DistanceArgs, DistanceSummary};
pub use doctor::DoctorArgs;
pub use entry::{main, status};
#[cfg(feature = "bench")]
pub use error::BenchError;
pub use error::{CliError, InputError, InputPosition, OptionError, OutputError, ProgramStartError};
pub use flow::{FlowArgs, FlowCommand, FlowHowArgs, FlowNameArgs, FlowRunArgs};
pub use hmm::{
    HmmArgs, HmmCommand, HmmFitArgs, HmmScore, HmmState, HmmSummary, HmmUseArgs, SeenArgs,
};
pub use keep::KeepArgs;
pub use keys::{KeysArgs, KeysCommand, NewArgs, TokenArgs};
#[cfg(feature = "mesh")]
pub use mesh::{
    ClassOfTopic, MeshArgs, MeshCommand, MeshJoinArgs, MeshKeysArgs, MeshKeysCommand,
    MeshKeysNewArgs, MeshKeysPassArgs, MeshLinkArgs, MeshPeersArgs, MeshPubArgs, MeshSubArgs,
    MeshTopArgs,
};
pub use mixture::{
    ComponentCount, MixtureArgs, MixtureComponent, MixtureFitArgs, MixtureSummary,
    ShapeOfCovariance, WhichCriterion,
};
pub use model::{ModelArgs, ModelRunArgs};
pub use pairs::{AlignArgs, Aligned, Letters};
pub use pairwise::{PairwiseCluster, PairwiseSummary, Split};
pub use read::OnMissing;
pub use run::RunArgs;
pub use sample::Sampled;
pub use scale::{ScaleArgs, ScaleMethod, ScaleSummary};
pub use serve::ServeArgs;
pub use spread::SpreadArgs;
pub use summary::{Cluster, MethodStep, MissingRows, Summary, ThreadScaling};
pub use table::{ColumnArgs, RowArgs, TableArgs, WrittenArgs};
pub use watch::WatchArgs;
#[cfg(not(feature = "bench"))]
pub use without_bench::BenchArgs;
#[cfg(not(feature = "mesh"))]
pub use without_mesh::MeshArgs;
