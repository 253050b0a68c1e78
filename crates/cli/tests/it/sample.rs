//! Samples in place of all rows.

use crate::program::{ProgramFolder, three_groups};
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
    let place = ProgramFolder::with("points.csv", three_groups());
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
    let place = ProgramFolder::with("s.fasta", (0..40).map(record).collect::<String>());
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
    let place = ProgramFolder::with("points.csv", three_groups());
    let line = "cluster points.csv -k 3 --sample 9 --restarts 2";
    place.run(line).refusal(&["only of bits and pairs"]);
}

/// Fingerprints of 90 rows in three families.
fn fingerprints() -> String {
    let digit = |i: usize, j: usize| {
        let noise = (i * 37 + j * 59 + i * j * j) % 11 == 3;
        char::from(b'0' + u8::from((j / 16 == i % 3) != noise))
    };
    let row = |i: usize| (0..48).map(|j| digit(i, j)).collect::<String>() + "\n";
    (0..90).map(row).collect()
}

#[test]
fn sem_g496_a_sample_of_bits_labels_all_rows_and_is_named() {
    let place = ProgramFolder::with("bits.txt", fingerprints());
    let run = |line: &str| json(&place.run(line).quiet_success());
    let whole = run("cluster bits.txt --bits -k 3 --json -t 1");
    let line = "cluster bits.txt --bits -k 3 --sample 30 --seed 4 --json";
    let one = run(&format!("{line} --out out -t 1"));
    assert_eq!((sizes(&one), &one["rows"]), (vec![30; 3], &90.into()));
    assert!(one["inertia"].as_f64().unwrap() >= whole["inertia"].as_f64().unwrap());
    let labels = place.read("out/labels.csv");
    assert_eq!(labels.lines().count(), 91);
    let clusters: Vec<&str> = labels
        .lines()
        .skip(1)
        .map(|line| &line[line.len() - 1..])
        .collect();
    assert!(
        (0..90).all(|row| clusters[row] == clusters[row % 3]),
        "{labels}"
    );
    let sample = &one["sample"];
    let told = ["rows", "of", "seed", "draws", "draw"].map(|field| sample[field].as_u64());
    assert_eq!(told, [30, 90, 4, 1, 1].map(Some));
    let drawn = sample["drawn"].as_array().unwrap();
    assert!(
        drawn.len() == 30
            && drawn
                .iter()
                .all(|row| (1..=90).contains(&row.as_u64().unwrap()))
    );
    // What is clustered is those rows and no others.
    let rows = fingerprints();
    let rows: Vec<&str> = rows.lines().collect();
    let own = drawn
        .iter()
        .map(|row| rows[row.as_u64().unwrap() as usize - 1]);
    place.write("some.txt", own.collect::<Vec<_>>().join("\n") + "\n");
    let some = run("cluster some.txt --bits -k 3 --json");
    assert_eq!(
        (&some["inertia"], &some["trace"]),
        (&sample["cost"], &one["trace"])
    );
    for threads in [2, 3, 8] {
        let other = run(&format!("{line} -t {threads}"));
        for field in ["table", "trace", "inertia", "sample"] {
            assert_eq!(other[field], one[field], "{threads} threads: {field}");
        }
    }
    let kmeans = run(&format!("{line} --method kmeans --restarts 4"));
    assert_eq!(
        (sizes(&kmeans), &kmeans["sample"]["draws"]),
        (vec![30; 3], &1.into())
    );
    let text = place
        .run("cluster bits.txt --bits --sample 40")
        .quiet_success();
    assert!(
        text.contains("40 of 90 rows were clustered, seed 1"),
        "{text}"
    );
    let text = place
        .run("cluster bits.txt --bits -k 3 --sample 90")
        .quiet_success();
    assert!(!text.contains("were clustered"), "{text}");
}

#[test]
fn sem_g496_of_several_samples_of_bits_the_one_in_which_all_rows_cost_least_is_kept() {
    let place = ProgramFolder::with("bits.txt", fingerprints());
    let run = |line: &str| json(&place.run(line).quiet_success());
    let line = "cluster bits.txt --bits -k 5 --sample 14 --json";
    let best = run(&format!("{line} --restarts 4 -t 2"));
    let inertia = best["inertia"].as_f64().unwrap();
    assert!(inertia <= run(line)["inertia"].as_f64().unwrap());
    let draw = best["sample"]["draw"].as_u64().unwrap();
    // A draw depends on its number alone, so the first of them are what fewer draws see.
    let with = |draws: u64| run(&format!("{line} --restarts {draws} -t 1"));
    assert_eq!(with(draw)["inertia"], best["inertia"]);
    assert_eq!(with(draw)["sample"]["drawn"], best["sample"]["drawn"]);
    if draw > 1 {
        assert!(with(draw - 1)["inertia"].as_f64().unwrap() > inertia);
    }
}

#[test]
fn sem_g496_samples_that_cannot_be_are_refused() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place.write("d.csv", pairs());
    place.write("bits.txt", fingerprints());
    for (what, rows) in [
        ("points.csv", 60),
        ("d.csv --pairwise", 90),
        ("bits.txt --bits", 90),
    ] {
        let more = rows + 1;
        let (found, most) = (format!("there are {rows}"), format!("--sample {rows}"));
        for (options, words) in [
            ("-k 3 --sample 0".to_owned(), vec!["--sample"]),
            (
                "-k 1 --sample 1".to_owned(),
                vec!["--sample is 1", "2 rows or more"],
            ),
            (format!("-k 3 --sample {more}"), vec![&*found, &*most]),
            (
                "-k 9 --sample 4".to_owned(),
                vec!["9 clusters", "4 rows", "--sample"],
            ),
        ] {
            let told = place.run(&format!("cluster {what} {options} --out out"));
            assert_eq!(told.code, 2, "{what} {options}: {}", told.err);
            for word in words {
                assert!(told.err.contains(word), "{what} {options}: {}", told.err);
            }
        }
    }
    assert!(!place.path("out").exists());
}
