//! The files of `--out`.

use crate::program::{ProgramFolder, rows, three_groups};

const FILES: [&str; 4] = ["centres.csv", "labels.csv", "map.svg", "trace.json"];

#[test]
fn a_folder_gets_four_files() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place
        .run("cluster points.csv -k 3 --out a/b")
        .quiet_success();
    assert_eq!(place.names("a/b"), FILES);
    let labels = rows(&place.path("a/b/labels.csv"));
    assert_eq!(labels.len(), 61);
    assert_eq!(labels[0], ["row", "x", "y", "cluster"]);
    assert_eq!(labels[1][..3], ["1", "1", "0"]);
    // Cluster 1 is the largest.
    let of = |row: usize| labels[row][3].as_str();
    assert!((1..=10).all(|row| of(row) == "3"));
    assert!((11..=30).all(|row| of(row) == "2"));
    assert!((31..=60).all(|row| of(row) == "1"));
    let centres = rows(&place.path("a/b/centres.csv"));
    assert_eq!(centres[0], ["cluster", "size", "x", "y", "spread"]);
    assert_eq!(centres[1][..2], ["1", "30"]);
    let y: f64 = centres[1][3].parse().unwrap();
    assert!((y - 100.0).abs() < 1e-3);
    let trace: serde_json::Value = serde_json::from_str(&place.read("a/b/trace.json")).unwrap();
    let steps = trace.as_array().unwrap();
    assert!(steps.len() > 2);
    assert_eq!(steps[steps.len() - 1]["clusters"], 3);
    for field in ["temperature", "free_energy", "iterations"] {
        assert!(steps.iter().all(|step| step[field].is_number()), "{field}");
    }
    assert!(place.read("a/b/map.svg").contains("points.csv: 3 clusters"));
}

#[test]
fn the_same_run_writes_the_same_bytes() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place
        .run("cluster points.csv -k 3 --out a --threads 1")
        .quiet_success();
    place
        .run("cluster points.csv -k 3 --out b --threads 3")
        .quiet_success();
    for file in FILES {
        assert_eq!(
            place.read(&format!("a/{file}")),
            place.read(&format!("b/{file}")),
            "{file}"
        );
    }
}

#[test]
fn files_that_are_there_are_replaced_and_others_stay() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place
        .run("cluster points.csv -k 2 --out out")
        .quiet_success();
    place.write("out/notes.txt", "mine");
    place
        .run("cluster points.csv -k 3 --out out")
        .quiet_success();
    assert_eq!(place.names("out").len(), 5);
    assert_eq!(rows(&place.path("out/centres.csv")).len(), 4);
}

#[test]
fn a_run_that_fails_leaves_old_files_as_they_were() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place
        .run("cluster points.csv -k 2 --out out")
        .quiet_success();
    let before = place.read("out/labels.csv");
    place.write("bad.csv", "x,y\n1,2\n3,oops\n");
    place
        .run("cluster bad.csv -k 1 --columns x,y --out out")
        .refusal(&["'oops'"]);
    assert_eq!(place.read("out/labels.csv"), before);
    assert_eq!(place.names("out"), FILES);
}

#[test]
fn weights_and_units_are_named_in_the_files() {
    let place = ProgramFolder::with("t.csv", "lat,lon,w\n10,20,1\n11,21,3\n-40,100,2\n");
    place
        .run("cluster t.csv --geo lat,lon --weight w -k 2 --out out")
        .quiet_success();
    let centres = rows(&place.path("out/centres.csv"));
    assert_eq!(
        centres[0],
        ["cluster", "size", "weight", "lat", "lon", "spread_km"]
    );
    assert_eq!(centres[1][..3], ["1", "2", "4"]);
    let lat: f64 = centres[1][3].parse().unwrap();
    assert!((10.7..10.8).contains(&lat), "{lat}");
    let labels = rows(&place.path("out/labels.csv"));
    assert_eq!(labels[3], ["3", "-40", "100", "2"]);
}

#[test]
fn more_than_two_columns_are_drawn_along_their_components() {
    let place = ProgramFolder::with("t.csv", "a,b,c\n1,2,3\n4,5,9\n7,9,1\n2,2,2\n");
    place.run("cluster t.csv -k 2 --out out").quiet_success();
    assert!(
        place
            .read("out/map.svg")
            .contains("first principal component")
    );
}

#[test]
fn sem_g341_the_files_that_were_written_are_told() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let out = place.run("cluster points.csv -k 3 --out o").quiet_success();
    let last = out.lines().last().unwrap();
    let paths =
        ["labels.csv", "centres.csv", "trace.json", "map.svg"].map(|name| format!("o/{name}"));
    assert_eq!(last.split_once(' ').unwrap().1.trim(), paths.join(", "));
    let out = place
        .run("cluster points.csv -k 3 --out o --json")
        .quiet_success();
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["files"], serde_json::json!(paths));
    let out = place.run("cluster points.csv -k 3").quiet_success();
    assert!(!out.contains("files"));
}

#[test]
fn sem_g342_completions_and_manual_pages_know_every_command() {
    let place = ProgramFolder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&format!("completions {shell}")).quiet_success();
        assert!(
            script.contains("cluster") && script.contains("missing"),
            "{shell}"
        );
    }
    let page = place.run("man").quiet_success();
    assert!(page.starts_with(".ie") && page.contains("cluster"));
    place.run("man --out man1").quiet_success();
    let names = place.names("man1");
    assert!(names.contains(&"motet.1".to_owned()) && names.contains(&"motet-cluster.1".to_owned()));
    assert!(!names.iter().any(|name| name.contains("supervise")));
    assert!(place.read("man1/motet-cluster.1").contains("\\-\\-exclude"));
}
