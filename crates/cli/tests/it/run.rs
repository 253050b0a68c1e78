//! Programs on several processes, as a user starts them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use motet_testkit::mpi_libraries;

use crate::program::{Place, Run};

/// `motet run` with a library, options and the program and its arguments.
pub(crate) fn started(library: &PathBuf, options: &str, program: &[&str]) -> Run {
    let place = Place::new();
    let mut command = place.command(&format!("run {options} --mpi-lib"));
    command.arg(library).arg("--").args(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // It has no end: MPICH's launcher dies of a broken pipe where it passes the end on to a program
    // that has ended within milliseconds, as these do.
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    output.into()
}

#[test]
fn sem_g410_what_cannot_be_started_is_refused() {
    let place = Place::with("libmpi_abi.so.1", "no library");
    for (arguments, words) in [
        ("run", "<PROGRAM>"),
        ("run -t 0 -- true", "--threads"),
        ("run -m none -- true", "--processes"),
        ("run --nodes 0 -- true", "--nodes"),
        ("run --hostfile none -- true", "--hostfile is none"),
        ("run --hostfile libmpi_abi.so.1 --slurm -- true", "--slurm"),
        ("run --mpi-lib nowhere -- true", "pip install mpich"),
        ("run --mpi-lib . -- true", "cannot open the MPI library"),
    ] {
        place.run(arguments).refusal(&[words]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sem_g410_a_library_of_another_kind_is_refused() {
    // Every test program has this one open: a library, but none of MPI.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps
        .split_whitespace()
        .find(|path| path.contains("/libc.so"));
    let Some(libc) = libc else {
        // A C library that is part of the program leaves nothing to open.
        return;
    };
    Place::new()
        .run(&format!("run --mpi-lib {libc} -- true"))
        .refusal(&[
            "has not the MPI-5 standard ABI",
            "MPI_Get_version is missing",
        ]);
}

#[test]
fn sem_g409_needs_mpi_a_dry_run_prints_the_line_and_starts_nothing() {
    for library in mpi_libraries() {
        let run = started(
            &library,
            "-t 3 -m 2 -n 4 --dry-run",
            &["no-such-program", "a b"],
        );
        let line = run.quiet_success();
        let library = library.display();
        for words in [
            "mpiexec",
            " -ppn 2 ",
            " -genv MOTET_THREADS 3 ",
            &format!(" -genv MOTET_MPI_LIB {library} "),
            " -n 8 ",
            " supervise -- no-such-program 'a b'\n",
        ] {
            assert!(line.contains(words), "{words}: {line}");
        }
    }
}

#[test]
fn sem_g409_needs_mpi_a_batch_script_is_printed() {
    for library in mpi_libraries() {
        let run = started(&library, "-t 3 -m 2 -n 4 --slurm --dry-run", &["prog"]);
        let script = run.quiet_success();
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines[0], "#!/bin/sh");
        for line in ["nodes=4", "ntasks-per-node=2", "cpus-per-task=3"] {
            let option = format!("#SBATCH --{line}");
            assert!(lines.contains(&option.as_str()), "{line}: {script}");
        }
        assert!(lines.last().unwrap().ends_with(" -n 8 prog"), "{script}");
    }
}

#[test]
fn sem_g409_needs_mpi_every_process_knows_its_ranks_and_the_exit_code_comes_back() {
    for library in mpi_libraries() {
        let told = "echo \"ranks $MOTET_THREADS, library $MOTET_MPI_LIB\"";
        let run = started(&library, "-t 5 -m 3 --quiet", &["sh", "-c", told]);
        let line = format!("ranks 5, library {}\n", library.display());
        assert_eq!(run.quiet_success(), line.repeat(3));
        let run = started(&library, "-m 2", &["sh", "-c", "exit 7"]);
        assert_eq!(run.code, 7, "{}", run.err);
        assert!(
            run.err.contains("MPI"),
            "it says what it found: {}",
            run.err
        );
    }
}

#[test]
fn sem_g410_needs_mpi_a_program_that_is_not_there_is_refused() {
    for library in mpi_libraries() {
        for program in ["./no-such-program", "no-such-program"] {
            started(&library, "-m 2", &[program]).refusal(&["no program", program]);
        }
    }
}

#[cfg(unix)]
#[test]
fn sem_g410_needs_mpi_a_file_that_is_no_program_is_refused() {
    for library in mpi_libraries() {
        let place = Place::with("notes", "no program");
        let notes = place.path("notes").display().to_string();
        started(&library, "-m 2", &[&notes]).refusal(&["no program", &notes]);
    }
}

#[cfg(unix)]
#[test]
fn sem_g409_needs_mpi_a_signal_ends_the_processes() {
    for library in mpi_libraries() {
        let place = Place::new();
        let mut command = place.command("run -m 2 --mpi-lib");
        let program = ["--", "sh", "-c", "echo > started-$$; exec sleep 1000"];
        let mut child = command.arg(&library).args(program).spawn().unwrap();
        let folder = place.path("");
        while std::fs::read_dir(&folder).unwrap().count() < 2 {
            assert!(child.try_wait().unwrap().is_none(), "it ended too early");
            std::thread::yield_now();
        }
        let numbers: Vec<String> = place
            .names("")
            .iter()
            .map(|name| name.replace("started-", "/proc/"))
            .collect();
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        assert!(!child.wait().unwrap().success());
        // The launcher may be gone a moment before they are.
        while cfg!(target_os = "linux") && numbers.iter().any(|path| PathBuf::from(path).exists()) {
            std::thread::yield_now();
        }
    }
}
