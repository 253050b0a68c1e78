//! Fingerprints.

use crate::program::{ProgramFolder, rows};
use serde_json::Value;

/// Two families of three rows, as digits with names.
const DIGITS: &str = "11110000 a\n00001111 b\n11100000 c\n00000111 d\n11110001 e\n00011111 f\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The same rows in the `.npy` format, a byte each.
fn npy() -> Vec<u8> {
    let mut header = "{'descr': '|u1', 'fortran_order': False, 'shape': (6, 1), }".to_owned();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend([0x0f, 0xf0, 0x07, 0xe0, 0x8f, 0xf8]);
    bytes
}

#[test]
fn sem_g147_every_form_of_a_file_gives_the_same_clusters() {
    let place = ProgramFolder::with("bits.txt", DIGITS);
    place.write("bits.npy", npy());
    let fps = "#FPS1\n#num_bits=8\n0f\ta\nf0\tb\n07\tc\ne0\td\n8f\te\nf8\tf\n";
    place.write("bits.fps", fps);
    let run = |line: &str| json(&place.run(line).quiet_success());
    let first = run("cluster bits.txt --bits -k 2 --json --out out -t 1");
    assert_eq!((&first["rows"], &first["width"]), (&6.into(), &8.into()));
    assert_eq!(first["table"][0]["size"], 3);
    for line in [
        "cluster bits.npy --bits -k 2 --json -t 2",
        "cluster bits.npy --bits --width 8 -k 2 --json -t 3",
        "cluster bits.fps --bits -k 2 --json",
    ] {
        let other = run(line);
        for field in ["table", "trace", "inertia"] {
            assert_eq!(other[field], first[field], "{line}: {field}");
        }
    }
    assert_eq!(
        place.names("out"),
        ["centres.csv", "labels.csv", "trace.json"]
    );
    let labels = place.read("out/labels.csv");
    assert!(
        labels.starts_with("row,name,cluster\n1,a,1\n2,b,2\n3,c,1\n"),
        "{labels}"
    );
    assert!(
        place
            .read("out/centres.csv")
            .starts_with("cluster,size,bit0,bit1")
    );
    let kmeans = run("cluster bits.fps --bits -k 2 --method kmeans --json");
    assert_eq!(kmeans["inertia"], first["inertia"]);
    let text = place.run("cluster bits.txt --bits -k 2").quiet_success();
    assert!(text.contains("6 of 8 bits"), "{text}");
}

#[test]
fn sem_g148_without_a_number_the_one_that_lasts_is_taken_and_said() {
    // Three families of eight rows each; a row lacks one bit of its family.
    let line = |row: usize| {
        let bit = |column: usize| column % 3 == row % 3 && column / 3 != row / 3;
        let digits = (0..48).map(|column| if bit(column) { '1' } else { '0' });
        format!("{}\n", digits.collect::<String>())
    };
    let place = ProgramFolder::with("bits.txt", (0..24).map(line).collect::<String>());
    let told = json(&place.run("cluster bits.txt --bits --json").quiet_success());
    assert_eq!(
        (&told["clusters"], &told["choice"]["clusters"]),
        (&3.into(), &3.into())
    );
    place.write("d.csv", "0,1,90,91\n1,0,91,90\n90,91,0,1\n91,90,1,0\n");
    let told = json(
        &place
            .run("cluster d.csv --pairwise --at-most 2 --json")
            .quiet_success(),
    );
    assert_eq!(
        (&told["clusters"], &told["choice"]["clusters"]),
        (&2.into(), &2.into())
    );
}

#[test]
fn sem_g147_what_does_not_fit_is_said_before_any_work() {
    let place = ProgramFolder::with("bits.txt", DIGITS);
    place.write("bits.npy", npy());
    place.write("bad.txt", "0101\n01x1\n");
    place.write("d.npy", b"\x93NUMPY\x01\x00");
    for (line, words) in [
        ("cluster bad.txt --bits -k 2", "line 2"),
        ("cluster d.npy --bits -k 2", "cut short"),
        (
            "cluster bits.npy --bits --width 7 -k 2",
            "row 1 has bit 7 set",
        ),
        ("cluster bits.npy --bits --width 9 -k 2", "bits of a row"),
        ("cluster bits.txt --bits --width 8 -k 2", "--width"),
        ("cluster bits.txt --bits -k 7", "6 rows"),
        ("cluster bits.txt --bits -k 2 --geo a,b", "--geo"),
        ("cluster bits.txt --bits --pairwise -k 2", "--pairwise"),
    ] {
        let told = place.run(&format!("{line} --out out"));
        assert_eq!(told.code, 2, "{line}");
        assert!(told.err.contains(words), "{line}: {}", told.err);
    }
    assert!(!place.path("out").exists());
}

#[test]
fn sem_g496_a_cluster_that_no_row_is_given_to_keeps_its_centre() {
    // Two different rows for three clusters: two centres are one, and the first of them has all.
    let row = |at: usize| match at {
        1..=60 => "0111\n",
        _ => "1000\n",
    };
    let place = ProgramFolder::with("bits.txt", (0..100).map(row).collect::<String>());
    for seed in 1..=4 {
        let line = "cluster bits.txt --bits -k 3 --method kmeans --sample 20 --json --out out";
        let told = json(&place.run(&format!("{line} --seed {seed}")).quiet_success());
        let centres = rows(&place.path("out/centres.csv"));
        let table = told["table"].as_array().unwrap();
        assert_eq!((centres.len(), table.len()), (4, 3));
        for (centre, row) in centres[1..].iter().zip(table) {
            let bits = centre[2..].iter().map(|bit| bit.parse::<f64>().unwrap());
            assert_eq!(row["ones"], bits.sum::<f64>(), "seed {seed}");
        }
    }
}
