//! Every wrong file, column, value and option is refused in one line that says what, where and what
//! to do.

use crate::program::{ProgramFolder, packed, three_groups};

/// A place with `points.csv`.
fn points(content: impl AsRef<[u8]>) -> ProgramFolder {
    ProgramFolder::with("points.csv", content)
}

#[track_caller]
fn refuses(content: impl AsRef<[u8]>, options: &str, words: &[&str]) {
    let place = points(content);
    place
        .run(&format!(
            "cluster points.csv --clusters 1 --out out {options}"
        ))
        .refusal(words);
    assert!(!place.path("out").exists(), "a refused run left its folder");
}

#[track_caller]
fn refuses_options(options: &str, words: &[&str]) {
    points(three_groups())
        .run(&format!("cluster points.csv {options}"))
        .refusal(words);
}

#[test]
fn sem_g256_a_missing_file() {
    ProgramFolder::new()
        .run("cluster nowhere.csv --clusters 2")
        .refusal(&["no such file: nowhere.csv"]);
}

#[test]
fn sem_g256_a_directory() {
    let place = ProgramFolder::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    place
        .run("cluster folder --clusters 2")
        .refusal(&["folder is a directory"]);
}

#[test]
fn sem_g256_text_that_is_not_utf8() {
    refuses(
        b"x,y\n1,2\n\xe9,4\n",
        "",
        &["not UTF-8", "points.csv:3", "convert"],
    );
    refuses(
        b"\xff\xfex\0,\0y\0\n\0",
        "",
        &["points.csv is text in UTF-16", "iconv"],
    );
}

#[test]
fn sem_g256_an_empty_file() {
    refuses("", "", &["points.csv is empty"]);
    refuses("\n \n\r\n", "", &["points.csv is empty"]);
    refuses(packed(b""), "", &["points.csv is empty"]);
}

#[test]
fn sem_g256_a_header_without_rows() {
    refuses("x,y\n", "", &["points.csv has a header and no rows"]);
    refuses(
        "1,2\n",
        "--header",
        &["points.csv has a header and no rows"],
    );
}

#[test]
fn sem_g256_a_ragged_row() {
    refuses(
        "x,y\n1,2\n\n3\n",
        "",
        &["1 fields instead of 2", "points.csv:4"],
    );
    let long = format!("x,y\n{}5,6,7\n", "1,2\n".repeat(500));
    refuses(long, "", &["3 fields instead of 2", "points.csv:502"]);
}

#[test]
fn sem_g256_a_field_that_is_not_a_number() {
    refuses(
        "x,y\n1,2\n3,four\n",
        "--columns x,y",
        &["'four' is not a number", ":3, column y"],
    );
    let late = format!("x,y\n{}3,four\n", "1,2\n".repeat(500));
    refuses(
        late,
        "",
        &[
            "'four' is not a number",
            "points.csv:502, column y",
            "--columns",
        ],
    );
    refuses(
        "x,y\n1,\n",
        "--columns x,y",
        &["a value is missing ('')", "column y", "fill it in"],
    );
    refuses(
        "x;y\n1,5;2\n",
        "--columns x",
        &["'1,5' is not a number", "with a point"],
    );
}

#[test]
fn sem_g256_a_number_that_is_not_finite() {
    for text in ["inf", "+INF", "-Infinity", "1e999"] {
        let content = format!("x,y\n1,2\n{text},4\n");
        refuses(
            content,
            "",
            &[&format!("'{text}' is not finite"), "points.csv:3, column x"],
        );
    }
}

#[test]
fn sem_g256_a_column_that_is_not_there() {
    let text = "latitude,longitude\n1,2\n";
    let words = [
        "no column latitide",
        "did you mean latitude?",
        "latitude, longitude",
    ];
    refuses(text, "--columns latitide,longitude", &words);
    refuses(
        text,
        "--columns 3",
        &["no column 3", "the columns are latitude, longitude"],
    );
    refuses(text, "--weight mass", &["no column mass"]);
    refuses(text, "--geo latitude,lon", &["no column lon"]);
    refuses(
        "1,2\n3,4\n",
        "--no-header --columns x",
        &["no column x", "numbers from 1 to 2"],
    );
}

#[test]
fn sem_g256_a_column_asked_for_twice() {
    refuses("x,y\n1,2\n", "--columns x,y,x", &["column x", "twice"]);
    refuses("x,y\n1,2\n", "--columns x,1", &["column x", "twice"]);
    refuses(
        "x,y\n1,2\n",
        "--columns x --weight x",
        &["column x", "twice"],
    );
    refuses("x,y\n1,2\n", "--geo x,x", &["column x", "twice"]);
    refuses(
        "x,y,x\n1,2,3\n",
        "--columns x",
        &["columns 1 and 3", "both called x"],
    );
}

#[test]
fn sem_g256_a_table_without_numbers() {
    refuses("a,b\nc,d\n", "", &["no column of points.csv holds numbers"]);
}

#[test]
fn sem_g256_degrees_out_of_range() {
    let geo = "--geo lat,lon";
    refuses(
        "lat,lon\n1,2\n91,4\n",
        geo,
        &["latitude 91 is not between -90 and 90", ":3, column lat"],
    );
    refuses(
        "lat,lon\n1,361\n",
        geo,
        &["longitude 361 is not between -360 and 360", "column lon"],
    );
}

#[test]
fn sem_g256_weights_that_are_no_weights() {
    let weight = "--weight w";
    refuses(
        "x,w\n1,1\n2,-3\n",
        weight,
        &["weight -3 is negative", "points.csv:3, column w"],
    );
    refuses(
        "x,w\n1,0\n2,0\n",
        weight,
        &["all weights are 0", "points.csv, column w"],
    );
    refuses(
        "x,w\n1,a\n2,0\n",
        weight,
        &["'a' is not a number", "points.csv:2, column w"],
    );
    refuses(
        "x,w\n1,inf\n2,0\n",
        weight,
        &["'inf' is not finite", "column w"],
    );
}

#[test]
fn sem_g256_broken_gzip() {
    let mut bytes = packed(three_groups().repeat(50).as_bytes());
    bytes.truncate(bytes.len() / 2);
    refuses(
        &bytes,
        "--columns 1,2 --no-header",
        &["broken gzip data in points.csv"],
    );
    refuses(
        b"\x1f\x8bnothing of gzip",
        "",
        &["broken gzip data in points.csv"],
    );
    let mut trailing = packed(b"x\n1\n2\n");
    trailing.extend(b"something else");
    refuses(&trailing, "", &["broken gzip data in points.csv"]);
}

#[test]
fn sem_g256_an_open_quotation_mark_and_bare_carriage_returns() {
    refuses(
        "x,y\n1,2\n\"3,4\n5,6\n",
        "",
        &["a quotation mark is not closed", "points.csv:3"],
    );
    refuses("x,y\r1,2\r", "", &["bare carriage returns", "points.csv:1"]);
}

#[test]
fn sem_g256_numbers_of_clusters_that_cannot_be() {
    refuses_options(
        "--method kmeans",
        &["number of clusters is missing", "give --clusters K"],
    );
    refuses_options("--clusters 0", &["--clusters is 0", "1 or more"]);
    refuses_options("--clusters -4", &["--clusters is -4", "1 or more"]);
    refuses_options("--clusters 61", &["61 clusters", "60 points", "points.csv"]);
    refuses_options("--clusters many", &["'many'", "--clusters"]);
    refuses("x\n1\n1\n2\n", "-k 3", &["cannot be used multiple times"]);
}

#[test]
fn sem_g256_more_clusters_than_different_points() {
    let place = points("x\n1\n1\n1\n2\n");
    for method in ["annealing", "kmeans"] {
        let run = place.run(&format!("cluster points.csv -k 3 --method {method}"));
        run.refusal(&["3 clusters", "different"]);
    }
}

#[test]
fn sem_g256_temperatures_that_cannot_be() {
    for t_min in ["0", "-1", "nan", "inf"] {
        refuses_options(&format!("--t-min {t_min}"), &["--t-min is", "above 0"]);
    }
    refuses_options("--t-min 1 --at-most 0", &["--at-most is 0", "1 or more"]);
    refuses_options("--clusters 2 --at-most 3", &["--at-most", "cannot be used"]);
    refuses_options(
        "--t-min 1 --clusters 2",
        &["--clusters", "--t-min", "cannot be used"],
    );
}

#[test]
fn sem_g256_options_of_the_other_method() {
    refuses_options(
        "-k 2 --seed 1",
        &["--seed does not go with --method annealing"],
    );
    refuses_options(
        "-k 2 --restarts 3",
        &["--restarts does not go with --method annealing"],
    );
    refuses_options(
        "--t-min 1 --method kmeans",
        &["--t-min", "give --clusters K"],
    );
    refuses_options(
        "-k 2 --method kmeans --restarts 0",
        &["--restarts is 0", "1 or more"],
    );
}

#[test]
fn sem_g256_threads_that_cannot_be() {
    refuses_options("-k 2 --threads 0", &["--threads is 0", "1 or more"]);
    refuses_options("-k 2 --threads -1", &["--threads is -1", "1 or more"]);
}

#[test]
fn sem_g256_delimiters_and_pairs_that_cannot_be() {
    refuses_options(
        "-k 2 --delimiter ab",
        &["--delimiter is 'ab'", "one character"],
    );
    refuses_options(
        "-k 2 --delimiter 1",
        &["--delimiter is '1'", "one character"],
    );
    refuses_options("-k 2 --geo x", &["--geo is 'x'", "two columns"]);
    refuses_options(
        "-k 2 --geo x,y --columns x",
        &["--columns", "--geo", "cannot be used"],
    );
}

#[test]
fn sem_g256_unknown_options_and_commands() {
    refuses_options("--cluster 2", &["--cluster", "--clusters"]);
    ProgramFolder::new()
        .run("clutser points.csv")
        .refusal(&["clutser", "cluster"]);
    ProgramFolder::new()
        .run("cluster --clusters 2")
        .refusal(&["FILE"]);
}

#[test]
fn sem_g256_a_folder_that_cannot_be_written() {
    let place = points(three_groups());
    place.write("taken", "text");
    let cluster = "cluster points.csv -k 2 --out";
    place
        .run(&format!("{cluster} taken"))
        .refusal(&["--out taken", "not a directory"]);
    place
        .run(&format!("{cluster} taken/deep"))
        .refusal(&["taken is not a directory"]);
    assert_eq!(place.read("taken"), "text");
    std::fs::create_dir_all(place.path("out/map.svg")).unwrap();
    place
        .run(&format!("{cluster} out"))
        .refusal(&["map.svg is a directory"]);
    assert_eq!(place.names("out"), ["map.svg"]);
}

/// `/proc` takes no files, not even from the system's administrator.
#[cfg(target_os = "linux")]
#[test]
fn sem_g256_a_folder_without_the_right_to_write() {
    let place = points(three_groups());
    let run = place.run("cluster points.csv -k 2 --out /proc/motet");
    run.refusal(&["cannot write /proc/motet"]);
}
