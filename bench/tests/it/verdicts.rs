//! What the page says of claims and losses.

use motet_bench::report::page;
use motet_bench::results::Results;
use motet_bench::suite::{Outcome, Point, Row, SCHEMA};

fn row(
    experiment: &str,
    series: &str,
    point: Point,
    quantity: &str,
    unit: &str,
    median: f64,
) -> Row {
    Row {
        schema: SCHEMA,
        experiment: experiment.to_owned(),
        series: series.to_owned(),
        point,
        quantity: quantity.to_owned(),
        unit: unit.to_owned(),
        outcome: Outcome::Measured {
            median,
            least: 0.95 * median,
            most: 1.05 * median,
            runs: 5,
        },
        disturbed: false,
    }
}

/// Rows of a machine with so many cores.
fn results(cores: usize, rows: Vec<Row>) -> Results {
    let machine = serde_json::json!({
        "schema": 1,
        "machine": {"model": "A <processor>", "architecture": "x86_64", "cores": cores, "caches": [], "system": "Linux"},
        "memory_bytes": 1 << 30,
        "limits": {"unit_us": 1.4, "cache_line_us": 0.1, "wakeup_us": 5.0, "copy_gb_per_s": 8.0, "allocation_us": 0.02},
        "versions": {"motet": "0.1.0"}, "effort": "quick", "pinned": true
    });
    Results {
        rows,
        machine: Some(serde_json::from_value(machine).unwrap()),
        cut_off: false,
    }
}

/// The row of a claim, as text: claim, source, then, here, verdict.
fn said(results: &Results, key: &str) -> String {
    let page = page(results);
    let (_, after) = page
        .split_once(&format!("<td id=\"{}\">", key.to_lowercase()))
        .unwrap();
    let (row, _) = after.split_once("</tr>").unwrap();
    let mut text = String::new();
    for part in row.split('<') {
        text += part.split_once('>').map_or(part, |(_, text)| text);
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Run times of four pipelines, so many µs a stage.
fn pipelines(us: f64) -> Vec<Row> {
    [1_u64, 1_000, 10_000]
        .map(|stages| {
            let point = Point::new()
                .with("pattern", "pipeline")
                .with("stages", stages)
                .with("units", 10_000 / stages);
            row(
                "E03",
                "motet",
                point,
                "run time",
                "s",
                0.5 + us * 1e-6 * stages as f64,
            )
        })
        .to_vec()
}

#[test]
fn a_cost_holds_up_to_the_papers_value_and_not_beyond() {
    let cheap = said(&results(2, pipelines(0.5)), "C01");
    assert!(cheap.contains("0.5 µs holds at most 5 µs"), "{cheap}");
    let dear = said(&results(2, pipelines(9.0)), "C01");
    assert!(dear.contains("9 µs does not hold at most 5 µs"), "{dear}");
    let nothing = said(
        &results(
            2,
            vec![row(
                "E01",
                "motet",
                Point::new().with("what", "unit"),
                "time",
                "us",
                1.4,
            )],
        ),
        "C01",
    );
    assert!(
        nothing.contains("cannot be told E03 was not measured"),
        "{nothing}"
    );
}

#[test]
fn noise_decides_nothing() {
    let falling = said(&results(2, pipelines(-3.0)), "C01");
    assert!(
        falling.contains("cannot be told -3 µs is no cost"),
        "{falling}"
    );
    let mut rows = pipelines(0.5);
    if let Outcome::Measured { median, .. } = &mut rows[1].outcome {
        *median += 0.3;
    }
    let scattered = said(&results(2, rows), "C01");
    assert!(
        scattered.contains("cannot be told no line goes through"),
        "{scattered}"
    );
}

#[test]
fn other_load_is_said_with_the_verdict() {
    let mut rows = pipelines(0.5);
    rows[1].disturbed = true;
    let all = results(2, rows);
    assert!(said(&all, "C01").contains("measured beside other load"));
    assert!(!said(&all, "C07").contains("measured beside other load"));
}

#[test]
fn what_needs_other_machines_or_what_is_not_built_cannot_be_told() {
    let mut rows = pipelines(1.0);
    let absent = Outcome::Absent {
        absent: "motet has no services yet".to_owned(),
    };
    rows.push(Row {
        outcome: absent,
        ..row("E09", "motet", Point::new(), "all", "", 0.0)
    });
    let all = results(2, rows);
    assert!(said(&all, "C10").contains("cannot be told it compares two machines"));
    assert!(said(&all, "C17").contains("cannot be told E09: motet has no services yet"));
    assert!(said(&all, "C43").contains("the machine has 2 cores, not 768"));
}

#[test]
fn twice_the_computations_are_compared_on_the_cores_there_are() {
    let at = |parallel: u64, us: f64| {
        let point = Point::new()
            .with("pattern", "pipeline")
            .with("choice", "match")
            .with("parallel", parallel);
        row("E06", "motet", point, "overhead per stage", "us", us)
    };
    let double = said(&results(2, vec![at(2, 0.1), at(4, 0.2), at(8, 9.0)]), "C07");
    assert!(
        double.contains("2 times holds at most 2.5 times"),
        "{double}"
    );
    let more = said(&results(4, vec![at(2, 0.1), at(4, 0.2), at(8, 9.0)]), "C07");
    assert!(more.contains("45 times does not hold"), "{more}");
    let lost = said(&results(2, vec![at(2, -0.1), at(4, 0.2)]), "C07");
    assert!(
        lost.contains("cannot be told 0.2 over -0.1 is no ratio"),
        "{lost}"
    );
}

#[test]
fn ranks_are_held_against_the_best_and_the_slowest_mpi() {
    let at = |series: &str, us: f64| {
        let point = Point::new()
            .with("pattern", "exchange")
            .with("units", 20)
            .with("parallel", 2);
        row("E21", series, point, "overhead per stage", "us", us)
    };
    let between = results(
        2,
        vec![
            at("motet", 0.4),
            at("MPICH 5", 0.3),
            at("Open MPI 5", 0.8),
            at("Go", 0.1),
        ],
    );
    let text = said(&between, "C19");
    assert!(text.contains("1.33 times the best MPI holds"), "{text}");
    let text = said(&between, "C37");
    assert!(
        text.contains("1.33 times of the best, 0.5 times of the slowest holds"),
        "{text}"
    );
    let best = results(2, vec![at("motet", 0.2), at("MPICH 5", 0.3)]);
    assert!(said(&best, "C37").contains("does not hold"));
}

#[test]
fn a_model_is_judged_by_more_points_than_it_has_factors() {
    let at = |p: u64, points: u64, f: f64| {
        let point = Point::new()
            .with("p", p)
            .with("points", points)
            .with("p/N", p as f64 / points as f64);
        row("E28", "motet", point, "overhead f", "", f)
    };
    let fits = results(2, vec![at(1, 100, 0.01), at(2, 100, 0.02), at(2, 50, 0.04)]);
    assert!(
        said(&fits, "C46").contains("1 (R²) holds"),
        "{}",
        said(&fits, "C46")
    );
    let scattered = results(2, vec![at(1, 100, 0.1), at(2, 100, -0.05), at(2, 50, 0.01)]);
    assert!(said(&scattered, "C46").contains("does not hold"));
    let few = results(2, vec![at(1, 100, 0.1), at(2, 100, 0.2)]);
    assert!(said(&few, "C46").contains("2 points do not show"));
}

#[test]
fn losses_stand_first_with_their_cause() {
    let at = |series: &str, us: f64| {
        let point = Point::new()
            .with("pattern", "exchange")
            .with("units", 0)
            .with("parallel", 2);
        row("E21", series, point, "overhead per stage", "us", us)
    };
    let page = page(&results(2, vec![at("motet", 0.4), at("C floor", 0.1)]));
    let (_, losses) = page.split_once("id=\"loses\"").unwrap();
    let (losses, _) = losses.split_once("id=\"machine\"").unwrap();
    for part in [
        "1 of 1 comparisons",
        "4×",
        "C floor",
        "0.4 µs",
        "0.1 µs",
        "spins on their cache lines",
    ] {
        assert!(losses.contains(part), "{part}: {losses}");
    }
    assert!(page.contains("A &lt;processor&gt;") && !page.contains("A <processor>"));
}
