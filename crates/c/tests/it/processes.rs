//! The world that a program was started in.

use crate::cc::{Linked, cc, compiled, done, folder};
use motet::mpi::{Family, Launch, Library};
use motet_testkit::{mpi_libraries, patience, within};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

#[test]
fn sem_g491_the_current_world_is_this_process_alone_needs_cc() {
    let Some(cc) = cc() else { return };
    let program = compiled(&cc, &folder("tests/c/current.c"), Linked::Shared);
    let mut command = Command::new(program);
    command.env("MOTET_THREADS", "3");
    let said = within(patience(), move || done(&mut command));
    assert_eq!(said, "3 ranks: 6\n");
}

/// Runs a program of the tests on all layouts over both libraries; what each said on standard
/// output, and how many ranks there were.
fn on_processes(cc: &Path, source: &str) -> Vec<(String, usize)> {
    let program = compiled(cc, &folder(source), Linked::Shared);
    let mut all = Vec::new();
    for library in mpi_libraries() {
        let family = Family::of(&Library::open(&library).unwrap().version());
        for (threads, processes) in [(1, 3), (2, 2)] {
            let launch = Launch {
                threads,
                processes,
                ..Launch::new(family, &library, family.launcher(&library).unwrap())
            };
            let line = launch.line(&[OsString::from(&program)]);
            let mut command = Command::new(&line[0]);
            command.args(&line[1..]).envs(launch.variables());
            // A launcher that is given up must not leave processes behind.
            let seconds = patience().as_secs() - 10;
            command.env("MPIEXEC_TIMEOUT", seconds.to_string());
            let said = within(patience(), move || done(&mut command));
            all.push((said, threads * processes));
        }
    }
    all
}

#[test]
fn sem_g491_the_current_world_is_all_processes_needs_mpi_needs_cc() {
    let Some(cc) = cc() else { return };
    for (said, ranks) in on_processes(&cc, "tests/c/current.c") {
        let sum = ranks * (ranks + 1) / 2;
        assert_eq!(said, format!("{ranks} ranks: {sum}\n"));
    }
}

#[test]
fn sem_g488_a_failure_is_heard_of_in_other_processes_needs_mpi_needs_cc() {
    let Some(cc) = cc() else { return };
    for (said, ranks) in on_processes(&cc, "tests/c/far.c") {
        // A launcher may put two lines together.
        let stopped = said.matches("stopped").count();
        assert_eq!(stopped, ranks - 1, "{said}");
    }
}
