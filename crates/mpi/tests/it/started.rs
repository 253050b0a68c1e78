//! Tests that run in several processes.
//!
//! A test starts its own binary under `mpiexec`, once for each library in `MOTET_MPI` (paths, a
//! colon between them), and runs its body there. Without one it says so and does nothing; in CI
//! `cargo xtask test` sees to it that there are some.

use motet_mpi::{EngineConfig, Environment, Family, Launch, Library, Processes, ThreadLevel};
use motet_testkit::{patience, within};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// Set in a process that was started by a test, to the test's name.
pub(crate) const STARTED: &str = "MOTET_MPI_TEST";
/// What such a process says when its body has ended.
pub(crate) const DONE: &str = "the body has ended";

/// Runs `body` on so many processes of every library. `name` is the test's own, with its module.
pub(crate) fn on_processes(name: &str, processes: usize, body: fn(&Environment)) {
    on_processes_at(ThreadLevel::Multiple, name, processes, body);
}

/// The same, with MPI started for calls from no more threads than this.
pub(crate) fn on_processes_at(
    level: ThreadLevel,
    name: &str,
    processes: usize,
    body: fn(&Environment),
) {
    if in_process(level, name, body) {
        return;
    }
    for library in libraries() {
        let ran = run(name, processes, &library, &[]);
        let out = String::from_utf8_lossy(&ran.stdout);
        let err = String::from_utf8_lossy(&ran.stderr);
        let library = library.display();
        assert!(ran.status.success(), "{library}: {out}{err}");
        assert_eq!(
            out.matches(DONE).count(),
            processes,
            "{library}: {out}{err}"
        );
    }
}

/// Runs the body when this is a process that the test of this name has started; then ends MPI.
pub(crate) fn in_process(level: ThreadLevel, name: &str, body: fn(&Environment)) -> bool {
    in_process_with(level, name, move |mpi| {
        body(&mpi);
        mpi.finish().unwrap();
    })
}

/// The same with a body that ends MPI.
pub(crate) fn in_process_with(
    level: ThreadLevel,
    name: &str,
    body: impl FnOnce(Environment) + Send + 'static,
) -> bool {
    if env::var(STARTED).as_deref() != Ok(name) {
        return false;
    }
    let library = PathBuf::from(env::var_os("MOTET_MPI_LIB").expect("the launch names it"));
    within(patience(), move || {
        let mpi = Library::open(&library).unwrap().start_at(level).unwrap();
        body(mpi);
        println!("{DONE}");
    });
    true
}

/// What says to a process that is started whether its messages go through memory or over MPI.
pub(crate) fn way(memory: bool) -> String {
    format!("{WAY}={}", if memory { "memory" } else { "mpi" })
}

/// The processes of a world whose messages go as the start has said; through memory if it has not.
pub(crate) fn joined(mpi: Environment) -> Arc<Processes> {
    let config = EngineConfig {
        share_memory: env::var(WAY).as_deref() != Ok("mpi"),
        ..EngineConfig::default()
    };
    Processes::with(mpi, config).unwrap()
}

const WAY: &str = "MOTET_MPI_TEST_WAY";

/// Starts the test of this name in so many processes, each under the words of `wrapper`.
pub(crate) fn run(name: &str, processes: usize, library: &Path, wrapper: &[&str]) -> Output {
    let opened = Library::open(library).unwrap();
    let family = Family::of(&opened.version());
    let launch = Launch {
        processes,
        ..Launch::new(family, library, family.launcher(library).unwrap())
    };
    let mut program: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
    program.push(env::current_exe().unwrap().into_os_string());
    program.extend(["--exact", name, "--nocapture"].map(OsString::from));
    let line = launch.line(&program);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).env(STARTED, name);
    if family == Family::Intel {
        // More processes than processors: nobody may spin for long.
        command
            .env("I_MPI_FABRICS", "shm")
            .env("I_MPI_SHM_RECV_SPIN_COUNT", "1");
    }
    command.output().unwrap()
}

/// The libraries to test with.
pub(crate) fn libraries() -> Vec<PathBuf> {
    let named = env::var_os("MOTET_MPI").unwrap_or_default();
    let libraries: Vec<PathBuf> = env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if libraries.is_empty() {
        eprintln!("left out: no MPI library is named by MOTET_MPI");
    }
    libraries
}
