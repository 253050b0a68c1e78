//! What pictures show of rows.

use motet_bench::measuring::{Point, Row, RowOutcome, SCHEMA};
use motet_bench::picture::{Origin, Panel, Scale, panels};
use motet_bench::suite::{Axis, LineFit, LineShape, PaperBeside, Picture, all};

fn row(series: &str, point: Point, median: f64) -> Row {
    Row {
        schema: SCHEMA,
        experiment: "E03".to_owned(),
        series: series.to_owned(),
        point,
        quantity: "time".to_owned(),
        unit: "s".to_owned(),
        outcome: RowOutcome::Measured {
            median,
            least: 0.9 * median,
            most: 1.2 * median,
            runs: 5,
        },
        disturbed: false,
    }
}

fn drawn(picture: &Picture, rows: &[Row]) -> Vec<Panel> {
    panels(picture, &rows.iter().collect::<Vec<_>>())
}

fn over_stages() -> Picture {
    let (x, y) = (Axis::log("stages", ""), Axis::linear("time", "s"));
    Picture::new("e03-time", "Run time against stages", x, y)
}

fn fitted(mut picture: Picture, fit: LineFit) -> Picture {
    picture.fit = Some(fit);
    picture
}

fn by_panels(mut picture: Picture, names: &[&str]) -> Picture {
    picture.panels_by = words(names);
    picture
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn stages(stages: u64) -> Point {
    Point::new().with("stages", stages).with("parallel", 2)
}

/// 14 s of work, 2 µs a stage; a peer with three times that.
fn linear_rows() -> Vec<Row> {
    let at = |series: &str, us: f64| {
        [1_u64, 1_000, 100_000, 1_000_000]
            .map(|s| row(series, stages(s), 14.0 + us * 1e-6 * s as f64))
    };
    [at("motet", 2.0), at("tokio", 6.0)].concat()
}

#[test]
fn every_picture_has_a_name_of_its_own_and_is_in_the_paper_map() {
    let map = include_str!("../../../docs/PAPER-MAP.md");
    let mut keys: Vec<&str> = Vec::new();
    for experiment in all() {
        let key = &experiment.key;
        for picture in &experiment.pictures {
            let begin = format!("| {key} | {}", key.to_lowercase());
            let row = map.lines().find(|line| line.starts_with(&begin));
            let row = row.unwrap_or_else(|| panic!("{key} has pictures: a row belongs there"));
            assert!(row.contains(&picture.key), "{}: {row}", picture.key);
            keys.push(&picture.key);
        }
    }
    let mut unique = keys.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), keys.len(), "{keys:?}");
}

#[test]
fn a_line_for_each_series_and_a_mark_for_each_value() {
    let [panel] = drawn(&over_stages(), &linear_rows()).try_into().unwrap();
    assert_eq!(panel.file, "e03-time");
    assert_eq!(panel.y_title, "time (s)");
    let labels: Vec<&str> = panel.lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(labels, ["motet", "tokio"]);
    assert!(panel.lines.iter().all(|line| line.marks.len() == 4));
    assert_eq!(
        panel.x,
        Scale::Log {
            low: 1.0,
            high: 1e6
        }
    );
    let Scale::Linear { low, high } = panel.y else {
        panic!("{:?}", panel.y)
    };
    assert!(low == 0.0 && (24.0..=30.0).contains(&high), "{low} {high}");
    assert!(panel.notes.is_empty(), "{:?}", panel.notes);
}

#[test]
fn a_fit_tells_the_slope_in_a_unit_that_can_be_read() {
    let [panel] = drawn(&fitted(over_stages(), LineFit::Line), &linear_rows())
        .try_into()
        .unwrap();
    let motet = &panel.lines[0];
    assert_eq!(motet.label, "motet: 2 µs per stage, R² 1");
    let last = motet.fit.as_ref().unwrap().curve.last().unwrap();
    assert!((last.0 / 1e6 - 1.0).abs() < 1e-9 && (last.1 - 16.0).abs() < 1e-6);
    let one = [row("motet", stages(10), 1.0)];
    let [panel] = drawn(&fitted(over_stages(), LineFit::Line), &one)
        .try_into()
        .unwrap();
    assert!(
        panel.notes[0].starts_with("No fit for motet: 1 points"),
        "{:?}",
        panel.notes
    );
}

#[test]
fn models_of_factors_are_fitted_at_the_marks() {
    let x = Axis::linear("pattern", "");
    let picture = Picture::new("e30", "MPI in a node", x, Axis::linear("time", ""));
    let rows: Vec<Row> = [1_u64, 2, 4, 8]
        .map(|p| {
            let f = 0.01 * p as f64 + 0.002 * (p * p) as f64;
            row(
                "motet",
                Point::new()
                    .with("p", p)
                    .with("pattern", format!("1x{p}x1")),
                f,
            )
        })
        .to_vec();
    let modelled = |factors| {
        let fit = LineFit::Factors(words(factors));
        let [panel] = drawn(&fitted(picture.clone(), fit), &rows)
            .try_into()
            .unwrap();
        panel
    };
    let exact = modelled(&["p", "p^2"]);
    assert_eq!(exact.lines[0].label, "motet: 0.01 p + 0.002 p², R² 1");
    let curve = &exact.lines[0].fit.as_ref().unwrap().curve;
    assert_eq!(curve.len(), 4);
    assert!((curve[3].1 - 0.208).abs() < 1e-12);
    let poor = modelled(&["p"]);
    assert!(
        poor.lines[0].label.contains(" p, R² 0.9"),
        "{}",
        poor.lines[0].label
    );
    // Values of different sizes at one x belong to one model.
    let twice: Vec<Row> = [(2_u64, 1.0), (2, 1.2), (4, 2.2)]
        .map(|(p, f)| {
            row(
                "motet",
                Point::new().with("p", p).with("points", (100.0 * f) as u64),
                f,
            )
        })
        .to_vec();
    let over_p = Picture::new(
        "e28",
        "Together",
        Axis::linear("p", ""),
        Axis::linear("time", ""),
    );
    let [together] = drawn(&fitted(over_p.clone(), LineFit::ThroughOrigin), &twice)
        .try_into()
        .unwrap();
    assert_eq!(
        (together.lines.len(), together.lines[0].marks.len()),
        (1, 3)
    );
    let [apart] = drawn(&over_p, &twice).try_into().unwrap();
    assert_eq!(apart.lines.len(), 3);
    let lost = modelled(&["q"]);
    assert!(
        lost.notes[0].contains("not a finite number"),
        "{:?}",
        lost.notes
    );
}

#[test]
fn each_value_of_a_panel_parameter_has_a_picture_with_the_same_colours() {
    let rows: Vec<Row> = ["exchange", "two-shifts"]
        .into_iter()
        .flat_map(|pattern| linear_rows().into_iter().map(move |row| (pattern, row)))
        .map(|(pattern, row)| Row {
            point: row.point.clone().with("pattern", pattern),
            ..row
        })
        .filter(|row| {
            row.series != "motet" || row.point.get("pattern").unwrap().to_string() != "exchange"
        })
        .collect();
    let [first, second] = drawn(&by_panels(over_stages(), &["pattern"]), &rows)
        .try_into()
        .unwrap();
    assert_eq!(
        (first.file.as_str(), second.file.as_str()),
        ("e03-time-exchange", "e03-time-two-shifts")
    );
    assert_eq!(second.title, "Run time against stages, two-shifts");
    assert_eq!(first.lines.len(), 1);
    assert_eq!(first.lines[0].turn, second.lines[1].turn);
}

#[test]
fn a_parameter_that_nobody_named_tells_lines_apart() {
    let rows: Vec<Row> = [1_u64, 2]
        .into_iter()
        .flat_map(|threads| {
            linear_rows().into_iter().map(move |row| Row {
                point: row.point.clone().with("threads", threads),
                ..row
            })
        })
        .collect();
    let [panel] = drawn(&over_stages(), &rows).try_into().unwrap();
    let labels: Vec<&str> = panel.lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "motet, threads 1",
            "motet, threads 2",
            "tokio, threads 1",
            "tokio, threads 2"
        ]
    );
}

#[test]
fn the_papers_stand_beside_with_their_machine_and_place() {
    let x = Axis::linear("parallel", "");
    let y = Axis::linear("overhead per stage", "us");
    let mut picture = by_panels(Picture::new("e06", "Overhead", x, y), &["pattern"]);
    picture.beside = Some(PaperBeside {
        table: "p0_table2_overhead".to_owned(),
        only: vec![("threads".to_owned(), "match".to_owned())],
        x: "parallel".to_owned(),
        y: "value".to_owned(),
        series_by: words(&["machine"]),
    });
    let rows: Vec<Row> = [1_u64, 2, 4]
        .map(|parallel| {
            let point = Point::new()
                .with("parallel", parallel)
                .with("pattern", "two-shifts");
            Row {
                quantity: "overhead per stage".to_owned(),
                unit: "us".to_owned(),
                ..row("motet", point, 0.1)
            }
        })
        .to_vec();
    let [panel] = drawn(&picture, &rows).try_into().unwrap();
    let papers: Vec<_> = panel
        .lines
        .iter()
        .filter(|line| line.origin == Origin::Paper)
        .collect();
    let labels: Vec<&str> = papers.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "AMD (P0 Table 2-AMD)",
            "INTEL (P0 Table 2-INTEL)",
            "INTEL8 (P0 Table 2-INTEL8)"
        ]
    );
    // Two Shifts at p = 2, 3, 4, 8; p = 1 is printed N/A.
    assert_eq!(papers[0].marks.len(), 4);
    // 0.1 µs beside 20 µs is nothing on a linear axis.
    assert!(matches!(panel.y, Scale::Log { .. }), "{:?}", panel.y);
}

#[test]
fn facts_in_another_unit_are_no_neighbours() {
    let beside = |quantity: &str, unit: &str| {
        let (x, y) = (Axis::log("separation", ""), Axis::log("time", unit));
        let mut picture = Picture::new("e19", "Additions", x, y);
        picture.beside = Some(PaperBeside {
            table: "p3_table2_cacheline".to_owned(),
            only: vec![("quantity".to_owned(), quantity.to_owned())],
            x: "separation_doubles".to_owned(),
            y: "value".to_owned(),
            series_by: words(&["machine", "os"]),
        });
        let row = row("motet", Point::new().with("separation", 4), 1.0);
        let [panel] = drawn(&picture, &[row]).try_into().unwrap();
        panel.lines.len() - 1
    };
    assert!(beside("mean time", "us") > 0);
    assert_eq!(beside("mean time", "ns"), 0);
    assert_eq!(beside("std dev / mean", "us"), 0);
}

#[test]
fn facts_stand_in_the_panel_of_their_place_and_units() {
    let mut bandwidth = all()
        .into_iter()
        .flat_map(|experiment| &experiment.pictures);
    let bandwidth = bandwidth.find(|p| p.key == "e08-bandwidth");
    let rows = ["inside", "outside", "stepped"].map(|place| {
        let point = Point::new().with("place", place).with("units", 40);
        Row {
            quantity: "copy bandwidth".to_owned(),
            unit: "GB/s".to_owned(),
            ..row("motet", point.with("words", 100_000), 1.0)
        }
    });
    let panels = drawn(bandwidth.unwrap(), &rows);
    assert_eq!(panels.len(), 3);
    for (panel, row) in panels.iter().zip(&rows) {
        let papers = panel.lines.iter();
        let papers = papers.filter(|line| line.origin == Origin::Paper);
        let labels: Vec<&str> = papers.map(|line| line.label.as_str()).collect();
        let place = row.point.get("place").unwrap().to_string();
        let place = format!(", {place} ");
        assert!(!labels.is_empty(), "{place}");
        assert!(
            labels.iter().all(|label| label.contains(&place)),
            "{labels:?}"
        );
        // Of P0's 2000 and 50 units none.
        assert!(
            !labels.iter().any(|label| label.contains(", 5000 ")),
            "{labels:?}"
        );
    }
}

#[test]
fn words_stand_side_by_side_and_facts_find_their_word() {
    let mut picture = Picture::new(
        "e21",
        "Exchange",
        Axis::linear("series", ""),
        Axis::log("time", "us"),
    );
    picture.shape = LineShape::Bars;
    let rows = [
        row("motet", Point::new(), 0.1),
        row("Open MPI 5", Point::new(), 0.4),
    ];
    let [panel] = drawn(&picture, &rows).try_into().unwrap();
    assert_eq!(
        panel.x,
        Scale::Words(vec!["motet".to_owned(), "Open MPI 5".to_owned()])
    );
    assert_eq!(panel.lines[1].marks[0].x, 1.0);
}

#[test]
fn steps_stand_on_zero_and_have_no_marks() {
    let mut picture = over_stages();
    picture.shape = LineShape::Steps;
    let rows = [1_u64, 10, 100].map(|count| row("motet", stages(count), 14.0));
    let [panel] = drawn(&picture, &rows).try_into().unwrap();
    assert!(matches!(panel.x, Scale::Log { .. }), "{:?}", panel.x);
    assert_eq!(panel.y.part(0.0), Some(0.0));
    assert!(!panel.svg().contains("<circle"));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let mut picture = over_stages();
    picture.y = Axis::log("time", "s");
    let mut rows = linear_rows();
    rows.push(row("motet", stages(10), -1.0));
    rows.push(Row {
        outcome: RowOutcome::Absent {
            absent: "no <compiler>".to_owned(),
        },
        ..row("go", stages(10), 0.0)
    });
    rows[0].disturbed = true;
    let [panel] = drawn(&picture, &rows).try_into().unwrap();
    let notes = panel.notes.join("\n");
    for said in [
        "1 values of 0 or less",
        "Not measured everywhere: go.",
        "1 of 10 values",
    ] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    let nothing = &rows[9..];
    assert!(drawn(&picture, nothing).is_empty());
}

#[test]
fn svg_and_png_are_the_same_for_the_same_rows_and_hold_every_mark() {
    let mut rows = linear_rows();
    rows[4].series = "a<b & \"c\"".to_owned();
    let [panel] = drawn(&over_stages(), &rows).try_into().unwrap();
    let svg = panel.svg();
    assert_eq!(svg, panel.svg());
    assert!(svg.starts_with("<svg width=\"660\"") && svg.trim_end().ends_with("</svg>"));
    assert!(!svg.contains("a<b"), "names are escaped");
    assert!(svg.contains("a&lt;b &amp; "));
    // One disc for each of motet's four values and one in the legend.
    assert_eq!(svg.matches("<circle").count(), 5);
    let png = panel.png();
    assert_eq!(png, panel.png());
    let mut reader = png::Decoder::new(std::io::Cursor::new(png))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(frame.width, 1320);
    let blue = pixels
        .chunks(3)
        .filter(|pixel| *pixel == [0, 114, 178])
        .count();
    assert!(blue > 500, "{blue} pixels of motet's colour");
}
