//! `motet cluster` on several processes.

use std::process::Stdio;

use serde_json::Value;

use crate::program::{Place, Run, three_groups};
use crate::run::libraries;

/// A clustering as JSON, without what time and threads make of it.
fn clustering(run: Run) -> Value {
    let mut result: Value = serde_json::from_str(&run.quiet_success()).unwrap();
    let fields = result.as_object_mut().unwrap();
    assert!(fields.remove("run_seconds").is_some() && fields.remove("threads").is_some());
    result
}

#[test]
fn sem_g414_needs_mpi_clusters_have_the_same_bits_on_threads_and_processes() {
    for library in libraries() {
        let place = Place::with("points.csv", three_groups());
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
fn sem_g414_what_processes_cannot_do_is_refused() {
    let place = Place::with("points.csv", three_groups());
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

#[test]
fn sem_g439_needs_mpi_a_profile_has_the_ranks_of_all_processes() {
    for library in libraries() {
        let place = Place::with("points.csv", three_groups());
        let mut command =
            place.command("cluster points.csv -k 3 --json --profile -t 2 -m 2 --mpi-lib");
        let command = command.arg(&library).stdin(Stdio::null());
        let result = clustering(command.output().unwrap().into());
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
