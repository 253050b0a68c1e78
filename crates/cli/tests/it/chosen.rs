//! A number of clusters by itself.

use std::process::Stdio;

use motet_testkit::mpi_libraries;
use serde_json::Value;

use crate::program::{ProgramFolder, Run, three_groups};

/// What was found, without what time, threads and files make of it.
fn found(run: Run) -> Value {
    let mut found: Value = serde_json::from_str(&run.quiet_success()).unwrap();
    let fields = found.as_object_mut().unwrap();
    for changing in ["run_seconds", "threads", "files"] {
        fields.remove(changing);
    }
    found
}

#[test]
fn sem_g150_a_table_without_a_number_of_clusters_gets_one() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let one = found(place.run("cluster points.csv --json -t 1"));
    let choice = &one["choice"];
    assert_eq!(
        (&one["clusters"], &choice["clusters"]),
        (&3.into(), &3.into())
    );
    assert!(choice["lasts"].as_f64().unwrap() >= 3.0, "{choice}");
    for threads in [2, 3] {
        let line = format!("cluster points.csv --json -t {threads}");
        assert_eq!(found(place.run(&line)), one, "{threads} threads");
    }
    let mut given = one.clone();
    given.as_object_mut().unwrap().remove("choice");
    assert_eq!(found(place.run("cluster points.csv --json -k 3")), given);
    let text = place.run("cluster points.csv -q").quiet_success();
    assert!(text.contains("3 clusters last while"), "{text}");
    let few = found(place.run("cluster points.csv --json --at-most 2"));
    assert!(few["clusters"].as_u64().unwrap() <= 2, "{few}");
    place
        .run("cluster points.csv --at-most 0")
        .refusal(&["--at-most is 0"]);
}

#[test]
fn sem_g150_needs_mpi_the_number_has_the_same_bits_on_processes() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        let here = found(place.run("cluster points.csv --json -t 1"));
        for layout in ["-t 1 -m 2", "-t 2 -m 2"] {
            let line = format!("cluster points.csv --json {layout} --mpi-lib");
            let mut command = place.command(&line);
            command.arg(&library).stdin(Stdio::null());
            let run: Run = command.output().unwrap().into();
            assert_eq!(found(run), here, "{layout}, {}", library.display());
        }
    }
}
