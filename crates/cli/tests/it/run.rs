//! Programs on several processes, as a user starts them.

#[cfg(target_os = "linux")]
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use motet_testkit::mpi_libraries;

use crate::program::{ProgramFolder, Run};

/// `motet run` with a library, options and the program and its arguments.
pub(crate) fn started(library: &PathBuf, options: &str, program: &[&str]) -> Run {
    let place = ProgramFolder::new();
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
fn sem_g305_what_cannot_be_started_is_refused() {
    let place = ProgramFolder::with("libmpi_abi.so.1", "no library");
    for (arguments, words) in [
        ("run", "<PROGRAM>"),
        ("run -t 0 -- true", "--threads"),
        ("run -m none -- true", "--processes"),
        ("run --nodes 0 -- true", "--nodes"),
        ("run --hostfile none -- true", "--hostfile is none"),
        ("run --hostfile libmpi_abi.so.1 --slurm -- true", "--slurm"),
        ("run --launcher-exec sh --slurm -- true", "--launcher-exec"),
        ("run --mpi-lib nowhere -- true", "pip install mpich"),
        ("run --mpi-lib . -- true", "cannot open the MPI library"),
    ] {
        place.run(arguments).refusal(&[words]);
    }
}

#[test]
fn sem_g497_a_program_in_place_of_ssh_must_be_there_and_have_nodes_to_reach() {
    let place = ProgramFolder::with("hosts", "localhost\n");
    for (options, words) in [
        ("--hostfile hosts --launcher-exec ./none", "no such program"),
        ("--hostfile hosts --launcher-exec hosts", "no such program"),
        ("-n 2 --launcher-exec sh", "--hostfile"),
    ] {
        let line = format!("run {options} -- true");
        place.run(&line).refusal(&["--launcher-exec", words]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sem_g305_a_library_of_another_kind_is_refused() {
    // Every test program has this one open: a library, but none of MPI.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps
        .split_whitespace()
        .find(|path| path.contains("/libc.so"));
    let Some(libc) = libc else {
        // A C library that is part of the program leaves nothing to open.
        return;
    };
    ProgramFolder::new()
        .run(&format!("run --mpi-lib {libc} -- true"))
        .refusal(&[
            "has not the MPI-5 standard ABI",
            "MPI_Get_version is missing",
        ]);
}

#[test]
fn sem_g308_what_stands_between_colons_is_a_program() {
    let place = ProgramFolder::new();
    for (arguments, words) in [
        ("run -m 1 true :", "no program behind colon 1"),
        ("run : true", "before the first colon"),
        ("run true : : true", "no program behind colon 1"),
        ("run true : -m 2", "<PROGRAM>"),
        ("run true : --hostfile none true", "'--hostfile'"),
        ("run true : -t none true", "--threads"),
    ] {
        place
            .run(arguments)
            .refusal(&[words, "-m 1 ./ocean : -t 2 -m 2 ./air"]);
    }
}

#[test]
fn sem_g308_needs_mpi_a_program_that_is_not_there_is_named() {
    for library in mpi_libraries() {
        let words = ["true", ":", "-m", "2", "./no-such-program"];
        started(&library, "", &words).refusal(&["no program ./no-such-program"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sem_g512_needs_mpi_more_processes_than_a_launcher_has_open_files_for() {
    for library in mpi_libraries() {
        let place = ProgramFolder::new();
        let program = env!("CARGO_BIN_EXE_motet");
        let run = |programs: &str| -> Run {
            let line =
                format!("ulimit -n 128; exec {program} run --quiet --mpi-lib \"$0\" -m {programs}");
            let mut command = Command::new("sh");
            command
                .current_dir(place.path("."))
                .args(["-c", &line])
                .arg(&library);
            command.stdin(Stdio::null()).output().unwrap().into()
        };
        for programs in ["31 -- true", "1 true : -m 30 true"] {
            run(programs).refusal(&[
                "--processes times --nodes, of all programs, is 31",
                "ulimit -n",
                "less than a quarter",
            ]);
        }
        run("2 -- true").quiet_success();
    }
}

/// Without the variables and the folders of `PATH` by which a library may be found.
#[cfg(unix)]
fn without_library(place: &ProgramFolder, arguments: &str) -> Command {
    let mut command = place.command(arguments);
    for name in [
        "MOTET_MPI_LIB",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "I_MPI_ROOT",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(name);
    }
    command.env("PATH", "/usr/bin:/bin");
    command
}

#[cfg(unix)]
#[test]
fn sem_g515_one_process_needs_no_library() {
    let place = ProgramFolder::new();
    let told = "echo $MOTET_THREADS $MOTET_WHY; exit 7";
    let mut alone = without_library(&place, "run -t 4 --why 2.5 -- sh -c");
    let run = Run::from(alone.arg(told).output().unwrap());
    assert_eq!((run.code, run.out.as_str()), (7, "4 2.5\n"), "{}", run.err);
    let said = "motet: no MPI library: the program is started without a launcher\n";
    // This machine may have one in a folder of the system.
    assert!(run.err == said || run.err.contains(" in /"), "{}", run.err);
    let two = Run::from(
        without_library(&place, "run -m 2 -- true")
            .output()
            .unwrap(),
    );
    if two.code != 0 {
        two.refusal(&["no MPI library", "pip install mpich"]);
    }
}

#[cfg(unix)]
#[test]
fn sem_g549_a_dry_run_without_a_library_prints_the_program_with_what_it_is_told() {
    let place = ProgramFolder::new();
    let mut dry = without_library(&place, "run -t 4 --why 2.5 --dry-run -- no-such-program");
    let run = Run::from(dry.arg("a b").output().unwrap());
    let line = run.quiet_success();
    // This machine may have a library in a folder of the system.
    if !line.contains("mpiexec") {
        let alone = "MOTET_THREADS=4 MOTET_WHY=2.5 no-such-program 'a b'\n";
        assert_eq!(line, alone);
    }
    let two = without_library(&place, "run -m 2 --dry-run -- true").output();
    let two = Run::from(two.unwrap());
    if two.code != 0 {
        two.refusal(&["no MPI library", "pip install mpich"]);
    }
}

/// The processes whose parent has this number.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<String> {
    let wanted = format!("PPid:\t{parent}\n");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let states = processes.filter_map(|process| {
        let state = std::fs::read_to_string(process.path().join("status"));
        state.ok()
    });
    states.filter(|state| state.contains(&wanted)).collect()
}

/// A program that waits for all its children waits for none that it has not made. The folder of the
/// mesh goes all the same, however the program ends.
#[cfg(target_os = "linux")]
#[test]
fn sem_g251_a_program_without_launcher_has_no_child_that_it_has_not_made() {
    for killed in [false, true] {
        let place = ProgramFolder::new();
        let mut alone = without_library(&place, "run --quiet -- sh -c");
        let mut process = alone
            .arg("echo $$; read line")
            .env("XDG_RUNTIME_DIR", place.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut number)
            .unwrap();
        let number = number.trim().parse().unwrap();
        assert_eq!(children(number), [""; 0]);
        let folders = || {
            let names = place.names("").into_iter();
            names
                .filter(|name| name.starts_with("motet-mesh-run-"))
                .count()
        };
        assert_eq!(folders(), 1);
        if killed {
            process.kill().unwrap();
        }
        drop(process.stdin.take());
        process.wait().unwrap();
        let begin = Instant::now();
        while folders() > 0 {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "the folder stays"
            );
            std::thread::yield_now();
        }
    }
}

/// What `started` is given for two programs of the shell: the first has one process, the other two.
fn two(first: &str, second: &str) -> Vec<String> {
    let words = [
        "sh", "-c", first, ":", "-t", "3", "-m", "2", "sh", "-c", second,
    ];
    words.map(str::to_owned).to_vec()
}

fn started_two(library: &PathBuf, options: &str, first: &str, second: &str) -> Run {
    let words = two(first, second);
    started(
        library,
        options,
        &words.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

#[test]
fn sem_g306_needs_mpi_every_process_knows_its_program_and_the_exit_code_comes_back() {
    for library in mpi_libraries() {
        let told = "echo $MOTET_PROGRAM $MOTET_PROGRAM_NAME $MOTET_THREADS";
        let run = started_two(&library, "-t 2 --quiet", told, told);
        let out = run.quiet_success();
        let mut lines: Vec<&str> = out.lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            ["0 sh 2", "1 sh 3", "1 sh 3"],
            "{}",
            library.display()
        );
        for (first, second) in [("exit 7", "true"), ("true", "exit 7")] {
            let run = started_two(&library, "", first, second);
            assert_eq!(run.code, 7, "{first}, {second}: {}", run.err);
        }
        let dry = started_two(&library, "--dry-run", "true", "true").quiet_success();
        assert_eq!(dry.matches(" supervise -- sh -c ").count(), 2, "{dry}");
        assert!(dry.contains(" true : -n 2 -env MOTET_THREADS 3 "), "{dry}");
    }
}

#[cfg(unix)]
#[test]
fn sem_g306_needs_mpi_a_process_that_leaves_its_run_is_named_with_its_program() {
    for library in mpi_libraries() {
        // As a program does that has joined a run: the file is where it notes that.
        let begins = "printf begun > $MOTET_RUN_NOTE; exit 0";
        let run = started_two(&library, "", "true", begins);
        assert_ne!(run.code, 0, "{}", run.err);
        let named = |number: usize| {
            format!("motet: process {number}, of program 1 (sh), has ended with status 0 before")
        };
        assert!(
            run.err.contains(&named(1)) || run.err.contains(&named(2)),
            "{}",
            run.err
        );
        assert!(!run.err.contains("of program 0"), "{}", run.err);
    }
}

#[test]
fn sem_g304_needs_mpi_a_dry_run_prints_the_line_and_starts_nothing() {
    for library in mpi_libraries() {
        let run = started(
            &library,
            "-t 3 -m 2 -n 4 --balance 5% --dry-run",
            &["no-such-program", "a b"],
        );
        let line = run.quiet_success();
        let library = library.display();
        for words in [
            "mpiexec",
            " -ppn 2 ",
            " -genv MOTET_THREADS 3 ",
            " -genv MOTET_BALANCE 5% ",
            &format!(" -genv MOTET_MPI_LIB {library} "),
            " -n 8 ",
            " supervise -- no-such-program 'a b'\n",
        ] {
            assert!(line.contains(words), "{words}: {line}");
        }
    }
}

#[test]
fn sem_g304_needs_mpi_a_batch_script_is_printed() {
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
fn sem_g304_needs_mpi_every_process_knows_its_ranks_and_the_exit_code_comes_back() {
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
fn sem_g305_needs_mpi_a_program_that_is_not_there_is_refused() {
    for library in mpi_libraries() {
        for program in ["./no-such-program", "no-such-program"] {
            started(&library, "-m 2", &[program]).refusal(&["no program", program]);
        }
    }
}

#[cfg(unix)]
#[test]
fn sem_g305_needs_mpi_a_file_that_is_no_program_is_refused() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("notes", "no program");
        let notes = place.path("notes").display().to_string();
        started(&library, "-m 2", &[&notes]).refusal(&["no program", &notes]);
    }
}

#[cfg(unix)]
#[test]
fn sem_g304_needs_mpi_a_signal_ends_the_processes() {
    for library in mpi_libraries() {
        let place = ProgramFolder::new();
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
