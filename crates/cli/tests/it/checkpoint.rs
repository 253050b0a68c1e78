//! A run that is killed and goes on.

use crate::program::Place;
use motet_sync::Parker;
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Squared distances of points in a line, in groups.
fn pairs(rows: i32) -> String {
    let at = |i: i32| (i % 7) * 40 + (i * 37) % 19;
    let row = |i: i32| {
        let cells = (0..rows).map(|j| (at(i) - at(j)).pow(2).to_string());
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    (0..rows).map(row).collect()
}

/// Starts the command, kills it when its checkpoint has been there for `delay`, says whether it
/// was still running.
fn killed(place: &Place, line: &str, delay: Duration) -> bool {
    let mut child = place
        .command(line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let some = |place: &Place| {
        let folder = place.path("kept");
        folder.is_dir()
            && place
                .names("kept")
                .iter()
                .any(|name| name.ends_with(".checkpoint"))
    };
    while !some(place) && begin.elapsed() < Duration::from_secs(60) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let _ = Parker::new().park_timeout(Duration::from_millis(1));
    }
    let _ = Parker::new().park_timeout(delay);
    // SIGKILL: nothing of the program runs any more.
    let running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    running
}

fn result(text: &str) -> Value {
    let mut told: Value = serde_json::from_str(text).unwrap();
    let object = told.as_object_mut().unwrap();
    for changing in ["run_seconds", "threads", "files"] {
        object.remove(changing);
    }
    told
}

fn goes_on(kind: &str, command: &str, content: &str, delays: &[u64]) {
    let place = Place::with("in.csv", content);
    let whole = place
        .run(&format!("{command} -t 1 --out whole --json"))
        .quiet_success();
    let kept = "--checkpoint kept --checkpoint-every 0.000001";
    let mut times = 0;
    for (number, delay) in delays.iter().enumerate() {
        let line = format!("{command} -t {} {kept} --json --out out", 1 + number % 3);
        times += usize::from(killed(&place, &line, Duration::from_millis(*delay)));
    }
    assert!(times > 0, "{kind} was never killed under way");
    assert!(place.path("kept").is_dir());
    let on = place
        .run(&format!("{command} -t 2 {kept} --json --out out"))
        .quiet_success();
    assert_eq!(result(&on), result(&whole), "{kind}");
    assert_eq!(place.read("out/labels.csv"), place.read("whole/labels.csv"));
    // The results are there: the checkpoints are gone, a file half written at most is left.
    let left = place.names("kept");
    assert!(
        left.iter().all(|name| !name.ends_with(".checkpoint")),
        "{left:?}"
    );
}

const PAIRWISE: &str = "cluster in.csv --pairwise -k 7";

#[test]
fn sem_g663_a_killed_run_goes_on_to_the_same_bits() {
    goes_on("pairwise", PAIRWISE, &pairs(210), &[0, 30]);
}

/// Rows of two columns, in groups as wide as they are apart.
fn table(rows: i32) -> String {
    let row = |i: i32| {
        let at = |by: i32| (i * by % 1009) + (i % 13) * by % 7 * 150;
        format!("{},{}\n", at(37), at(271))
    };
    "x,y\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

const POINTS: &str = "cluster in.csv -k 11";
const KMEANS: &str = "cluster in.csv -k 16 --method kmeans --restarts 3";

#[test]
fn sem_g963_clusterings_of_points_that_are_killed_go_on_to_the_same_bits() {
    goes_on("points", POINTS, &table(1500), &[0, 30]);
    goes_on("kmeans", KMEANS, &table(1500), &[0, 30]);
}

#[test]
#[ignore = "takes minutes; `cargo xtask deep` runs it"]
fn deep_sem_g963_clusterings_of_points_killed_at_many_moments_go_on_to_the_same_bits() {
    let delays = [0, 5, 10, 20, 40, 80, 160, 320];
    goes_on("points", POINTS, &table(9000), &delays);
    goes_on("kmeans", KMEANS, &table(9000), &delays);
}

#[test]
#[ignore = "takes minutes; `cargo xtask deep` runs it"]
fn deep_sem_g663_a_run_killed_at_many_moments_goes_on_to_the_same_bits() {
    goes_on(
        "pairwise",
        PAIRWISE,
        &pairs(420),
        &[0, 5, 10, 20, 40, 80, 160, 320],
    );
}

#[test]
fn sem_g664_a_checkpoint_of_other_data_or_options_is_refused() {
    let place = Place::with("in.csv", pairs(210));
    let kept = "--checkpoint kept --checkpoint-every 0.000001";
    assert!(killed(
        &place,
        &format!("{PAIRWISE} {kept} --quiet"),
        Duration::ZERO
    ));
    let words = ["kept/pairwise.checkpoint", "other options", "remove it"];
    place
        .run(&format!("cluster in.csv --pairwise -k 6 {kept}"))
        .refusal(&words);
    place.write("in.csv", pairs(203));
    place.run(&format!("{PAIRWISE} {kept}")).refusal(&words);
    place.write("kept/pairwise.checkpoint", "motet checkpoint");
    place
        .run(&format!("{PAIRWISE} {kept}"))
        .refusal(&["damaged", "remove it"]);
    place.write("bits.txt", "0110\n0011\n");
    place
        .run(&format!("cluster bits.txt --bits -k 1 {kept}"))
        .refusal(&["does not go with --bits"]);
    place
        .run(&format!("{PAIRWISE} --checkpoint in.csv"))
        .refusal(&["in.csv"]);
}
