//! Mixtures and hidden Markov models.

use crate::program::{ProgramFolder, rows};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Two heaps of different width, and a column of names.
fn heaps() -> String {
    let mut text = "name,x,y\n".to_owned();
    for i in 0..120 {
        let wobble = |a: usize, b: usize| ((i * a % 101 + i * b % 97) as f64 / 99.0) - 1.0;
        let (at, wide) = if i % 3 == 0 { (9.0, 2.0) } else { (0.0, 0.5) };
        let (x, y) = (at + wide * wobble(37, 59), wide * wobble(41, 73));
        text.push_str(&format!("p{i},{x},{y}\n"));
    }
    text
}

#[test]
fn sem_g153_a_mixture_is_written_whole_and_its_model_labels_the_rows_again() {
    let place = ProgramFolder::with("p.csv", heaps());
    let line = "mixture p.csv --columns x,y --keep name -k auto --at-most 4 --json --out out -t 2";
    let told = json(
        &place
            .run(&format!("{line} --scaling --profile"))
            .quiet_success(),
    );
    assert_eq!(
        (&told["components"], &told["points"]),
        (&2.into(), &120.into())
    );
    assert_eq!(told["tried"].as_array().unwrap().len(), 4);
    assert_eq!(told["scaling"]["same_result"], true);
    assert!(told["profile"]["seconds"].as_f64().is_some());
    assert_eq!(told["table"][0]["size"], 80);
    assert_eq!(
        place.names("out"),
        [
            "labels.csv",
            "map.svg",
            "model.json",
            "trace.json",
            "trace.svg"
        ]
    );
    let labels = rows(&place.path("out/labels.csv"));
    assert_eq!(labels[0], ["row", "name", "x", "y", "cluster"]);
    assert_eq!((labels[1][4].as_str(), labels[2][4].as_str()), ("2", "1"));
    assert_eq!(place.read("out/map.svg").matches("<ellipse").count(), 2);
    let again = "mixture p.csv --keep name --model out/model.json --out again --json";
    let again = json(&place.run(again).quiet_success());
    assert_eq!(place.read("out/labels.csv"), place.read("again/labels.csv"));
    let difference =
        again["log_likelihood"].as_f64().unwrap() - told["log_likelihood"].as_f64().unwrap();
    assert!(difference.abs() < 1e-9, "{difference}");
    let text = place
        .run("mixture p.csv --columns x,y -k 2")
        .quiet_success();
    assert!(text.contains("BIC") && text.contains("converged"), "{text}");
}

#[test]
fn sem_g153_standardised_columns_give_a_model_in_the_units_of_the_columns() {
    let place = ProgramFolder::with("p.csv", heaps());
    for shape in ["full", "tied", "diagonal", "spherical"] {
        let line = format!(
            "mixture p.csv --columns x,y -k 2 --covariance {shape} --tolerance 1e-9 --floor 0 \
             --iterations 500 --json"
        );
        let plain = json(&place.run(&line).quiet_success());
        let out = format!("{line} --standardise --out {shape}");
        let scaled = json(&place.run(&out).quiet_success());
        let again = format!("mixture p.csv --model {shape}/model.json --json");
        let again = json(&place.run(&again).quiet_success());
        let value = |told: &Value| told["log_likelihood"].as_f64().unwrap();
        assert!((value(&scaled) - value(&again)).abs() < 1e-9, "{shape}");
        // One variance for all columns is another model where the columns are scaled.
        if shape != "spherical" {
            let both = (value(&scaled), value(&plain));
            assert!((both.0 - both.1).abs() < 1e-5, "{shape}: {both:?}");
        }
    }
}

#[test]
fn sem_g153_standardised_or_not_the_one_chosen_is_among_those_tried() {
    let place = ProgramFolder::with("p.csv", heaps());
    for options in ["", "--standardise", "--standardise --criterion aic"] {
        let line = format!("mixture p.csv --columns x,y -k auto --at-most 3 --json {options}");
        let told = json(&place.run(&line).quiet_success());
        let chosen = told["components"].as_u64().unwrap() as usize;
        let tried = &told["tried"][chosen - 1];
        assert_eq!(tried["components"], told["components"]);
        for name in ["log_likelihood", "bic", "aic"] {
            let values = [&told[name], &tried[name]].map(|value| value.as_f64().unwrap());
            let away = (values[0] - values[1]).abs();
            assert!(
                away <= 1e-9 * values[0].abs(),
                "{options}: {name} {values:?}"
            );
        }
    }
}

/// Runs of numbers around 0 and around 6, in two sequences.
fn days() -> String {
    let mut text = "day,x\n".to_owned();
    for day in 0..2 {
        for i in 0..80 {
            let at = f64::from((i / 20 + day) % 2 * 6);
            text.push_str(&format!("d{day},{}\n", at + f64::from(i * 37 % 41) / 41.0));
        }
    }
    text
}

#[test]
fn sem_g154_a_hidden_markov_model_of_numbers_is_fitted_decoded_and_scored() {
    let place = ProgramFolder::with("d.csv", days());
    let line = "hmm fit d.csv --columns x --sequence day -s 2 --starts 2 --out out --json";
    let told = json(&place.run(&format!("{line} -t 2 --scaling")).quiet_success());
    assert_eq!(
        (&told["sequences"], &told["places"]),
        (&2.into(), &160.into())
    );
    assert_eq!(told["scaling"]["same_result"], true);
    assert_eq!(
        place.names("out"),
        [
            "labels.csv",
            "map.svg",
            "model.json",
            "scores.csv",
            "trace.json",
            "trace.svg"
        ]
    );
    let labels = rows(&place.path("out/labels.csv"));
    assert_eq!(
        (labels[1][0].as_str(), labels[81][0].as_str()),
        ("d0", "d1")
    );
    assert!((1..=20).all(|at| labels[at][2] == labels[1][2]));
    assert!((21..=40).all(|at| labels[at][2] != labels[1][2]));
    let line = "hmm decode d.csv --sequence day --model out/model.json --out again --json -t 3";
    let again = json(&place.run(line).quiet_success());
    assert_eq!(again["scores"], told["scores"]);
    assert_eq!(place.read("out/labels.csv"), place.read("again/labels.csv"));
    let line = "hmm score d.csv --sequence day --model out/model.json";
    let text = place.run(line).quiet_success();
    assert!(
        text.contains("  d0\n") && text.contains("2, 160 places"),
        "{text}"
    );
    let scaled = "hmm fit d.csv --columns x --sequence day -s 2 --standardise --out s --json";
    let scaled = json(&place.run(scaled).quiet_success());
    let again = "hmm score d.csv --sequence day --model s/model.json --json";
    let again = json(&place.run(again).quiet_success());
    let values = [&scaled, &again].map(|told| told["log_p"].as_f64().unwrap());
    assert!((values[0] - values[1]).abs() < 1e-6, "{values:?}");
}

#[test]
fn sem_g154_symbols_come_from_a_column_or_from_fasta() {
    let text: String = (0..120).map(|i| ["A", "C"][i / 12 % 2]).collect();
    let table: String = text.chars().map(|letter| format!("w,{letter}\n")).collect();
    let place = ProgramFolder::with("w.csv", format!("word,letter\n{table}"));
    place.write("w.fa", format!(">w\n{text}\n"));
    let line = "-s 2 --starts 3 --json --out";
    let one = place.run(&format!(
        "hmm fit w.csv --symbol letter --sequence word {line} one"
    ));
    let two = place.run(&format!("hmm fit w.fa {line} two"));
    let (one, two) = (json(&one.quiet_success()), json(&two.quiet_success()));
    assert_eq!(
        (&one["log_p"], &one["table"]),
        (&two["log_p"], &two["table"])
    );
    assert_eq!(one["names"], serde_json::json!(["A", "C"]));
    assert!(place.names("one").iter().all(|name| name != "map.svg"));
    let (head, rest) = text.split_at(50);
    place.write("remarks.fa", format!(">w\n;CG T\n{head}\n;\n{rest}\n"));
    let run = place.run("hmm score remarks.fa --model one/model.json --json");
    let remarks = json(&run.quiet_success());
    assert_eq!(
        (&remarks["places"], &remarks["names"]),
        (&120.into(), &one["names"])
    );
    place.write("bad.fa", ">w\nACG\n");
    place
        .run("hmm score bad.fa --model one/model.json")
        .refusal(&["place 3", "'G'"]);
}

#[test]
fn sem_g153_what_does_not_fit_a_model_is_said_before_any_work() {
    let place = ProgramFolder::with("p.csv", heaps());
    place.write("d.csv", days());
    place.write("gap.csv", "s\na\n\nb\n?\n");
    place.write("other.json", "{\"kind\": \"hmm\"}");
    place.write("no.json", "{");
    place
        .run("mixture p.csv --columns x,y -k 2 --out out")
        .quiet_success();
    let cut = place
        .read("out/model.json")
        .replacen("\"dim\": 2", "\"dim\": 3", 1);
    place.write("cut.json", cut);
    for (line, words) in [
        ("mixture p.csv --columns x,y", "give --components K"),
        ("mixture p.csv --columns x,y -k 0", "give a number from 1"),
        (
            "mixture p.csv --columns x,y -k 2 --model a",
            "--components does not go with",
        ),
        ("mixture p.csv --geo x,y -k 2", "'--geo'"),
        (
            "mixture p.csv --columns x,name -k 2",
            "p.csv:2, column name",
        ),
        ("mixture p.csv --columns x,y -k 121", "there are 120 points"),
        ("mixture p.csv --columns x,y -k 2 --floor -1", "floor"),
        ("mixture p.csv --model none.json", "give a model.json"),
        ("mixture p.csv --model no.json", "no model"),
        ("mixture p.csv --model other.json", "its kind is hmm"),
        ("mixture p.csv --model cut.json", "fit it again"),
        ("mixture d.csv --model out/model.json", "no column y"),
        (
            "mixture p.csv --columns x --model out/model.json",
            "the model names its columns",
        ),
        (
            "hmm fit d.csv --columns x --sequence day -s 2 --weight x",
            "'--weight'",
        ),
        (
            "hmm fit d.csv --columns x --sequence none -s 2",
            "no column none",
        ),
        (
            "hmm fit gap.csv --symbol s -s 2",
            "row 3, column s has no symbol",
        ),
        (
            "hmm score p.csv --model out/model.json",
            "its kind is mixture",
        ),
    ] {
        let run = place.run(line);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{line}: {}", run.err);
        assert!(run.err.contains(words), "{line}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{line}");
    }
}

#[test]
fn sem_g154_what_would_cut_or_lose_a_sequence_is_refused() {
    let place = ProgramFolder::with("d.csv", "day,x\na,1\n,2\na,3\nb,9\n");
    place.write("s.csv", "day,s\na,u\na,v\n,u\n");
    let words = |row: usize| format!("row {row}, column day names no sequence");
    place
        .run("hmm fit d.csv --sequence day -s 2")
        .refusal(&["d.csv", &words(2)]);
    place
        .run("hmm fit s.csv --symbol s --sequence day -s 2")
        .refusal(&["s.csv", &words(3)]);
    // The rows that are left out count.
    place.write("gap.csv", "day,x\na,1\na,\n,2\na,3\nb,9\n");
    place
        .run("hmm fit gap.csv --sequence day -s 2 --missing drop-row")
        .refusal(&["gap.csv", &words(3)]);
    // Rows that are sorted by time, not by day.
    place.write("time.csv", "day,x,s\na,1,u\nb,2,v\nb,3,u\na,4,v\n");
    let words = "row 4, column day names sequence 'a' again after 'b': sort the rows by day";
    for seen in ["--columns x", "--symbol s"] {
        place
            .run(&format!("hmm fit time.csv {seen} --sequence day -s 2"))
            .refusal(&["time.csv", words]);
    }
    for (text, line) in [("  >a\nAC\n>b\nCA\n", 1), (">a\nAC\n >b\nCA\n", 3)] {
        place.write("x.fa", text);
        let what = format!("line {line} has blanks before >");
        place.run("hmm fit x.fa -s 2").refusal(&["x.fa", &what]);
    }
    place.write("x.fa", b">a\nAC\n\xe9\n");
    place
        .run("hmm fit x.fa -s 2")
        .refusal(&["x.fa:3", "not UTF-8"]);
}

#[test]
fn sem_g153_columns_that_a_model_leaves_out_are_told() {
    let place = ProgramFolder::with("p.csv", heaps().replacen("p7,", "7,", 1));
    for line in ["mixture p.csv -k 2", "hmm fit p.csv -s 2"] {
        let told = place.run(line);
        assert_eq!(told.code, 0, "{}", told.err);
        let words = "left out: name ('p0' in line 2)";
        assert!(told.err.contains(words), "{line}: {}", told.err);
        assert_eq!(told.err.lines().count(), 1, "{line}");
        place.run(&format!("{line} -q")).quiet_success();
        let listed = format!("{line} --columns x,y");
        place.run(&listed).quiet_success();
    }
}

#[test]
fn sem_g153_a_model_that_nobody_could_use_is_refused() {
    let twice = heaps().replacen("name,x,y", "name,x,x", 1);
    let place = ProgramFolder::with("twice.csv", twice);
    for line in ["mixture twice.csv -k 2 -q", "hmm fit twice.csv -s 2 -q"] {
        place.run(line).quiet_success();
        let run = place.run(&format!("{line} --out out"));
        run.refusal(&["twice.csv", "two columns are called x", "rename one"]);
    }
    // The variances would be 1e-400.
    let rows = (0..40).map(|i| format!("{}e-200\n", i / 20 * 6 + i % 5));
    place.write("tiny.csv", format!("x\n{}", rows.collect::<String>()));
    for line in ["mixture tiny.csv -k 2", "hmm fit tiny.csv -s 2"] {
        let run = place.run(&format!("{line} --standardise --out out"));
        run.refusal(&["tiny.csv", "beyond all numbers"]);
    }
    assert!(!place.path("out").exists());
    // The model is read, too.
    place.write("p.csv", heaps());
    let line = "mixture p.csv --columns x,y -k 2 --out out -q";
    place.run(line).quiet_success();
    let model = place.read("out/model.json");
    place.write("out/labels.csv", &model);
    let run = place.run("mixture p.csv --model out/labels.csv --out out");
    run.refusal(&["out/labels.csv is read"]);
    assert_eq!(place.read("out/labels.csv"), model);
}

#[test]
fn the_help_of_the_models_fits() {
    for (command, words) in [
        ("mixture", ["--components", "--covariance", "Examples"]),
        ("hmm fit", ["--states", "--symbol", "Examples"]),
        ("hmm decode", ["--model", "--sequence", "Examples"]),
    ] {
        let help = ProgramFolder::new()
            .run(&format!("{command} --help"))
            .quiet_success();
        assert!(words.iter().all(|word| help.contains(word)), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
}
