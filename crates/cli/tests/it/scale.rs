//! Scaling to a plane.

use crate::program::ProgramFolder;
use serde_json::Value;

/// The corners of a square of side 1, by their distances.
fn square() -> String {
    let d = 2.0_f64.sqrt();
    format!("0,1,{d},1\n1,0,1,{d}\n{d},1,0,1\n1,{d},1,0\n")
}

#[test]
fn sem_g146_places_files_and_the_same_on_any_number_of_threads() {
    let place = ProgramFolder::with("d.csv", square());
    place.write(
        "labels.csv",
        "row,cluster\n1,left\n2,right\n3,right\n4,left\n",
    );
    let line = "scale d.csv --json --labels labels.csv --out out";
    let told: Value = serde_json::from_str(&place.run(line).quiet_success()).unwrap();
    assert!(told["stress"].as_f64().unwrap() < 1e-12);
    let places = &told["places"];
    let at = |row: usize, axis: usize| places[row][axis].as_f64().unwrap();
    let side = (at(0, 0) - at(1, 0)).hypot(at(0, 1) - at(1, 1));
    assert!((side - 1.0).abs() < 1e-6, "{places}");
    assert_eq!(place.names("out"), ["places.csv", "plane.svg"]);
    let table = place.read("out/places.csv");
    assert!(
        table.starts_with("row,cluster,axis1,axis2\n1,1,"),
        "{table}"
    );
    let picture = place.read("out/plane.svg");
    assert!(
        picture.starts_with("<svg") && picture.contains("d.csv: 2 clusters"),
        "{picture}"
    );
    for method in ["classical", "majorised", "annealed"] {
        let line = format!("scale d.csv --json --method {method} -t");
        let places = |threads: usize| {
            let told = place.run(&format!("{line} {threads}")).quiet_success();
            serde_json::from_str::<Value>(&told).unwrap()["places"].clone()
        };
        assert_eq!(places(1), places(3), "{method}");
    }
    let text = place.run("scale d.csv").quiet_success();
    assert!(
        text.contains("relative") && text.contains("majorisation"),
        "{text}"
    );
}

#[test]
fn sem_g146_labels_are_those_of_one_column_and_are_not_written_over() {
    let place = ProgramFolder::with("d.csv", square());
    let labels = "row,cluster\n1,left\n2,right\n3,right\n4,left\n";
    for (name, text) in [
        ("comma", labels.to_owned()),
        ("semicolon", labels.replace(',', ";")),
    ] {
        place.write("labels.csv", text);
        let line = format!("scale d.csv --labels labels.csv --out {name}");
        place.run(&line).quiet_success();
    }
    let places = place.read("comma/places.csv");
    assert_eq!(place.read("semicolon/places.csv"), places);
    let run = place.run("scale d.csv --labels comma/places.csv --out comma");
    run.refusal(&["comma/places.csv is read"]);
    assert_eq!(place.read("comma/places.csv"), places);
    place.write("labels.csv", "cluster,cluster\na,1\na,2\nb,3\nb,4\n");
    let run = place.run("scale d.csv --labels labels.csv --out out");
    run.refusal(&["labels.csv", "columns 1 and 2 are both called cluster"]);
    place.write("d.csv", "0,1,9\n1,0,x\n9,9,0\n");
    let run = place.run("scale d.csv --out out");
    run.refusal(&["3 rows of 2 columns", "column3", "'x' in line 2"]);
}

#[test]
fn sem_g146_what_cannot_be_scaled_is_said_before_any_work() {
    let place = ProgramFolder::with("d.csv", square());
    place.write("few.csv", "row,cluster\n1,a\n");
    place.write("wide.csv", "0,1,2\n1,0,2\n");
    for (line, words) in [
        (
            "scale d.csv --labels few.csv --out out",
            "1 rows of labels and there are 4 rows",
        ),
        ("scale wide.csv --out out", "2 rows of 3 columns"),
        ("scale none.csv --out out", "none.csv"),
        ("scale d.csv --labels none.csv --out out", "none.csv"),
        ("scale d.csv --local", "not FASTA"),
        (
            "scale d.csv --dim 5 --out out",
            "--dim is 5: there are fewer rows",
        ),
    ] {
        let told = place.run(line);
        assert_eq!(told.code, 2, "{line}");
        assert!(told.err.contains(words), "{line}: {}", told.err);
    }
    assert!(!place.path("out").exists());
}
