//! `motet cluster` on several processes.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use motet_mpi::{Family, Launch, Library};
use motet_testkit::mpi_libraries;
use serde_json::Value;

use crate::program::{ProgramFolder, Run, three_groups};

/// A clustering as JSON, without what time, threads and files make of it.
fn clustering(run: Run) -> Value {
    let mut result: Value = serde_json::from_str(&run.quiet_success()).unwrap();
    let fields = result.as_object_mut().unwrap();
    assert!(fields.remove("run_seconds").is_some() && fields.remove("threads").is_some());
    fields.remove("files");
    result
}

#[test]
fn sem_g316_needs_mpi_clusters_have_the_same_bits_on_threads_and_processes() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        let cluster = |arguments: &str| -> Run {
            let mut command = place.command(&format!(
                "cluster points.csv -k 3 --json {arguments} --mpi-lib"
            ));
            command
                .arg(&library)
                .stdin(Stdio::null())
                .output()
                .unwrap()
                .into()
        };
        let here = clustering(cluster("-t 1"));
        for layout in ["-t 1 -m 2", "-t 2 -m 2", "-t 1 -m 3"] {
            let out = format!("{layout} --out out");
            assert_eq!(
                clustering(cluster(&out)),
                here,
                "{layout}, {}",
                library.display()
            );
            let files = ["centres.csv", "labels.csv", "map.svg", "trace.json"];
            assert_eq!(place.names("out"), files, "one process writes them");
            std::fs::remove_dir_all(place.path("out")).unwrap();
        }
    }
}

#[test]
fn sem_g496_needs_mpi_samples_of_bits_have_the_same_bits_on_threads_and_processes() {
    let digit = |i: usize, j: usize| {
        let noise = (i * 37 + j * 59 + i * j * j) % 11 == 3;
        char::from(b'0' + u8::from((j / 16 == i % 3) != noise))
    };
    // Five tiles of rows, so that each of three ranks has some to give.
    let row = |i: usize| (0..48).map(|j| digit(i, j)).collect::<String>() + "\n";
    for library in mpi_libraries().into_iter().take(1) {
        let place = ProgramFolder::with("bits.txt", (0..2_100).map(row).collect::<String>());
        let cluster = |layout: &str| -> Run {
            let line = "cluster bits.txt --bits -k 3 --sample 60 --restarts 2 --json";
            let mut command = place.command(&format!("{line} {layout} --mpi-lib"));
            command.arg(&library).stdin(Stdio::null());
            command.output().unwrap().into()
        };
        let here = clustering(cluster("-t 1"));
        assert_eq!(here["sample"]["of"], 2_100);
        for layout in ["-t 3", "-t 1 -m 3", "-t 2 -m 2"] {
            assert_eq!(clustering(cluster(layout)), here, "{layout}");
        }
    }
}

#[test]
fn sem_g316_what_processes_cannot_do_is_refused() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place
        .run("cluster - -k 3 -m 2")
        .refusal(&["FILE", "standard input", "name a file"]);
    place
        .run("cluster points.csv -k 3 -m 2 --mpi-lib nowhere")
        .refusal(&["pip install mpich"]);
    place
        .run("cluster none.csv -k 3 -m 0")
        .refusal(&["--processes"]);
}

/// Two processes of the program in `place`, started by the library's own launcher, each as the
/// words of `wrapper` say.
fn launched(place: &ProgramFolder, library: &Path, wrapper: &[&str], arguments: &str) -> Run {
    let family = Family::of(&Library::open(library).unwrap().version());
    let launch = Launch {
        processes: 2,
        ..Launch::new(family, library, family.launcher(library).unwrap())
    };
    let mut program: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
    program.push(env!("CARGO_BIN_EXE_motet").into());
    program.extend(arguments.split_whitespace().map(OsString::from));
    let line = launch.line(&program);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).current_dir(place.path(""));
    command.stdin(Stdio::null()).output().unwrap().into()
}

/// Asserts that the run was refused by one line, which has these words. Launchers may add lines of
/// their own.
#[track_caller]
fn refused_once(run: &Run, words: &[&str]) {
    let (out, err) = (&run.out, &run.err);
    assert!(run.code != 0 && !out.contains("cluster"), "{out}{err}");
    let lines: Vec<&str> = err.lines().filter(|l| l.starts_with("motet: ")).collect();
    assert_eq!(lines.len(), 1, "{out}{err}");
    for word in words {
        assert!(lines[0].contains(word), "{word:?} is not in {}", lines[0]);
    }
}

#[test]
fn sem_g343_needs_mpi_what_all_processes_find_wrong_is_said_once() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        place.write("taken", "text");
        place.write("same.csv", "x\n1\n1\n1\n2\n");
        place.write("late.csv", format!("x,y\n{}3,four\n", "1,2\n".repeat(500)));
        for (arguments, words) in [
            ("none.csv -k 3 -m 4", "no such file: none.csv"),
            ("points.csv -k 3 -m 2 --out taken", "not a directory"),
            ("points.csv -k 61 -m 3", "60 points"),
            ("late.csv -k 3 -m 2", "late.csv:502, column y"),
            ("same.csv -k 3 -m 2 -t 2", "different"),
        ] {
            let mut command = place.command(&format!("cluster {arguments} --mpi-lib"));
            command.arg(&library).stdin(Stdio::null());
            refused_once(&command.output().unwrap().into(), &[words]);
        }
        let stdin = launched(&place, &library, &[], "cluster - -k 3");
        refused_once(&stdin, &["FILE", "standard input", "name a file"]);
        let wrong = launched(&place, &library, &[], "cluster points.csv -k 0");
        refused_once(&wrong, &["--clusters is 0"]);
        let other = launched(&place, &library, &[], "cluster points.csv -k 3 -m 3");
        refused_once(&other, &["is 3", "started 2"]);
    }
}

#[cfg(unix)]
#[test]
fn sem_g343_needs_mpi_what_one_process_finds_wrong_ends_all() {
    // Each process in a folder of its own, as on machines with other disks.
    let apart = ["sh", "-c", r#"cd "$PMI_RANK"; exec "$0" "$@""#];
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        for folder in ["0", "1"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        // One process writes: what is in the way of the other is in nobody's way.
        place.write("1/out", "text");
        let run = launched(
            &place,
            &library,
            &apart,
            "cluster ../points.csv -k 3 --out out -q",
        );
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
        assert_eq!(place.names("0/out").len(), 4);
        assert_eq!(place.read("1/out"), "text");
        place.write("0/here.csv", three_groups());
        let run = launched(&place, &library, &apart, "cluster here.csv -k 3");
        refused_once(&run, &["process 1: no such file: here.csv"]);
    }
}

#[test]
fn sem_g316_needs_mpi_options_hold_under_a_launcher() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        let run = launched(&place, &library, &[], "cluster points.csv -k 3 -t 3 --json");
        let result: Value = serde_json::from_str(&run.quiet_success()).unwrap();
        assert_eq!(result["threads"], 6, "{result}");
        let nowhere = "cluster points.csv -k 3 --mpi-lib nowhere";
        let run = launched(&place, &library, &[], nowhere);
        assert!(run.code != 0 && run.out.is_empty(), "{}", run.out);
        assert!(run.err.contains("pip install mpich"), "{}", run.err);
    }
}

#[test]
fn sem_g344_needs_mpi_processes_share_the_cores_of_their_machine() {
    let cores = motet_sync::thread::cores();
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        let mut command = place.command("cluster points.csv -k 3 --json -m 2 --mpi-lib");
        let run: Run = command.arg(&library).output().unwrap().into();
        let result: Value = serde_json::from_str(&run.quiet_success()).unwrap();
        assert_eq!(result["threads"], 2 * (cores / 2).max(1), "{result}");
    }
}

#[test]
fn sem_g332_needs_mpi_a_library_of_another_launcher_is_named() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        let mut command = place.command("cluster points.csv -k 3 --mpi-lib");
        // As Open MPI's launcher says it.
        command.arg(&library).env("OMPI_COMM_WORLD_SIZE", "5");
        let run: Run = command.output().unwrap().into();
        let library = library.display().to_string();
        run.refusal(&["5 processes", "finds 1", &library, "MOTET_MPI_LIB"]);
    }
}

#[test]
fn sem_g327_needs_mpi_a_profile_has_the_ranks_of_all_processes() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        let mut command =
            place.command("cluster points.csv -k 3 --json --profile -t 2 -m 2 --mpi-lib");
        let command = command.arg(&library).stdin(Stdio::null());
        let run: Run = command.output().unwrap().into();
        let result: Value = serde_json::from_str(&run.quiet_success()).unwrap();
        let profile = &result["profile"];
        let ranks = profile["ranks"].as_array().unwrap();
        let numbers = |name: &str| {
            ranks
                .iter()
                .map(|rank| rank[name].as_u64().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers("rank"), [0, 1, 2, 3], "{profile}");
        assert_eq!(numbers("thread"), [0, 1, 2, 3], "{profile}");
        assert_eq!(profile["threads"], 4);
    }
}
