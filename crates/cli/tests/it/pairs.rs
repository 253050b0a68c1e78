//! Sequences and dissimilarities of pairs.

use crate::program::ProgramFolder;
use serde_json::Value;

/// Two families of three sequences each.
const FASTA: &str = ">a1 first\nACGTACGTACGTACGTACGT\n>b1\nTTGGCCAATTGGCCAATTGG\n\
                     >a2\nACGTACGTACGAACGTACGT\n>b2\nTTGGCCAATTGGCCATTTGG\n\
                     >a3\nACGTACGTACGTACGTACG\n>b3\nTTGGCAATTGGCCAATTGG\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn sem_g129_one_command_and_two_give_the_same_clusters() {
    let place = ProgramFolder::with("seqs.fa", FASTA);
    let told = json(
        &place
            .run("distance seqs.fa --out out.npy --json")
            .quiet_success(),
    );
    assert_eq!(
        (&told["sequences"], &told["pairs"]),
        (&6.into(), &15.into())
    );
    assert_eq!(told["alphabet"], "DNA");
    assert_eq!(told["motet"], env!("CARGO_PKG_VERSION"));
    let one = place
        .run("cluster seqs.fa -k 2 --json --out one -t 2")
        .quiet_success();
    let two = place
        .run("cluster out.npy --pairwise -k 2 --json --out two -t 3")
        .quiet_success();
    let (one, two) = (json(&one), json(&two));
    assert_eq!((&one["cost"], &one["trace"]), (&two["cost"], &two["trace"]));
    assert_eq!(one["table"][0]["name"], "a1");
    let labels = place.read("one/labels.csv");
    assert!(
        labels.starts_with("row,name,cluster\n1,a1,1\n2,b1,2\n3,a2,1\n"),
        "{labels}"
    );
    assert!(
        place
            .read("two/labels.csv")
            .starts_with("row,cluster\n1,1\n2,2\n3,1\n")
    );
    assert_eq!(
        place.names("one"),
        [
            "labels.csv",
            "map.svg",
            "medoids.csv",
            "splits.svg",
            "trace.json",
            "trace.svg"
        ]
    );
    assert!(place.read("one/splits.svg").contains("1 (3)"));
    assert_eq!(one["splits"][0]["cluster"], 0);
    let text = place.run("cluster seqs.fa -k 2").quiet_success();
    assert!(
        text.contains("medoid") && text.contains("15 pairs"),
        "{text}"
    );
}

#[test]
fn a_square_table_is_clustered_too() {
    let place = ProgramFolder::with("d.csv", "0,1,9,9\n1,0,9,9\n9,9,0,1\n9,9,1,0\n");
    let told = json(
        &place
            .run("cluster d.csv --pairwise -k 2 --json")
            .quiet_success(),
    );
    assert_eq!(told["table"][1]["size"], 2);
    place.write("d.csv", "0,1,9\n1,0,9\n");
    let told = place.run("cluster d.csv --pairwise -k 2");
    assert_eq!(told.code, 2);
    assert!(told.err.contains("2 rows of 3 columns"), "{}", told.err);
}

/// What is no file can be read once only: standard input, and what a shell writes as `<(…)`.
#[test]
fn sem_g129_a_square_table_is_read_in_one_pass() {
    let place = ProgramFolder::new();
    let table = "0,1,9,9\n1,0,9,9\n9,9,0,1\n9,9,1,0\n";
    for file in ["-", "/dev/stdin"] {
        if file == "/dev/stdin" && !cfg!(target_os = "linux") {
            continue;
        }
        let line = format!("cluster {file} --pairwise -k 2 --json");
        let told = place.run_with_input(&line, table).quiet_success();
        assert_eq!(json(&told)["table"][1]["size"], 2);
        let told = place.run_with_input(&line, "0,1,9\n1,0,9\n");
        assert_eq!(told.code, 2);
        assert!(told.err.contains("2 rows of 3 columns"), "{}", told.err);
    }
}

#[test]
fn sem_g129_what_does_not_fit_is_said_before_any_work() {
    let place = ProgramFolder::with("seqs.fa", FASTA);
    place.write("bad.fa", ">a\nACGT\n>b\nAC-T\n");
    place.write("points.csv", "x,y\n0,1\n1,2\n");
    place.write("cut.npy", b"\x93NUMPY\x01\x00");
    for (line, words) in [
        ("cluster bad.fa -k 2", "record 2 (b), letter 3 is '-'"),
        ("distance bad.fa --out d.npy", "bad.fa: record 2"),
        ("distance points.csv --out d.npy", "no sequences"),
        ("distance seqs.fa --out .", "name a file"),
        (
            "distance seqs.fa --out d.npy --gap-open 2",
            "--gap-open is 2",
        ),
        (
            "distance seqs.fa --out d.npy --alphabet protein --match 3",
            "BLOSUM62",
        ),
        (
            "cluster seqs.fa -k 9",
            "9 clusters are asked for and there are 6 rows",
        ),
        (
            "cluster seqs.fa -k 2 --standardise",
            "--standardise does not go with",
        ),
        ("cluster cut.npy --pairwise -k 2", "cut short"),
        ("cluster points.csv --pairwise -k 2 --local", "not FASTA"),
        ("cluster none.fa -k 2", "no such file"),
        ("cluster seqs.fa --at-most 0", "--at-most is 0"),
    ] {
        let run = place.run(line);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{line}: {}", run.err);
        assert!(run.err.contains(words), "{line}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sem_g578_a_pipe_gets_the_matrix_and_keeps_its_name() {
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    let place = ProgramFolder::with("s.fasta", FASTA);
    let path = place.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    // Open for both ends, so that nobody waits for the other one.
    let mut options = File::options();
    options.read(true).write(true);
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let mut pipe = options.open(&path).unwrap();
    place
        .run("distance s.fasta --out pipe --quiet")
        .quiet_success();
    assert!(path.metadata().unwrap().file_type().is_fifo());
    let mut bytes = [0; 4096];
    let count = pipe.read(&mut bytes).unwrap();
    place
        .run("distance s.fasta --out d.npy --quiet")
        .quiet_success();
    assert_eq!(
        bytes[..count],
        std::fs::read(place.path("d.npy")).unwrap()[..]
    );
}

#[cfg(unix)]
#[test]
fn sem_g578_a_link_of_the_matrix_is_followed_and_stays() {
    let place = ProgramFolder::with("s.fasta", FASTA);
    std::fs::create_dir(place.path("far")).unwrap();
    place.write("far/old.npy", "old");
    for name in ["far/old.npy", "far/new.npy"] {
        let link = place.path("link.npy");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(name, &link).unwrap();
        place
            .run("distance s.fasta --out link.npy --quiet")
            .quiet_success();
        assert_eq!(link.read_link().unwrap(), std::path::Path::new(name));
        let bytes = std::fs::read(place.path(name)).unwrap();
        assert!(bytes.starts_with(b"\x93NUMPY"), "{name}");
    }
    std::os::unix::fs::symlink("nowhere/d.npy", place.path("lost.npy")).unwrap();
    let run = place.run("distance s.fasta --out lost.npy");
    run.refusal(&["cannot write ./lost.npy"]);
}

#[test]
fn the_help_of_distance_fits() {
    let help = ProgramFolder::new().run("distance --help").quiet_success();
    for words in [
        "--alphabet",
        "--gap-open",
        "--out",
        "Examples",
        "mean_distance",
    ] {
        assert!(help.contains(words), "{words}");
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "{help}"
    );
}

#[test]
fn a_missing_pair_of_a_table_is_told_with_what_helps() {
    let place = ProgramFolder::with("d.csv", "0,1,2\n1,0,\n2,NaN,0\n");
    for command in ["cluster d.csv --pairwise -k 2", "scale d.csv"] {
        let run = place.run(command);
        run.refusal(&["a value is missing ('')", "d.csv:2", "give .npy"]);
    }
    place.write("d.csv", "0,1,2\n1,0,NaN\n2,3,0\n");
    let run = place.run("cluster d.csv --pairwise -k 2");
    run.refusal(&["missing ('NaN')", "d.csv:2", "give .npy"]);
}
