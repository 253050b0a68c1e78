//! What is printed.

use serde_json::Value;

use crate::program::{ProgramFolder, three_groups};

fn json(place: &ProgramFolder, arguments: &str) -> Value {
    serde_json::from_str(&place.run(arguments).quiet_success()).unwrap()
}

#[test]
fn the_table_is_sorted_by_size_and_the_facts_follow() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let text = place
        .run("cluster points.csv --clusters 3 --threads 1")
        .quiet_success();
    let lines: Vec<&str> = text.lines().collect();
    let words = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
    assert_eq!(words(0), ["cluster", "size", "x", "y", "spread"]);
    assert_eq!(words(1), ["1", "30", "0.0", "100.0", "1.0000"]);
    assert_eq!(words(2), ["2", "20", "100.0", "0.0", "1.0000"]);
    assert_eq!(words(3), ["3", "10", "0.0", "0.0", "1.0000"]);
    assert_eq!(lines[4], "");
    let names: Vec<&str> = lines[5..]
        .iter()
        .map(|line| line[..12].trim_end())
        .collect();
    let facts = [
        "points",
        "dimensions",
        "method",
        "clusters",
        "inertia",
        "run time",
        "threads",
    ];
    assert_eq!(names, facts);
    assert!(lines[5].ends_with("60") && lines[6].ends_with("2 (x, y)"));
}

#[test]
fn json_holds_what_the_table_holds_and_the_trace() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let result = json(&place, "cluster points.csv -k 3 --json");
    assert_eq!(result["points"], 60);
    assert_eq!(result["clusters"], 3);
    assert_eq!(result["columns"], serde_json::json!(["x", "y"]));
    let sizes: Vec<&Value> = result["table"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["size"])
        .collect();
    assert_eq!(sizes, [30, 20, 10]);
    // Every point is at distance 1 of its centre.
    assert!((result["inertia"].as_f64().unwrap() - 60.0).abs() < 0.01);
    assert!((result["table"][0]["spread"].as_f64().unwrap() - 1.0).abs() < 1e-3);
    assert!(result["trace"].as_array().unwrap().len() > 2);
    assert!(result["run_seconds"].as_f64().unwrap() > 0.0);
    assert!(result.get("weight").is_none() && result.get("scaling").is_none());
}

#[test]
fn both_methods_find_the_groups() {
    let place = ProgramFolder::with("points.csv", three_groups());
    for method in ["annealing", "kmeans --seed 7 --restarts 20"] {
        let result = json(
            &place,
            &format!("cluster points.csv -k 3 --json --method {method}"),
        );
        assert!(
            (result["inertia"].as_f64().unwrap() - 60.0).abs() < 0.01,
            "{method}"
        );
    }
}

#[test]
fn a_temperature_finds_the_number_of_clusters() {
    let place = ProgramFolder::with("points.csv", three_groups());
    // The groups have a variance of 1/2 each way: they split at temperature 1 and below.
    let found = json(&place, "cluster points.csv --t-min 10 --json");
    assert_eq!(found["clusters"], 3);
    let limited = json(&place, "cluster points.csv --t-min 10 --at-most 2 --json");
    assert_eq!(limited["clusters"], 2);
}

#[test]
fn weights_move_centres() {
    let place = ProgramFolder::with("t.csv", "x,w\n0,3\n4,1\n");
    let result = json(&place, "cluster t.csv --weight w -k 1 --json");
    assert_eq!(result["weight"], "w");
    assert_eq!(result["columns"], serde_json::json!(["x"]));
    assert!((result["table"][0]["centre"][0].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(result["table"][0]["weight"], 4.0);
}

#[test]
fn standardised_columns_have_equal_say_and_centres_keep_their_units() {
    // Two groups that differ in `small` only; `large` is noise that would drown it.
    let mut text = "large,small,flat\n".to_owned();
    for i in 0..40 {
        text.push_str(&format!(
            "{},{},5\n",
            (i * 37) % 40 * 100,
            f64::from(i % 2) * 0.01
        ));
    }
    let place = ProgramFolder::with("t.csv", text);
    let run = place.run("cluster t.csv -k 2 --standardise --json");
    assert_eq!(run.code, 0);
    assert!(run.err.contains("flat"), "{}", run.err);
    let result: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(result["spread_unit"], "sd");
    assert_eq!(result["constant_columns"], serde_json::json!(["flat"]));
    let centre =
        |row: usize, column: usize| result["table"][row]["centre"][column].as_f64().unwrap();
    let mut small = [centre(0, 1), centre(1, 1)];
    small.sort_by(f64::total_cmp);
    assert!(
        small[0].abs() < 1e-9 && (small[1] - 0.01).abs() < 1e-9,
        "{small:?}"
    );
    assert!((centre(0, 2) - 5.0).abs() < 1e-9);
}

#[test]
fn scaling_compares_with_one_thread() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let result = json(
        &place,
        "cluster points.csv -k 3 --threads 2 --scaling --json",
    );
    let scaling = &result["scaling"];
    let number = |name: &str| scaling[name].as_f64().unwrap();
    let (t1, tp, threads) = (
        number("t1_seconds"),
        number("tp_seconds"),
        number("threads"),
    );
    assert!((number("overhead") - (threads * tp - t1) / t1).abs() < 1e-9);
    assert!((number("efficiency") * (1.0 + number("overhead")) - 1.0).abs() < 1e-9);
    assert_eq!(scaling["same_result"], true);
    let text = place
        .run("cluster points.csv -k 3 --threads 2 --scaling")
        .quiet_success();
    for name in ["T1", "TP", "overhead f", "efficiency"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
    }
}

#[test]
fn sem_g326_a_profile_is_printed_and_its_parts_add_up() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let options = "cluster points.csv -k 3 --threads 2 --profile";
    let result = json(&place, &format!("{options} --json"));
    let profile = &result["profile"];
    let f = |name: &str| profile["overhead"][name].as_f64().unwrap();
    let parts = f("messaging") + f("imbalance") + f("jitter") + f("waiting");
    assert!((f("overhead") - parts).abs() < 1e-9, "{profile}");
    assert_eq!(
        (&profile["threads"], &profile["ranks"][1]["rank"]),
        (&2.into(), &1.into())
    );
    let stages = profile["ranks"][0]["stages"].as_array().unwrap();
    assert!(
        stages.iter().any(|stage| stage["call"] == "allreduce"),
        "{profile}"
    );
    let text = place.run(options).quiet_success();
    for words in ["overhead f = ", "allreduce at ", "model f = a/grain + b"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let plain = json(&place, "cluster points.csv -k 3 --threads 2 --json");
    assert!(plain.get("profile").is_none());
    assert_eq!(plain["table"], result["table"], "the same clusters");
}

#[test]
fn wide_tables_are_cut_on_paper_only() {
    let header: Vec<String> = (1..=12).map(|i| format!("c{i}")).collect();
    let row = |value: &str| [value; 12].join(",");
    let place = ProgramFolder::with(
        "t.csv",
        format!("{}\n{}\n{}\n", header.join(","), row("1"), row("2")),
    );
    let text = place.run("cluster t.csv -k 1").quiet_success();
    assert!(text.contains("c8") && !text.contains("c9") && text.contains("4 more columns"));
    let result = json(&place, "cluster t.csv -k 1 --json");
    assert_eq!(result["table"][0]["centre"].as_array().unwrap().len(), 12);
}

#[test]
fn sem_g257_nobody_watches_and_only_results_are_printed() {
    let place = ProgramFolder::with("points.csv", "name,x,y\na,0,1\nb,5,6\n");
    // A remark belongs to standard error, a result to standard output.
    let run = place.run("cluster points.csv -k 2 --json");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(serde_json::from_str::<Value>(&run.out).is_ok());
    assert!(run.err.contains("left out") && run.err.lines().count() == 1);
    let quiet = place.run("cluster points.csv -k 2 --quiet").quiet_success();
    // No bar: nothing moves the cursor.
    assert!(!quiet.contains('\u{1b}') && !quiet.contains('\r'));
    assert!(!run.err.contains('\u{1b}') && !run.err.contains('\r'));
}
