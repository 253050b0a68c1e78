//! The applications among the examples, started as a user starts them: the same line on any number
//! of ranks.
//!
//! Each ends its line with a checksum of all bits of its results, or with the results, and compares
//! these with a known answer itself.
//! Cargo builds the examples with the tests of the package, and `cargo xtask test` before all
//! tests.

use motet::mpi::{Family, Launch, Library, ProgramPart};
use motet_testkit::{mpi_libraries, patience, within};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

/// Ranks of one process: alone, as many as the tests between processes have, and numbers that cut
/// nothing evenly.
const RANKS: [usize; 5] = [1, 2, 4, 5, 13];

/// Ranks of a process, and processes. All are on one machine: of t × m × n the n is 1.
const LAYOUTS: [(usize, usize); 4] = [(1, 1), (2, 1), (1, 2), (2, 2)];

/// Starts the example on so many ranks of one process each time.
fn same_on_threads(name: &'static str) {
    let run = |ranks: usize| {
        let mut command = Command::new(program(name));
        command.env("MOTET_THREADS", ranks.to_string());
        line_of(format!("{name} on {ranks} ranks"), command)
    };
    let first = run(RANKS[0]);
    assert!(first.starts_with(&format!("{name}: ")), "{first}");
    for ranks in &RANKS[1..] {
        assert_eq!(run(*ranks), first, "on {ranks} ranks");
    }
}

/// Starts the example in every layout by the launcher of every library, and by itself.
fn same_on_processes(name: &'static str) {
    let mut command = Command::new(program(name));
    command.env("MOTET_THREADS", "1");
    let alone = line_of(format!("{name} by itself"), command);
    for library in mpi_libraries() {
        for (threads, processes) in LAYOUTS {
            let label = format!("{name} on {threads}x{processes}x1, {}", library.display());
            let command = launched(&program(name), &library, threads, processes);
            assert_eq!(line_of(label.clone(), command), alone, "{label}");
        }
    }
}

/// The line of `motet run`.
pub(crate) fn launched(
    program: &Path,
    library: &Path,
    threads: usize,
    processes: usize,
) -> Command {
    let part = ProgramPart {
        threads,
        processes,
        program: vec![OsString::from(program)],
    };
    launched_together(library, [part])
}

/// The line of `motet run` with one program, or several and colons between them.
fn launched_together<const N: usize>(library: &Path, parts: [ProgramPart; N]) -> Command {
    let family = Family::of(&Library::open(library).unwrap().version());
    let mut parts = parts.into_iter();
    let first = parts.next().unwrap();
    let launch = Launch {
        threads: first.threads,
        processes: first.processes,
        others: parts.collect(),
        ..Launch::new(family, library, family.launcher(library).unwrap())
    };
    let line = launch.line(&first.program);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).envs(launch.variables());
    // A launcher that is given up must not leave processes behind.
    let seconds = patience().as_secs() - 10;
    command.env("MPIEXEC_TIMEOUT", seconds.to_string());
    if family == Family::Intel {
        // More processes than processors: nobody may spin for long.
        command
            .env("I_MPI_FABRICS", "shm")
            .env("I_MPI_SHM_RECV_SPIN_COUNT", "1");
    }
    command
}

/// Runs the command to its end; the one line it has printed.
fn line_of(label: String, mut command: Command) -> String {
    within(patience(), move || {
        let ran = command.output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr),
        );
        assert!(ran.status.success(), "{label}: {}\n{out}{err}", ran.status);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 1, "{label}: one process prints: {out}{err}");
        lines[0].to_owned()
    })
}

/// The example's program, which Cargo puts beside the folder of the tests.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let program = folder
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    // Older than this test it may be, since Cargo builds either of them first, but not than what it
    // is made of.
    let built = changed(&program);
    let stale = sources(&program)
        .iter()
        .any(|source| changed(source) > built);
    assert!(
        built.is_some() && !stale,
        "{} is older than its sources or missing: run `cargo build --profile test -p motet --examples`",
        program.display()
    );
    program
}

/// What Cargo says that a program is made of.
fn sources(program: &Path) -> Vec<PathBuf> {
    let told = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    let (_, sources) = told.trim_end().split_once(": ").unwrap_or_default();
    // A blank in a name stands behind a backslash.
    let names = sources.replace("\\ ", "\0");
    let names = names.split(' ').filter(|name| !name.is_empty());
    names.map(|name| name.replace('\0', " ").into()).collect()
}

/// When a file was changed, if it is there.
fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

#[test]
fn sem_g307_needs_mpi_two_programs_are_one_world() {
    let alone = line_of("coupled".to_owned(), Command::new(program("coupled")));
    for library in mpi_libraries() {
        for [ocean, air] in [[(1, 1), (1, 1)], [(1, 2), (2, 1)], [(3, 1), (2, 2)]] {
            let part = |role: &str, (threads, processes)| ProgramPart {
                threads,
                processes,
                program: vec![program("coupled").into(), role.into()],
            };
            let parts = [part("ocean", ocean), part("air", air)];
            let label = format!("coupled {ocean:?} {air:?}, {}", library.display());
            let line = line_of(label.clone(), launched_together(&library, parts));
            assert_eq!(line, alone, "{label}");
        }
    }
}

#[test]
fn sem_g590_a_variable_of_the_environment_that_is_empty_is_none() {
    for name in ["life", "coupled"] {
        let plain = line_of(name.to_owned(), Command::new(program(name)));
        let mut command = Command::new(program(name));
        for variable in ["THREADS", "WHY", "BALANCE", "MPI_LIB", "PROGRAM"] {
            command.env(format!("MOTET_{variable}"), "");
        }
        assert_eq!(line_of(name.to_owned(), command), plain);
    }
}

#[test]
fn life_is_the_same_on_any_number_of_ranks() {
    same_on_threads("life");
}

#[test]
fn sem_g309_an_automaton_is_the_same_on_any_number_of_ranks() {
    same_on_threads("automaton");
}

#[test]
fn sem_g309_needs_mpi_an_automaton_is_the_same_on_processes() {
    same_on_processes("automaton");
}

#[test]
fn jacobi_is_the_same_on_any_number_of_ranks() {
    same_on_threads("jacobi");
}

#[test]
fn sem_g345_windows_of_examples_are_the_same_on_any_number_of_ranks() {
    same_on_threads("window_halo");
    same_on_threads("window_counter");
}

#[test]
fn sample_sort_is_the_same_on_any_number_of_ranks() {
    same_on_threads("sample_sort");
}

#[test]
fn integer_sort_is_the_same_on_any_number_of_ranks() {
    same_on_threads("integer_sort");
}

#[test]
fn nbody_is_the_same_on_any_number_of_ranks() {
    same_on_threads("nbody");
}

#[test]
fn matmul_is_the_same_on_any_number_of_ranks() {
    same_on_threads("matmul");
}

#[test]
fn patterns_are_the_same_on_any_number_of_ranks() {
    same_on_threads("patterns");
}

#[test]
fn moved_heat_is_the_same_on_any_number_of_ranks() {
    same_on_threads("moved_heat");
}

#[test]
fn moved_workers_are_the_same_on_any_number_of_ranks() {
    same_on_threads("moved_workers");
}

#[test]
fn sem_g177_a_queueing_network_is_the_same_on_any_number_of_ranks() {
    same_on_threads("queueing_network");
}

#[test]
fn sem_g177_an_epidemic_is_the_same_on_any_number_of_ranks() {
    same_on_threads("epidemic");
}

#[test]
fn sem_g177_needs_mpi_a_queueing_network_is_the_same_on_processes() {
    same_on_processes("queueing_network");
}

#[test]
fn all_six_messaging_models_work_in_one_program() {
    let line = line_of("six_models".to_owned(), Command::new(program("six_models")));
    assert!(line.contains("the viewer has the same plan"), "{line}");
}

#[test]
fn sem_g195_tree_searches_are_the_same_on_any_number_of_ranks() {
    same_on_threads("tree_search");
}

#[test]
fn sem_g195_needs_mpi_tree_searches_are_the_same_on_processes() {
    same_on_processes("tree_search");
}

#[test]
fn sem_g195_needs_mpi_perft_is_the_same_on_processes() {
    same_on_processes("perft");
}

#[test]
fn sem_g310_needs_mpi_life_is_the_same_on_processes() {
    same_on_processes("life");
}

#[test]
fn sem_g310_needs_mpi_jacobi_is_the_same_on_processes() {
    same_on_processes("jacobi");
}

#[test]
fn sem_g345_needs_mpi_windows_of_examples_are_the_same_on_processes() {
    same_on_processes("window_halo");
}

#[test]
fn sem_g310_needs_mpi_sample_sort_is_the_same_on_processes() {
    same_on_processes("sample_sort");
}

#[test]
fn sem_g310_needs_mpi_integer_sort_is_the_same_on_processes() {
    same_on_processes("integer_sort");
}

#[test]
fn sem_g310_needs_mpi_nbody_is_the_same_on_processes() {
    same_on_processes("nbody");
}

#[test]
fn sem_g310_needs_mpi_matmul_is_the_same_on_processes() {
    same_on_processes("matmul");
}

#[test]
fn sem_g310_needs_mpi_patterns_are_the_same_on_processes() {
    same_on_processes("patterns");
}

#[test]
fn sem_g310_needs_mpi_moved_heat_is_the_same_on_processes() {
    same_on_processes("moved_heat");
}

#[test]
fn sem_g310_needs_mpi_moved_workers_are_the_same_on_processes() {
    same_on_processes("moved_workers");
}
