//! A run that is killed and goes on.

use crate::program::ProgramFolder;
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
fn killed(place: &ProgramFolder, line: &str, delay: Duration) -> bool {
    let mut child = place
        .command(line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let some = |place: &ProgramFolder| {
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
    if let Some(aligned) = object.get_mut("aligned") {
        aligned.as_object_mut().unwrap().remove("seconds");
    }
    told
}

fn goes_on(kind: &str, command: &str, content: &str, delays: &[u64]) {
    let place = ProgramFolder::with("in.csv", content);
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
fn sem_g163_a_killed_run_goes_on_to_the_same_bits() {
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
fn sem_g164_clusterings_of_points_that_are_killed_go_on_to_the_same_bits() {
    goes_on("points", POINTS, &table(1500), &[0, 30]);
    goes_on("kmeans", KMEANS, &table(1500), &[0, 30]);
}

#[test]
#[ignore = "takes minutes; `cargo xtask deep` runs it"]
fn deep_sem_g164_clusterings_of_points_killed_at_many_moments_go_on_to_the_same_bits() {
    let delays = [0, 5, 10, 20, 40, 80, 160, 320];
    goes_on("points", POINTS, &table(9000), &delays);
    goes_on("kmeans", KMEANS, &table(9000), &delays);
}

#[test]
#[ignore = "takes minutes; `cargo xtask deep` runs it"]
fn deep_sem_g163_a_run_killed_at_many_moments_goes_on_to_the_same_bits() {
    goes_on(
        "pairwise",
        PAIRWISE,
        &pairs(420),
        &[0, 5, 10, 20, 40, 80, 160, 320],
    );
}

#[test]
fn sem_g165_a_checkpoint_of_other_data_or_options_is_refused() {
    let place = ProgramFolder::with("in.csv", pairs(210));
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
    place
        .run(&format!("{PAIRWISE} --checkpoint in.csv"))
        .refusal(&["in.csv"]);
}

/// Rows of bits, in families.
fn bits(rows: u64) -> String {
    let digit = |i: u64, j: u64| {
        let noise = (i * 37 + j * 59 + i * j * j) % 11 == 3;
        char::from(b'0' + u8::from((j / 9 == i % 9) != noise))
    };
    let row = |i: u64| (0..90).map(|j| digit(i, j)).collect::<String>() + "\n";
    (0..rows).map(row).collect()
}

/// Sequences in families.
fn sequences(rows: usize) -> String {
    let letter = |i: usize, j: usize| {
        let own = (i * 31 + j * 17 + i * j) % 13 == 2;
        b"ACGT"[(j * j + (i % 5) * (j / 7) + usize::from(own)) % 4]
    };
    let record = |i: usize| {
        let letters = (0..150 + i % 7).map(|j| char::from(letter(i, j)));
        format!(">s{i}\n{}\n", letters.collect::<String>())
    };
    (0..rows).map(record).collect()
}

#[test]
fn sem_g172_bits_and_sequences_that_are_killed_go_on_to_the_same_bits() {
    goes_on("bits", "cluster in.csv --bits -k 12", &bits(500), &[0, 30]);
    let line = "cluster in.csv --bits -k 12 --sample 400 --restarts 2";
    goes_on("sample of bits", line, &bits(500), &[0, 60]);
    let line = "cluster in.csv -k 5";
    goes_on("sequences", line, &sequences(100), &[0, 60]);
}

#[test]
fn sem_g172_distances_of_a_killed_run_go_on_to_the_same_matrix() {
    let place = ProgramFolder::with("in.fasta", sequences(110));
    place
        .run("distance in.fasta --out whole.npy -q")
        .quiet_success();
    let line = "distance in.fasta --out d.npy -q --checkpoint kept --checkpoint-every 0.000001";
    let times = [0, 40].map(|delay| {
        killed(
            &place,
            &format!("{line} -t 1"),
            Duration::from_millis(delay),
        )
    });
    assert!(times.contains(&true), "never killed under way");
    place.run(&format!("{line} -t 2")).quiet_success();
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert!(read("d.npy") == read("whole.npy"));
    let left = place.names("kept");
    assert!(
        left.iter().all(|name| !name.ends_with(".checkpoint")),
        "{left:?}"
    );
}

#[test]
fn sem_g175_a_choice_of_clusters_that_is_killed_goes_on_to_the_same_bits() {
    goes_on(
        "points",
        "cluster in.csv --at-most 6",
        &table(300),
        &[0, 30],
    );
    goes_on(
        "bits",
        "cluster in.csv --bits --at-most 6",
        &bits(100),
        &[0, 30],
    );
    goes_on(
        "pairwise",
        "cluster in.csv --pairwise --at-most 6",
        &pairs(80),
        &[0, 30],
    );
}

#[test]
fn sem_g175_a_scaling_that_is_killed_goes_on_to_the_same_places() {
    let place = ProgramFolder::with("in.csv", pairs(240));
    let command = "scale in.csv --method annealed --json";
    let places = |text: &str| {
        let told: Value = serde_json::from_str(text).unwrap();
        (told["places"].clone(), told["steps"].clone())
    };
    let whole = places(&place.run(&format!("{command} -t 1")).quiet_success());
    let line = format!("{command} --checkpoint kept --checkpoint-every 0.000001");
    let times = [0, 30].map(|delay| {
        let line = format!("{line} -t {}", 1 + delay / 30);
        killed(&place, &line, Duration::from_millis(delay))
    });
    assert!(times.contains(&true), "never killed under way");
    let on = place.run(&format!("{line} -t 3")).quiet_success();
    assert_eq!(places(&on), whole);
    let left = place.names("kept");
    assert!(
        left.iter().all(|name| !name.ends_with(".checkpoint")),
        "{left:?}"
    );
}
