//! What the machine offers, as a user asks for it.

use crate::program::ProgramFolder;
use motet_testkit::mpi_libraries;
use serde_json::Value;

#[test]
fn doctor_gives_one_object_with_every_field() {
    // No library is named, which an empty variable does not do either, and no program is there.
    let place = ProgramFolder::new();
    let mut command = place.command("doctor --json --python no-python --go no-go");
    let out = command
        .env("MOTET_MPI_LIB", "")
        .env_remove("VIRTUAL_ENV")
        .output()
        .unwrap();
    let row: Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut fields: Vec<&str> = row
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    fields.sort_unstable();
    let mut expected =
        "cores caches roundtrip_us two_cores threads clock_ghz wakeup_us memory limits mpi mpi_problem mesh python go"
            .split_whitespace()
            .collect::<Vec<_>>();
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert!(row["cores"]["usable"].as_u64().unwrap() >= 1);
    assert!(row["threads"]["number"].as_u64().unwrap() >= 1);
    assert!(row["wakeup_us"].as_f64().unwrap() > 0.0);
    assert!(row["python"].is_null() && row["go"].is_null());
    let found = row["mpi"].as_array().unwrap().len();
    assert_eq!(found == 0, row["mpi_problem"].is_string(), "{row}");
}

#[test]
fn sem_g590_a_variable_that_names_no_python_is_none() {
    let place = ProgramFolder::new();
    let python = |named: Option<&str>| {
        let mut command = place.command("doctor --json --go no-go");
        match named {
            Some(named) => command.env("MOTET_PYTHON", named),
            None => command.env_remove("MOTET_PYTHON"),
        };
        let out = command.output().unwrap();
        let row: Value = serde_json::from_slice(&out.stdout).unwrap();
        row["python"].clone()
    };
    assert_eq!(python(Some("")), python(None));
}

#[test]
fn doctor_says_the_same_in_words() {
    let out = ProgramFolder::new()
        .run("doctor --go no-go")
        .quiet_success();
    for words in [
        "cores ",
        "threads ",
        "wake-up ",
        "memory ",
        "limits ",
        "MPI ",
        "mesh ",
        "Python ",
        "Go          none",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn sem_g305_doctor_names_a_library_that_is_not_there() {
    ProgramFolder::new()
        .run("doctor --mpi-lib nowhere")
        .refusal(&["nowhere", "pip install mpich"]);
}

#[test]
fn sem_g305_doctor_says_what_is_wrong_with_a_library() {
    let place = ProgramFolder::with("libmpi_abi.so.1", "no library");
    for arguments in [
        "doctor --mpi-lib .",
        "doctor --json --mpi-lib libmpi_abi.so.1",
    ] {
        place
            .run(arguments)
            .refusal(&["cannot open the MPI library", "libmpi_abi.so.1"]);
    }
}

#[cfg(unix)]
#[test]
fn doctor_says_what_is_wrong_with_a_library_that_it_finds_by_itself() {
    let place = ProgramFolder::with("libmpi_abi.so.1", "no library");
    let mut command = place.command("doctor --json --python no-python --go no-go");
    let out = command
        .env("LD_LIBRARY_PATH", place.path(""))
        .output()
        .unwrap();
    let row: Value = serde_json::from_slice(&out.stdout).unwrap();
    let found = row["mpi"].as_array().unwrap();
    let problems: Vec<&str> = found
        .iter()
        .filter_map(|found| found["problem"].as_str())
        .collect();
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains("cannot open the MPI library")),
        "{row}"
    );
}

#[test]
fn needs_mpi_doctor_starts_each_library() {
    for library in mpi_libraries() {
        let place = ProgramFolder::new();
        let mut command = place.command("doctor --json --mpi-lib");
        let out = command.arg(&library).output().unwrap();
        let row: Value = serde_json::from_slice(&out.stdout).unwrap();
        let found = &row["mpi"][0];
        assert!(found["problem"].is_null(), "{found}");
        assert!(
            found["version"].as_str().unwrap().contains("MPI"),
            "{found}"
        );
        assert!(
            found["threads"]
                .as_str()
                .unwrap()
                .starts_with("MPI_THREAD_"),
            "{found}"
        );
        assert!(
            found["launcher"].as_str().unwrap().contains("mpiexec"),
            "{found}"
        );
    }
}
