//! What tables may look like.

use crate::program::{Place, packed, rows, three_groups};

/// The labels of `three_groups` written in another form are those of the plain form.
#[track_caller]
fn reads_the_same(content: impl AsRef<[u8]>, options: &str) {
    let place = Place::with("plain.csv", three_groups());
    place.write("other", content);
    place
        .run("cluster plain.csv -k 3 --out plain")
        .quiet_success();
    place
        .run(&format!("cluster other -k 3 --out other.out {options}"))
        .quiet_success();
    let labels =
        |folder: &str| -> Vec<Vec<String>> { rows(&place.path(folder).join("labels.csv")) };
    let (plain, other) = (labels("plain"), labels("other.out"));
    assert_eq!(plain[1..], other[1..]);
}

#[test]
fn separators_and_line_ends_are_found() {
    reads_the_same(three_groups().replace(',', ";"), "");
    reads_the_same(three_groups().replace(',', "\t"), "");
    reads_the_same(three_groups().replace('\n', "\r\n"), "");
    reads_the_same(
        three_groups().replace(',', " , ").replace('\n', " \n\n"),
        "",
    );
    reads_the_same(three_groups().trim_end(), "");
    reads_the_same(format!("\u{feff}{}", three_groups()), "--columns x,y");
}

#[test]
fn separators_can_be_forced() {
    reads_the_same(three_groups().replace(',', "|"), "--delimiter |");
    reads_the_same(three_groups().replace(',', "\t"), "--delimiter tab");
}

#[test]
fn headers_are_found_or_forced() {
    let bare = three_groups().split_once('\n').unwrap().1.to_owned();
    reads_the_same(&bare, "");
    reads_the_same(&bare, "--no-header");
    reads_the_same(format!("2019,2020\n{bare}"), "--header");
    reads_the_same(format!("2019,2020\n{bare}"), "--header --columns 2019,2020");
}

#[test]
fn gzip_is_found_by_its_bytes_not_its_name() {
    reads_the_same(packed(three_groups().as_bytes()), "");
    let place = Place::with("plain.csv.gz", three_groups());
    place.run("cluster plain.csv.gz -k 3").quiet_success();
}

#[test]
fn standard_input_is_a_file_called_dash() {
    let place = Place::new();
    for input in [
        three_groups().into_bytes(),
        packed(three_groups().as_bytes()),
    ] {
        let run = place.run_with_input("cluster - -k 3 --json", input);
        let json: serde_json::Value = serde_json::from_str(&run.quiet_success()).unwrap();
        assert_eq!(json["file"], "<stdin>");
        assert_eq!(json["points"], 60);
    }
    place
        .run_with_input("cluster - -k 3", "x\na\n")
        .refusal(&["<stdin>"]);
}

#[test]
fn columns_are_chosen_by_name_or_number_in_the_order_asked_for() {
    let place = Place::with("t.csv", "a,b,c\n1,10,100\n2,20,200\n");
    for columns in ["c,a", "3,1", "c,1"] {
        place
            .run(&format!("cluster t.csv -k 1 --columns {columns} --out out"))
            .quiet_success();
        let labels = rows(&place.path("out/labels.csv"));
        assert_eq!(labels[0], ["row", "c", "a", "cluster"]);
        assert_eq!(labels[2], ["2", "200", "2", "1"]);
    }
}

#[test]
fn columns_of_text_are_left_out_and_said_so_unless_quiet() {
    let place = Place::with("t.csv", "name,x,y,note\nUlm,1,2,a\nBonn,3,4,b\n");
    let run = place.run("cluster t.csv -k 1");
    assert_eq!(run.code, 0);
    assert_eq!(run.err.matches('\n').count(), 1, "{}", run.err);
    for words in ["name", "note", "'Ulm'", "left out"] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    place.run("cluster t.csv -k 1 --quiet").quiet_success();
    place
        .run("cluster t.csv -k 1 --columns x,y")
        .quiet_success();
}

#[test]
fn quoted_fields_may_hold_separators_and_line_breaks() {
    let place = Place::with("t.csv", "\"a, b\",x\n\"Ulm,\nold\",1\nBonn,3\n\"\",bad\n");
    place
        .run("cluster t.csv -k 1 --columns x")
        .refusal(&["'bad'", "t.csv:5, column x"]);
}
