//! Samples in place of all rows.

use crate::program::{Place, three_groups};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn sizes(found: &Value) -> Vec<u64> {
    let table = found["table"].as_array().unwrap().iter();
    table.map(|row| row["size"].as_u64().unwrap()).collect()
}

/// Squared distances of 90 places on a line, in three groups.
fn pairs() -> String {
    let at = |i: i32| (i % 3) * 90 + (i * 37) % 19;
    let row = |i: i32| {
        let cells = (0..90).map(|j| (at(i) - at(j)).pow(2).to_string());
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    (0..90).map(row).collect()
}

#[test]
fn sem_g173_a_sample_of_points_or_pairs_labels_all_rows_and_is_named() {
    let place = Place::with("points.csv", three_groups());
    place.write("d.csv", pairs());
    let whole = json(&place.run("cluster points.csv -k 3 --json").quiet_success());
    let run = |line: &str| json(&place.run(line).quiet_success());
    let points = run("cluster points.csv -k 3 --sample 30 --seed 4 --json --out p -t 1");
    assert_eq!(
        (sizes(&points), &points["points"]),
        (sizes(&whole), &60.into())
    );
    assert!(points["inertia"].as_f64().unwrap() >= whole["inertia"].as_f64().unwrap());
    assert_eq!(place.read("p/labels.csv").lines().count(), 61);
    let pairs = run("cluster d.csv --pairwise -k 3 --sample 24 --restarts 3 --json --out d -t 1");
    assert_eq!(
        (sizes(&pairs), &pairs["rows"]),
        (vec![30, 30, 30], &90.into())
    );
    assert_eq!(place.read("d/labels.csv").lines().count(), 91);
    for (found, rows, all, draws) in [(&points, 30, 60, 1), (&pairs, 24, 90, 3)] {
        let sample = &found["sample"];
        let told = [&sample["rows"], &sample["of"], &sample["draws"]];
        assert_eq!(told, [&Value::from(rows), &all.into(), &draws.into()]);
        let drawn = sample["drawn"].as_array().unwrap();
        assert_eq!(drawn.len(), rows);
        assert!(
            drawn
                .iter()
                .all(|row| (1..=all).contains(&row.as_u64().unwrap()))
        );
    }
    let medoid = pairs["table"][0]["medoid"].as_u64().unwrap();
    assert!(
        pairs["sample"]["drawn"]
            .as_array()
            .unwrap()
            .contains(&medoid.into())
    );
    for (line, field, before) in [
        (
            "cluster points.csv -k 3 --sample 30 --seed 4 --json -t 3",
            "table",
            &points,
        ),
        (
            "cluster d.csv --pairwise -k 3 --sample 24 --restarts 3 --json -t 2",
            "table",
            &pairs,
        ),
    ] {
        assert_eq!(run(line)[field], before[field], "{line}");
    }
    let text = place
        .run("cluster points.csv -k 3 --sample 30")
        .quiet_success();
    assert!(
        text.contains("30 of 60 rows were clustered, seed 1"),
        "{text}"
    );
    let text = place
        .run("cluster points.csv -k 3 --sample 60")
        .quiet_success();
    assert!(!text.contains("were clustered"), "{text}");
}

#[test]
fn sem_g173_a_sample_of_sequences_is_what_its_matrix_gives() {
    let letter =
        |i: usize, j: usize| b"ACGT"[(i % 2 * j + j * j + usize::from(i * j % 23 == 5)) % 4];
    let record = |i: usize| {
        let letters = (0..40).map(|j| char::from(letter(i, j)));
        format!(">s{i}\n{}\n", letters.collect::<String>())
    };
    let place = Place::with("s.fasta", (0..40).map(record).collect::<String>());
    place.run("distance s.fasta --out d.npy -q").quiet_success();
    let run = |line: &str| json(&place.run(line).quiet_success());
    let own = run("cluster s.fasta -k 2 --sample 12 --seed 2 --json -t 2");
    let matrix = run("cluster d.npy --pairwise -k 2 --sample 12 --seed 2 --json -t 1");
    assert_eq!(sizes(&own), [20, 20]);
    for field in ["cost", "sample"] {
        assert_eq!(own[field], matrix[field], "{field}");
    }
    assert_eq!(own["aligned"]["pairs"], 66);
}

#[test]
fn sem_g173_what_has_no_sample_refuses_it() {
    let place = Place::with("points.csv", three_groups());
    place.write("bits.txt", "0110\n0011\n");
    for (line, words) in [
        ("cluster points.csv -k 3 --sample 0", "--sample"),
        (
            "cluster points.csv -k 3 --sample 9 --restarts 2",
            "only of pairs",
        ),
        ("cluster bits.txt --bits -k 1 --sample 1", "--sample"),
        ("cluster points.csv -k 9 --sample 4", "9"),
    ] {
        let told = place.run(line);
        assert_eq!(told.code, 2, "{line}: {}", told.err);
        assert!(told.err.contains(words), "{line}: {}", told.err);
    }
}
