//! What the page says of claims and losses.

use motet_bench::measuring::{Point, Row, RowOutcome, SCHEMA};
use motet_bench::report::page;
use motet_bench::results::Results;

/// A row of five runs.
pub(crate) fn row(
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
        outcome: RowOutcome::Measured {
            median,
            least: 0.95 * median,
            most: 1.05 * median,
            runs: 5,
        },
        disturbed: false,
    }
}

/// Rows of a machine with so many cores.
pub(crate) fn results(cores: usize, rows: Vec<Row>) -> Results {
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
        beside: None,
    }
}

/// The row of a claim, as text: claim, source, then, here, verdict.
pub(crate) fn said(results: &Results, key: &str) -> String {
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
    if let RowOutcome::Measured { median, .. } = &mut rows[1].outcome {
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
    let absent = RowOutcome::Absent {
        absent: "motet has no services yet".to_owned(),
    };
    rows.push(Row {
        outcome: absent,
        ..row("E09", "motet", Point::new(), "all", "", 0.0)
    });
    let all = results(2, rows);
    assert!(said(&all, "C10").contains("cannot be told it compares two machines"));
    assert!(said(&all, "C17").contains("cannot be told E09: motet has no services yet"));
    assert!(said(&all, "C43").contains("cannot be told E25 was not measured"));
    assert!(said(&all, "C24").contains("cannot be told E16 was not measured"));
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
    let mut touching = vec![at(2, 0.1), at(4, 0.2)];
    set_runs(&mut touching[0], -0.01, 5);
    let touching = said(&results(2, touching), "C07");
    assert!(
        touching.contains("cannot be told 2 times is no ratio: an overhead reaches 0"),
        "{touching}"
    );
}

/// The least value of a row, and how many it is of.
fn set_runs(row: &mut Row, to: f64, of: usize) {
    if let RowOutcome::Measured { least, runs, .. } = &mut row.outcome {
        (*least, *runs) = (to, of);
    }
}

#[test]
fn pinned_threads_are_not_compared_with_others() {
    let at = |choice: &str, parallel: u64, pinned: &str, us: f64| {
        let point = Point::new()
            .with("pattern", "pipeline")
            .with("choice", choice)
            .with("parallel", parallel)
            .with("pinned", pinned);
        row("E06", "motet", point, "overhead per stage", "us", us)
    };
    let mut rows = vec![at("match", 2, "yes", 0.1), at("match", 4, "no", 9.0)];
    rows.extend([at("default", 2, "yes", 0.1), at("default", 4, "yes", 0.15)]);
    let text = said(&results(2, rows), "C07");
    assert!(
        text.contains("1.5 times (threads as cores) holds"),
        "{text}"
    );
    let rows = vec![
        at("match", 2, "yes", 0.1),
        at("match", 4, "no", 9.0),
        at("default", 2, "yes", 0.1),
    ];
    let text = said(&results(2, rows), "C07");
    assert!(
        text.contains("cannot be told one was measured with pinned"),
        "{text}"
    );
}

#[test]
fn what_one_run_says_may_be_chance() {
    let mut rows = pipelines(0.5);
    set_runs(&mut rows[1], 0.5, 1);
    let all = results(2, rows);
    let text = said(&all, "C01");
    assert!(
        text.contains("at most 5 µs; by values of one run"),
        "{text}"
    );
    assert!(!said(&all, "C07").contains("one run"));
    let point = Point::new().with("pattern", "exchange").with("units", 1);
    let mut rows = vec![row("E15", "motet", point, "overhead per stage", "us", 1.0)];
    set_runs(&mut rows[0], -1.0, 5);
    let text = said(&results(2, rows), "C26");
    assert!(
        text.contains("holds at most 16.3 µs; by an overhead that reaches 0"),
        "{text}"
    );
}

#[test]
fn a_line_needs_three_points_of_work_above_the_overhead() {
    let with_work = |us| {
        let mut rows = pipelines(us);
        for row in &mut rows {
            row.point = row.point.clone().with("units", 20);
        }
        rows
    };
    let text = said(&results(2, with_work(0.5)), "C06");
    assert!(text.contains("1 (R²) holds"), "{text}");
    let text = said(&results(2, with_work(-3.0)), "C06");
    assert!(text.contains("cannot be told -3 µs is no cost"), "{text}");
    let text = said(&results(2, pipelines(0.5)), "C06");
    assert!(
        text.contains("cannot be told 2 numbers of stages"),
        "{text}"
    );
    let mut rows = pipelines(0.5);
    if let RowOutcome::Measured { median, .. } = &mut rows[1].outcome {
        *median += 0.3;
    }
    let text = said(&results(2, rows), "C06");
    assert!(
        text.contains("cannot be told no line goes through"),
        "{text}"
    );
}

/// An overhead of clustering.
fn overhead(experiment: &str, data: &str, points: u64, clusters: u64, f: f64) -> Row {
    let point = Point::new()
        .with("data", data)
        .with("points per thread", points)
        .with("clusters", clusters)
        .with("threads", 2);
    row(experiment, "motet", point, "overhead f", "", f)
}

#[test]
fn each_data_set_of_a_clustering_is_judged_by_itself() {
    let census = |f| overhead("E12", "census", 100_000, 20, f);
    let mut rows = vec![
        overhead("E12", "census", 1_000, 20, 0.9),
        census(0.05),
        overhead("E12", "chemistry as floats", 100, 20, 5.0),
        overhead("E12", "chemistry as floats", 16_000, 20, 0.08),
        overhead("E12", "chemistry as bits", 100, 20, 3.0),
        overhead("E12", "chemistry as bits", 16_000, 20, 0.07),
    ];
    let chemistry = "chemistry as floats: from 5 to 0.08; chemistry as bits: from 3 to 0.07";
    let text = said(&results(2, rows.clone()), "C27");
    let wanted = format!("census: from 0.9 to 0.05; {chemistry} holds");
    assert!(text.contains(&wanted), "{text}");
    rows[1] = census(1.2);
    let text = said(&results(2, rows.clone()), "C27");
    let wanted = format!("census: from 0.9 to 1.2; {chemistry} does not hold");
    assert!(text.contains(&wanted), "{text}");
    rows.pop();
    let text = said(&results(2, rows), "C27");
    assert!(
        text.contains("cannot be told chemistry as bits: one value of points"),
        "{text}"
    );

    let mut rows = vec![
        overhead("E18", "census", 100_000, 2, 0.3),
        overhead("E18", "census", 100_000, 80, 0.06),
        overhead("E18", "chemistry as floats", 20_000, 2, 0.5),
        overhead("E18", "chemistry as floats", 20_000, 20, 0.04),
        overhead("E18", "chemistry as bits", 20_000, 2, 0.4),
        overhead("E18", "chemistry as bits", 20_000, 20, 0.03),
    ];
    let text = said(&results(2, rows.clone()), "C31");
    assert!(
        text.contains("chemistry as floats: from 0.5 to 0.04"),
        "{text}"
    );
    assert!(
        text.contains("chemistry as bits: from 0.4 to 0.03 holds"),
        "{text}"
    );
    let text = said(&results(2, rows.clone()), "C32");
    assert!(
        text.contains("-0.01 (f of bits less f of floats) holds"),
        "{text}"
    );
    rows[3] = overhead("E18", "chemistry as floats", 20_000, 20, 0.6);
    assert!(said(&results(2, rows), "C31").contains("does not hold"));
}

#[test]
fn the_kernel_is_scaled_with_the_papers_points() {
    let at = |points: u64, clusters: u64, threads: u64, us: f64| {
        let point = Point::new()
            .with("points per thread", points)
            .with("clusters", clusters)
            .with("threads", threads);
        row("E20", "motet", point, "time of a step", "us", us)
    };
    let rows = vec![
        at(10_000, 1, 1, 10.0),
        at(10_000, 1, 2, 12.0),
        at(500_000, 1, 1, 500.0),
        at(500_000, 1, 2, 500.0),
        at(500_000, 80, 1, 1_000.0),
        at(500_000, 80, 2, 1_100.0),
    ];
    let all = results(2, rows);
    let text = said(&all, "C35");
    assert!(
        text.contains("1.2 times holds at least 1.13 times"),
        "{text}"
    );
    let text = said(&all, "C36");
    assert!(
        text.contains("1.1 times holds at most 1.125 times"),
        "{text}"
    );
}

#[test]
fn threads_and_processes_are_compared_on_all_cores_and_few_cores_are_said() {
    let at = |p: u64, points: u64, threads: u64, us: f64| {
        let point = Point::new()
            .with("points", points)
            .with("p", p)
            .with("threads", threads)
            .with("processes", p / threads)
            .with("nodes", 1);
        row("E25", "motet", point, "run time", "us", us)
    };
    let mut rows = vec![at(64, 12_500, 64, 1.0), at(64, 12_500, 1, 2.0)];
    let text = |cores, rows: &[Row]| said(&results(cores, rows.to_vec()), "C44");
    assert!(text(1, &rows).contains("cannot be told one core"));
    assert!(text(64, &rows).contains("cannot be told one size was measured"));
    rows.extend([at(64, 50_000, 64, 9.0), at(64, 50_000, 1, 2.0)]);
    let many = text(64, &rows);
    assert!(many.contains("0.5 times the processes' time"), "{many}");
    assert!(!many.contains("few cores"), "{many}");
    for points in [12_500, 50_000] {
        rows.extend([at(2, points, 2, 3.0), at(2, points, 1, 2.0)]);
    }
    let few = text(2, &rows);
    assert!(few.contains("1.5 times the processes' time"), "{few}");
    assert!(few.contains("few cores"), "{few}");
}

#[test]
fn a_collective_beats_two_shifts_if_it_is_cheaper() {
    let at = |pattern: &str, us: f64| {
        let point = Point::new()
            .with("mode", "rendezvous")
            .with("pattern", pattern)
            .with("parallel", 2);
        row("E14", "motet", point, "overhead per stage", "us", us)
    };
    let rows = vec![at("exchange", 1.0), at("exchange-two-shifts", 1.1)];
    let text = said(&results(2, rows), "C23");
    assert!(text.contains("holds at least 1 times"), "{text}");
}

#[test]
fn only_one_length_of_computation_says_what_measures_the_other() {
    let point = Point::new()
        .with("place", "inside")
        .with("words", 100_000)
        .with("units", 40);
    let rows = vec![row("E08", "motet", point, "copy bandwidth", "GB/s", 1.0)];
    let text = said(&results(2, rows), "C15");
    assert!(
        text.contains("cannot be told one length of computation was measured: --full"),
        "{text}"
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
    let text = said(&best, "C37");
    assert!(
        text.contains("cannot be told one MPI was measured, MPICH 5"),
        "{text}"
    );
    let both = vec![at("motet", 0.2), at("MPICH 5", 0.3), at("Open MPI 5", 0.8)];
    assert!(said(&results(2, both), "C37").contains("does not hold"));
    let absent = Row {
        outcome: RowOutcome::Absent {
            absent: "no mpicc is found".to_owned(),
        },
        ..at("MPI", 0.0)
    };
    let none = results(2, vec![at("motet", 0.2), absent]);
    for key in ["C19", "C37"] {
        let text = said(&none, key);
        assert!(text.contains("cannot be told no mpicc is found"), "{text}");
    }
}

#[test]
fn a_model_is_judged_by_more_points_than_it_has_factors() {
    let at = |p: u64, points: u64, f: f64| {
        let point = Point::new()
            .with("p", p)
            .with("points", points)
            .with("nodes", 1)
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
fn threads_inside_nodes_are_judged_as_far_as_nodes_have_cores() {
    let at = |threads: u64, processes: u64, nodes: u64, us: f64| {
        let point = Point::new()
            .with("points", 4_000)
            .with("p", threads * processes * nodes)
            .with("threads", threads)
            .with("processes", processes)
            .with("nodes", nodes);
        row("E25", "motet", point, "run time", "us", us)
    };
    let text = |cores, rows: &[Row]| said(&results(cores, rows.to_vec()), "C50");
    let two = [at(2, 1, 1, 10.0), at(1, 2, 1, 20.0), at(1, 1, 2, 40.0)];
    let few = text(2, &two);
    for part in [
        "0.5 times the better of processes and nodes",
        "40 µs by nodes of one core, and a node of this machine has no more",
        ") holds at most 1",
    ] {
        assert!(few.contains(part), "{few}");
    }
    let dear = [at(2, 1, 1, 30.0), at(1, 2, 1, 20.0), at(1, 1, 2, 40.0)];
    assert!(text(2, &dear).contains("does not hold"));
    assert!(text(2, &two[..2]).contains("cannot be told"));
    assert!(text(1, &two).contains("cannot be told one core"));
    // Four cores have threads and processes inside two nodes.
    let mut four = vec![at(4, 1, 1, 30.0), at(1, 4, 1, 8.0), at(1, 1, 4, 40.0)];
    four.extend([at(2, 1, 2, 12.0), at(1, 2, 2, 15.0)]);
    let many = text(4, &four);
    assert!(
        many.contains("0.8 times the time of processes inside"),
        "{many}"
    );
    assert!(many.contains(") holds at most 1"), "{many}");
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

#[test]
fn a_loss_by_one_run_or_without_a_factor_is_marked() {
    let at = |series: &str, units: u64, us: f64| {
        let point = Point::new()
            .with("pattern", "exchange")
            .with("units", units);
        row("E21", series, point, "overhead per stage", "us", us)
    };
    let mut rows = vec![
        at("motet", 0, 0.4),
        at("C floor", 0, 0.1),
        at("motet", 20, 0.4),
        at("C floor", 20, -0.1),
        at("tokio", 20, 0.5),
    ];
    set_runs(&mut rows[1], 0.1, 1);
    let page = page(&results(2, rows));
    let (_, losses) = page.split_once("id=\"loses\"").unwrap();
    let (losses, _) = losses.split_once("id=\"machine\"").unwrap();
    for part in [
        "2 of 2 comparisons",
        "4× ≈",
        "0.1 µs (1 run)",
        ">–<",
        "-0.1 µs",
    ] {
        assert!(losses.contains(part), "{part}: {losses}");
    }
}
