//! What was lost or done silently once, and is refused.

use std::fs::File;
use std::process::Stdio;

use crate::program::{ProgramFolder, Run, packed, three_groups};

const FASTA: &str = ">a\nACGTACGT\n>b\nACGTACGA\n>c\nTTTTACGA\n";

/// Runs with standard output on a device that takes nothing.
#[cfg(target_os = "linux")]
fn run_full(place: &ProgramFolder, arguments: &str) -> Run {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(arguments);
    command.stdin(Stdio::null()).stdout(full);
    command.output().unwrap().into()
}

#[test]
fn sem_g508_a_file_called_dash_is_not_standard_input() {
    let place = ProgramFolder::with("-", ">a\nAC\n");
    let rows = three_groups() + &"0.5,0.5\n".repeat(20_000);
    let text = place
        .run_with_input("cluster - -k 3 --json", &rows)
        .quiet_success();
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["points"], 20_060, "{told}");
    let text = place
        .run_with_input("hmm fit - -s 2 --json", &rows)
        .quiet_success();
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["places"], 20_060, "{told}");
    let run = place.run_with_input("cluster - --pairwise --mapped -k 2", "");
    run.refusal(&["--mapped wants a file on a disk"]);
    for command in ["distance - --out d.npy", "scale -", "cluster -"] {
        let run = place.run_with_input(&format!("{command} -m 2"), "");
        run.refusal(&["several processes cannot share standard input"]);
    }
}

#[test]
fn sem_g508_a_matrix_does_not_go_to_standard_output() {
    let place = ProgramFolder::with("x.fa", FASTA);
    let run = place.run("distance x.fa --out -");
    run.refusal(&["--out is -", "name a file"]);
    assert_eq!(place.names("."), ["x.fa"]);
}

#[cfg(target_os = "linux")]
#[test]
fn sem_g509_output_that_is_lost_is_told() {
    let place = ProgramFolder::with("points.csv", three_groups());
    for arguments in [
        "--version",
        "--help",
        "help cluster",
        "cluster points.csv -k 2",
    ] {
        let run = run_full(&place, arguments);
        run.refusal(&[
            "cannot write the results to standard output",
            "No space left",
        ]);
    }
}

#[test]
fn sem_g510_the_file_that_is_read_is_not_written_over() {
    let place = ProgramFolder::with("x.fa", FASTA);
    let words = &["x.fa is read", "give another --out"];
    place.run("distance x.fa --out x.fa").refusal(words);
    place.run("distance ./x.fa --out x.fa").refusal(words);
    assert_eq!(place.read("x.fa"), FASTA);
    std::fs::create_dir(place.path("out")).unwrap();
    place.write("out/labels.csv", three_groups());
    let words = &["out/labels.csv is read"];
    for command in [
        "cluster out/labels.csv -k 3",
        "mixture out/labels.csv -k 2",
        "hmm fit out/labels.csv -s 2",
    ] {
        place.run(&format!("{command} --out out")).refusal(words);
    }
    assert_eq!(place.read("out/labels.csv"), three_groups());
}

#[cfg(target_os = "linux")]
#[test]
fn sem_g511_a_folder_that_takes_no_checkpoints_is_told_at_the_start() {
    let place = ProgramFolder::with("x.fa", FASTA);
    place.write("points.csv", three_groups());
    place.write("bits.txt", "0011\n0011\n1100\n");
    for command in [
        "distance x.fa --out d.npy",
        "scale x.fa",
        "cluster x.fa -k 2",
        "cluster points.csv -k 3",
        "cluster bits.txt --bits -k 2",
        "mixture points.csv -k 2",
        "hmm fit points.csv -s 2",
    ] {
        let run = place.run(&format!("{command} --checkpoint /proc/ck"));
        run.refusal(&["/proc/ck", "give another --checkpoint"]);
    }
    let run = place.run("cluster points.csv -k 3 --checkpoint points.csv/ck");
    run.refusal(&["points.csv is not a directory", "--checkpoint"]);
    place
        .run("cluster points.csv -k 3 --checkpoint kept -q")
        .quiet_success();
    assert!(!place.path("d.npy").exists());
}

#[test]
fn sem_g256_fewer_different_rows_than_clusters() {
    let place = ProgramFolder::with("zero.csv", "0,0,0\n0,0,0\n0,0,0\n");
    place.write("two.csv", "0,0,5,5\n0,0,5,5\n5,5,0,0\n5,5,0,0\n");
    place.write("bits.txt", "0101\n0101\n0101\n");
    let words = |k: usize, found: usize| format!("{k} clusters are asked for and only {found} of");
    let run = place.run("cluster zero.csv --pairwise -k 2");
    run.refusal(&[&words(2, 1), "zero.csv", "ask for fewer"]);
    let run = place.run("cluster two.csv --pairwise -k 3 --json");
    run.refusal(&[&words(3, 2), "two.csv"]);
    let run = place.run("cluster bits.txt --bits -k 2 --out out");
    run.refusal(&[&words(2, 1), "bits.txt"]);
    place.run("cluster two.csv --pairwise -k 2").quiet_success();
    assert!(!place.path("out").exists());
}

#[test]
fn sem_g256_more_threads_than_a_machine_has_use_for() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place.write("x.fa", FASTA);
    let words = &["--threads is 1000000", "256 for each core"];
    for command in [
        "cluster points.csv -k 2",
        "mixture points.csv -k 2",
        "hmm fit points.csv -s 2",
        "distance x.fa --out d.npy",
        "scale x.fa",
        "serve --listen 127.0.0.1:0",
    ] {
        place.run(&format!("{command} -t 1000000")).refusal(words);
    }
}

#[test]
fn sem_g256_costs_of_alignments_are_named_as_they_are_given() {
    let place = ProgramFolder::with("x.fa", FASTA);
    for (option, words) in [
        ("--match -5", ["--match is -5", "give 1 to 100"]),
        ("--mismatch 3", ["--mismatch is 3", "give -100 to 0"]),
        ("--gap-open -5", ["--gap-open is -5", "give 1 to 1000"]),
        ("--gap-extend 0", ["--gap-extend is 0", "give 1 to 1000"]),
        (
            "--gap-extend 20",
            ["--gap-extend is 20", "larger --gap-open"],
        ),
        (
            "--gap-extend 9 --gap-open 8",
            ["--gap-open is 8", "--gap-extend at least"],
        ),
    ] {
        place
            .run(&format!("distance x.fa --out d.npy {option}"))
            .refusal(&words);
    }
}

#[test]
fn sem_g256_models_are_refused_in_their_own_words() {
    let place = ProgramFolder::with("points.csv", "x\n1\n1\n2\n");
    for (arguments, words) in [
        (
            "mixture points.csv -k 2 --floor -1",
            ["--floor", "0 or more"],
        ),
        (
            "mixture points.csv -k 2 --tolerance -1",
            ["--tolerance", "0 or more"],
        ),
        ("hmm fit points.csv -s 2 --floor 0", ["--floor", "above 0"]),
        (
            "hmm fit points.csv -s 2 --tolerance -1",
            ["--tolerance", "0 or more"],
        ),
        (
            "mixture points.csv -k 9",
            ["9 components are asked for", "3 points"],
        ),
        (
            "mixture points.csv -k 3",
            ["3 components are asked for", "different"],
        ),
        (
            "hmm fit points.csv -s 9",
            ["9 states are asked for", "points"],
        ),
    ] {
        place.run(arguments).refusal(&words);
    }
}

#[test]
fn sem_g256_components_are_counted_from_1() {
    let place = ProgramFolder::with("points.csv", "x,y\n0,0\n0,0\n5,5\n5,5\n9,1\n9,1\n");
    let run = place.run("mixture points.csv -k 3 --floor 0");
    run.refusal(&["component 1 has a covariance"]);
}

#[test]
fn sem_g256_files_that_are_not_there_are_named_so() {
    let place = ProgramFolder::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    for command in ["flow run", "serve", "call /drive --token", "cluster"] {
        place
            .run(&format!("{command} nowhere"))
            .refusal(&["no such file: nowhere"]);
    }
    for command in ["flow run", "serve", "call /drive --token"] {
        let run = place.run(&format!("{command} folder"));
        run.refusal(&["cannot read folder as text", "name another file"]);
    }
}

#[test]
fn sem_g256_separators_quotation_marks_and_packs_are_named() {
    let place = ProgramFolder::with("bar.csv", "a|b\n1|2\n3|4\n");
    place.write("blank.csv", "1 2\n3 4\n5 6\n");
    place.write("named.csv", "a b\n1 2\n3 4\n");
    for file in ["bar.csv", "blank.csv", "named.csv"] {
        place
            .run(&format!("cluster {file} -k 2"))
            .refusal(&[file, "--delimiter"]);
    }
    place.write("listed.csv", "a\n1 2\n3 4\n");
    place
        .run("cluster listed.csv --columns a -k 2")
        .refusal(&["listed.csv:2", "--delimiter"]);
    place.write("quote.csv", "x,y\n1,2\n3,4\n\"5,6\n7,8\n");
    let words = ["a quotation mark is not closed", "quote.csv:4"];
    place.run("cluster quote.csv -k 2").refusal(&words);
    // What follows a first member is a damaged one: what comes out of it is no row.
    let mut bytes = packed(b"1,2,3\n4,5,6\n7,8,");
    let mut second = packed(b"9,1,2\n3,4,5\n");
    let end = second.len() - 5;
    second[end] ^= 1;
    bytes.extend(second);
    place.write("cut.csv.gz", bytes);
    place
        .run("cluster cut.csv.gz -k 2")
        .refusal(&["broken gzip data in cut.csv.gz"]);
}

#[test]
fn sem_g256_numbers_that_are_far_too_large_are_short() {
    let place = ProgramFolder::new();
    place
        .run("call /drive --within 1e300")
        .refusal(&["--within is 1e300:"]);
    place
        .run("call /drive --within=-1")
        .refusal(&["--within is -1:"]);
    for what in ["new kk", "token kk a", "leaf kk a"] {
        for days in ["0", "40000"] {
            let run = place.run(&format!("keys {what} --days {days}"));
            run.refusal(&["--days", days]);
        }
    }
    assert!(!place.path("kk").exists());
}

#[test]
fn sem_g512_a_program_that_is_not_there_is_told_before_the_library() {
    let place = ProgramFolder::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    let run = place.run("run --mpi-lib empty -- ./nosuchprog");
    run.refusal(&["no program ./nosuchprog"]);
}

#[test]
fn sem_g539_an_option_that_the_kind_of_file_has_no_use_for_is_refused() {
    let place = ProgramFolder::with("points.csv", three_groups());
    place.write("x.fa", FASTA);
    place.write("d.csv", "0,1,9\n1,0,9\n9,9,0\n");
    place.write("bits.txt", "0011\n0011\n1100\n");
    for (arguments, words) in [
        ("cluster points.csv -k 2 --local", ["--local", "a table"]),
        ("cluster points.csv -k 2 --match 3", ["--match", "a table"]),
        (
            "cluster d.csv --pairwise -k 2 --keep a",
            ["--keep", "dissimilarities"],
        ),
        (
            "cluster d.csv --pairwise -k 2 --exclude 1",
            ["--exclude", "dissimilarities"],
        ),
        (
            "cluster d.csv --pairwise -k 2 --gap-open 9",
            ["--gap-open", "not FASTA"],
        ),
        (
            "cluster d.csv --pairwise --mapped -k 2 --gap-open 9",
            ["--gap-open", "dissimilarities"],
        ),
        (
            "cluster bits.txt --bits -k 2 --keep a",
            ["--keep", "--bits"],
        ),
        (
            "cluster bits.txt --bits -k 2 --alphabet dna",
            ["--alphabet", "--bits"],
        ),
        ("hmm fit x.fa -s 2 --columns a", ["--columns", "FASTA"]),
        ("hmm fit x.fa -s 2 --delimiter ;", ["--delimiter", "FASTA"]),
        ("hmm fit x.fa -s 2 --sequence a", ["--sequence", "FASTA"]),
    ] {
        place.run(arguments).refusal(&words);
    }
}

#[test]
fn sem_g540_an_option_of_a_fit_that_changes_nothing_is_refused() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let line = "mixture points.csv -k 2 --out out -q";
    place.run(line).quiet_success();
    let model = "mixture points.csv --model out/model.json";
    for (arguments, words) in [
        ("mixture points.csv", ["number of components", "--model"]),
        (
            "mixture points.csv -k 2 --at-most 5",
            ["--at-most", "--components auto"],
        ),
        (
            "mixture points.csv -k 2 --criterion aic",
            ["--criterion", "--components auto"],
        ),
        ("mixture points.csv -k 2 --seed 3", ["--seed", "--starts"]),
    ] {
        place.run(arguments).refusal(&words);
    }
    for option in [
        "--starts 2",
        "--floor 1",
        "--covariance tied",
        "--at-most 3",
    ] {
        let name = option.split(' ').next().unwrap();
        let run = place.run(&format!("{model} {option}"));
        run.refusal(&["--model", name]);
    }
    let line = "mixture points.csv -k 2 --seed 3 --starts 2";
    place.run(line).quiet_success();
    place.run(model).quiet_success();
}

#[test]
fn sem_g540_a_seed_of_one_start_from_numbers_is_refused() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let line = "hmm fit points.csv -s 2 --seed 3";
    let words = ["--seed", "one start from numbers", "--starts"];
    place.run(line).refusal(&words);
    let several = format!("{line} --starts 2 -q");
    place.run(&several).quiet_success();
    place.write("letters.fa", ">w\nAACCAACCACACCCAA\n");
    let symbols = "hmm fit letters.fa -s 2 --seed 3 -q";
    place.run(symbols).quiet_success();
}

#[test]
fn sem_g540_the_least_variance_of_symbols_is_refused() {
    let place = ProgramFolder::with("letters.fa", ">w\nAACCAACCACACCCAA\n");
    place.write("letters.csv", "s\na\nb\na\na\nb\n");
    place.write("points.csv", three_groups());
    for line in [
        "hmm fit letters.fa -s 2 --floor 0.5",
        "hmm fit letters.csv --symbol s -s 2 --floor 0.5",
    ] {
        place.run(line).refusal(&["--floor", "symbols"]);
    }
    let numbers = "hmm fit points.csv -s 2 --floor 0.5 -q";
    place.run(numbers).quiet_success();
}

#[test]
fn sem_g541_the_help_that_is_named_has_the_option() {
    let place = ProgramFolder::new();
    for (arguments, help) in [
        ("nosuch", "see motet --help"),
        ("cluster x.csv --nosuch", "see motet cluster --help"),
        ("hmm fit x.csv", "see motet hmm fit --help"),
        ("run -t 0 -- ls", "see motet run --help"),
        ("run ./a : --why 1 ./b", "see motet run --help"),
    ] {
        place.run(arguments).refusal(&[help]);
    }
}

#[test]
fn sem_g542_sums_beyond_all_numbers_are_refused() {
    let place = ProgramFolder::with("huge.csv", "a,b\n1e308,2\n-1e308,4\n9,9\n");
    for method in ["annealing", "kmeans"] {
        let run = place.run(&format!(
            "cluster huge.csv -k 2 --method {method} --out out --json"
        ));
        run.refusal(&["huge.csv", "beyond all numbers", "--standardise"]);
    }
    let run = place.run("mixture huge.csv -k 2 --out out");
    run.refusal(&["column 1 of those in use holds -1e308", "--standardise"]);
    assert!(!place.path("out").exists());
}

#[test]
fn sem_g542_sequences_where_a_table_is_wanted_are_named_so() {
    let place = ProgramFolder::with("x.fa", FASTA);
    let run = place.run_with_input("cluster - -k 2", FASTA);
    run.refusal(&["<stdin>", "begins with >", "--pairwise"]);
    place
        .run("mixture x.fa -k 2")
        .refusal(&["x.fa", "begins with >"]);
}

#[test]
fn sem_g542_a_name_of_several_lines_is_printed_on_one() {
    let place = ProgramFolder::with("q.csv", "\"a\nb\",c\n1,2\n3,4\n9,9\n");
    let text = place.run("cluster q.csv -k 2 -q").quiet_success();
    assert!(text.contains("(a b, c)"), "{text}");
    let text = place.run("mixture q.csv -k 2 -q").quiet_success();
    assert!(text.lines().next().unwrap().contains(" a b "), "{text}");
}
