//! What tables may look like.

use crate::program::{ProgramFolder, packed, rows, three_groups};

/// The labels of `three_groups` written in another form are those of the plain form.
#[track_caller]
fn reads_the_same(content: impl AsRef<[u8]>, options: &str) {
    let place = ProgramFolder::with("plain.csv", three_groups());
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
    let place = ProgramFolder::with("plain.csv.gz", three_groups());
    place.run("cluster plain.csv.gz -k 3").quiet_success();
}

#[test]
fn standard_input_is_a_file_called_dash() {
    let place = ProgramFolder::new();
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
    let place = ProgramFolder::with("t.csv", "a,b,c\n1,10,100\n2,20,200\n");
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
    let place = ProgramFolder::with("t.csv", "name,x,y,note\nUlm,1,2,a\nBonn,3,4,b\n");
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
    let place = ProgramFolder::with("t.csv", "\"a, b\",x\n\"Ulm,\nold\",1\nBonn,3\n\"\",bad\n");
    place
        .run("cluster t.csv -k 1 --columns x")
        .refusal(&["'bad'", "t.csv:5, column x"]);
}

#[test]
fn a_quotation_mark_that_is_not_closed_is_refused_whatever_it_swallows() {
    let place = ProgramFolder::with("t.csv", "x,name\n1,a\n2,\"b\n3,c\n4,d\n");
    for options in ["", "--columns x", "--keep name"] {
        place
            .run(&format!("cluster t.csv -k 1 {options}"))
            .refusal(&["a quotation mark is not closed", "t.csv:3"]);
    }
}

#[test]
fn sem_g333_a_row_of_empty_cells_is_a_row_in_tables_with_tabs_too() {
    let place = ProgramFolder::with("t.csv", "a\tb\n1\t2\n\t\n3\t4\n");
    place
        .run("cluster t.csv -k 1")
        .refusal(&["missing", "t.csv:3", "--missing drop-row"]);
    place
        .run("cluster t.csv -k 1 --missing drop-row --out out")
        .quiet_success();
    let labels = rows(&place.path("out/labels.csv"));
    assert_eq!(labels[1..], [["1", "1", "2", "1"], ["3", "3", "4", "1"]]);
}

/// A table that lacks a value in line 3, in column x or y.
const HOLES: [&str; 6] = [
    "x,y\n1,1\n,2\n3,3\n",
    "x,y\n1,1\n2,NA\n3,3\n",
    "x,y\n1,1\n?,2\n3,3\n",
    "x,y\n1,1\n2,\n3,3\n",
    "x,y\n1,1\nnull,2\n3,3\n",
    "x,y\n1,1\nN/A,2\n3,3\n",
];

#[test]
fn sem_g333_a_missing_value_is_an_error_that_names_row_and_column() {
    for table in HOLES {
        let column = if table.contains("\n2,") {
            "column y"
        } else {
            "column x"
        };
        let place = ProgramFolder::with("t.csv", table);
        for options in ["", "--json", "--missing error", "--columns x,y"] {
            place
                .run(&format!("cluster t.csv -k 1 {options}"))
                .refusal(&["missing", "t.csv:3", column, "--missing drop-row"]);
        }
    }
}

#[test]
fn sem_g334_rows_that_lack_a_value_are_left_out_and_counted() {
    for table in HOLES {
        let place = ProgramFolder::with("t.csv", table);
        let run = place.run("cluster t.csv -k 1 --missing drop-row --json --out out");
        let json: serde_json::Value = serde_json::from_str(&run.quiet_success()).unwrap();
        assert_eq!(json["points"], 2);
        assert_eq!(json["columns"], serde_json::json!(["x", "y"]));
        assert_eq!(json["missing"]["what"], "drop-row");
        assert_eq!(json["missing"]["dropped_rows"], 1);
        let labels = rows(&place.path("out/labels.csv"));
        assert_eq!(labels[2], ["3", "3", "3", "1"], "rows keep their numbers");
        let text = place.run("cluster t.csv -k 1 --missing drop-row");
        assert!(text.quiet_success().contains("1 rows left out"));
    }
    ProgramFolder::with("t.csv", "x,y\n1,\n2,\n")
        .run("cluster t.csv -k 1 --missing drop-row")
        .refusal(&["every row of t.csv", "--columns"]);
}

#[test]
fn sem_g335_missing_values_get_the_mean_of_their_column() {
    for table in HOLES {
        let place = ProgramFolder::with("t.csv", table);
        let run = place.run("cluster t.csv -k 1 --missing mean --json --out out");
        let json: serde_json::Value = serde_json::from_str(&run.quiet_success()).unwrap();
        assert_eq!(
            (&json["points"], &json["missing"]["filled_cells"]),
            (&3.into(), &1.into())
        );
        assert_eq!(rows(&place.path("out/labels.csv"))[2], ["2", "2", "2", "1"]);
    }
    let place = ProgramFolder::with("t.csv", "x,y,w\n1,,1\n2,,\n");
    place
        .run("cluster t.csv -k 1 --columns x,y --missing mean")
        .refusal(&["column y of t.csv has no value"]);
    place
        .run("cluster t.csv -k 1 --columns x --weight w --missing mean")
        .refusal(&["t.csv:3, column w", "--missing drop-row"]);
    place
        .run("cluster t.csv -k 1 --geo x,y --missing mean")
        .refusal(&["--missing mean", "--geo"]);
}

#[test]
fn sem_g548_nan_as_programs_write_it_is_a_missing_value() {
    for text in ["nan", "NaN", "NAN", "-nan", "+NaN"] {
        let table = format!("1.0,1.0\n{text},2.0\n3.0,3.0\n");
        let place = ProgramFolder::with("t.csv", table);
        for (options, points) in [("--missing drop-row", 2), ("--missing mean", 3)] {
            let run = place.run(&format!("cluster t.csv -k 1 {options} --json"));
            let json: serde_json::Value = serde_json::from_str(&run.quiet_success()).unwrap();
            assert_eq!(json["points"], points, "{text} {options}");
        }
        let missing = format!("missing ('{text}')");
        let words = [missing.as_str(), "t.csv:2", "--missing drop-row"];
        place.run("cluster t.csv -k 1").refusal(&words);
    }
}

#[test]
fn sem_g336_files_that_are_no_csv_are_named_by_their_first_bytes() {
    let files: [(&[u8], &str, &str); 5] = [
        (b"\xfd7zXZ\0\r\r", "xz", "xz -dc"),
        (b"BZh91AY&SY", "bzip2", "bzip2 -dc"),
        (b"PK\x03\x04\r\r", "zip", "CSV"),
        (b"PAR1\r\r\r\r", "Parquet", "to_csv"),
        (b"\xff\xfex\0,\0y\0\r\0\n\0", "UTF-16", "iconv"),
    ];
    for (bytes, what, advice) in files {
        let place = ProgramFolder::with("t.csv", bytes);
        place
            .run("cluster t.csv -k 1")
            .refusal(&["t.csv is", what, advice]);
        place
            .run_with_input("cluster - -k 1", bytes)
            .refusal(&["<stdin> is", what]);
    }
}

#[test]
fn sem_g338_a_table_packed_by_zstd_is_read_and_a_broken_one_refused() {
    // The table x,y\n1,2\n3,4\n as one raw block, without a checksum.
    let table = b"x,y\n1,2\n3,4\n";
    let mut packed = b"\x28\xb5\x2f\xfd\x20\x0c\x61\x00\x00".to_vec();
    packed.extend(table);
    let place = ProgramFolder::with("t.csv.zst", &packed);
    let out = place.run("cluster t.csv.zst -k 2").quiet_success();
    assert!(out.contains("points      2"), "{out}");
    let place = ProgramFolder::with("t.csv.zst", b"\x28\xb5\x2f\xfd\r1\r2");
    place
        .run("cluster t.csv.zst -k 1")
        .refusal(&["broken zstd data in t.csv.zst"]);
}

#[test]
fn sem_g339_columns_are_excluded_and_kept() {
    let text = "id,name,x,y,z\n7,a,0,0,5\n8,b,0,1,6\n9,c d,10,10,7\n";
    let place = ProgramFolder::with("t.csv", text);
    let run = place.run("cluster t.csv -k 2 --exclude id,z --keep name,id --out o");
    run.quiet_success();
    let labels = rows(&place.path("o/labels.csv"));
    assert_eq!(labels[0], ["row", "name", "id", "x", "y", "cluster"]);
    assert_eq!(labels[3], ["3", "c d", "9", "10", "10", "2"]);
    // What is left out unasked is said, with what to do.
    let run = place.run("cluster t.csv -k 2");
    assert!(
        run.err.contains("name ('a' in line 2)") && run.err.contains("--keep"),
        "{}",
        run.err
    );
    place
        .run("cluster t.csv -k 2 --exclude nam")
        .refusal(&["nam", "did you mean name"]);
    place
        .run("cluster t.csv -k 2 --exclude id --columns x")
        .refusal(&["--exclude", "--columns"]);
}

#[test]
fn sem_g340_the_spread_of_ordinary_points_beside_huge_ones() {
    let points: String = (0..60).map(|i| format!("{},{}\n", i % 6, i / 6)).collect();
    let huge = "1e300,1e300\n-1e300,-1e300\n";
    let spread = |text: String, k: usize| -> f64 {
        let place = ProgramFolder::with("t.csv", format!("x,y\n{text}"));
        let out = place
            .run(&format!("cluster t.csv -k {k} --json"))
            .quiet_success();
        let told: serde_json::Value = serde_json::from_str(&out).unwrap();
        told["table"][0]["spread"].as_f64().unwrap()
    };
    let (alone, beside) = (spread(points.clone(), 1), spread(points + huge, 3));
    assert!((alone - beside).abs() < 1e-9 * alone, "{alone} {beside}");
}

/// The bytes of a `.npy` array of float64 with two columns.
fn array(values: &[f64]) -> Vec<u8> {
    let rows = values.len() / 2;
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 2), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn sem_g166_an_array_of_numpy_is_a_table() {
    let text = three_groups();
    let numbers = text.lines().skip(1).flat_map(|line| line.split(','));
    let mut values: Vec<f64> = numbers.map(|field| field.parse().unwrap()).collect();
    let bytes = array(&values);
    reads_the_same(&bytes, "");
    reads_the_same(&bytes, "--columns 1,column2");
    reads_the_same(packed(&bytes), "");
    let place = ProgramFolder::with("a.npy", &bytes);
    place.run("mixture a.npy -k 3 -q").quiet_success();
    place
        .run("cluster a.npy -k 3 --columns 3")
        .refusal(&["3", "numbers from 1 to 2"]);
    place
        .run("cluster a.npy -k 3 --header")
        .refusal(&["a.npy", "no header"]);
    values[5] = f64::NAN;
    place.write("b.npy", array(&values));
    place
        .run("cluster b.npy -k 3")
        .refusal(&["b.npy:3, column column2", "--missing"]);
    let found = place
        .run("cluster b.npy -k 3 --missing drop-row --json")
        .quiet_success();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["points"], 59);
    values[5] = f64::INFINITY;
    place.write("c.npy", array(&values));
    place.run("cluster c.npy -k 3").refusal(&["c.npy:3", "inf"]);
    place.write("d.npy", &bytes[..bytes.len() - 3]);
    place
        .run("cluster d.npy -k 3")
        .refusal(&["d.npy", "60 rows of 2 columns"]);
}
