//! Claims that ask for another machine, or for libraries of other languages.

use crate::verdicts::{results, row, said};
use motet_bench::measuring::Point;

#[test]
fn claims_about_two_machines_are_judged_by_a_folder_of_both() {
    let machine = |cores: usize, compute: f64, us: f64, processor: &str, size: usize| {
        let pipeline = |cores| {
            Point::new()
                .with("pattern", "pipeline")
                .with("parallel", cores)
        };
        let stages = Point::new().with("stages", 1_000).with("units", 10);
        let matrix = Point::new()
            .with("processor", processor)
            .with("size", size)
            .with("threads", cores);
        let overhead = "overhead per stage";
        results(
            cores,
            vec![
                row("E06", "motet", pipeline(cores), overhead, "us", us),
                row(
                    "E03",
                    "motet",
                    stages.clone(),
                    "run time",
                    "s",
                    compute + us,
                ),
                row(
                    "E03",
                    "motet",
                    stages,
                    "run time in one stage",
                    "s",
                    compute,
                ),
                row("E35", "motet static", matrix, "efficiency", "", 0.95),
            ],
        )
    };
    let mut both = machine(8, 1.0, 0.5, "A", 64);
    let other = machine(4, 1.1, 2.0, "B", 256);
    both.rows.extend(other.of("E35").into_iter().cloned());
    let alone = said(&other, "C09");
    assert!(alone.contains("motet bench join puts"), "{alone}");
    both.beside = Some(Box::new(other));
    for (key, says) in [
        ("C09", "0.25 times the cost on fewer cores holds"),
        ("C10", "computes 10 % slower, takes 107 % longer"),
        ("C49", "4 times as many rows holds"),
    ] {
        let line = said(&both, key);
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn mpi_in_java_is_judged_beside_mpi_in_c() {
    let point = || {
        Point::new()
            .with("pattern", "exchange")
            .with("parallel", 2)
            .with("units", 20)
    };
    let cost = |experiment: &str, series: &str, us: f64| {
        row(experiment, series, point(), "overhead per stage", "us", us)
    };
    let rows = ["E16", "E21"].map(|experiment| {
        [
            cost(experiment, "motet", 0.5),
            cost(experiment, "Java", 0.1),
            cost(experiment, "Intel MPI", 0.5),
            cost(experiment, "Open MPI 5", 0.4),
            cost(experiment, "MPJ Express", 4.0),
            cost(experiment, "Java on Intel MPI", 2.0),
        ]
    });
    let all = results(2, rows.into_iter().flatten().collect());
    for key in ["C24", "C38"] {
        let line = said(&all, key);
        let found = "5 times the best MPI in C (the best of Java on Intel MPI, MPJ Express) holds";
        assert!(line.contains(found), "{line}");
    }
}

#[test]
fn fluctuation_is_judged_in_c_sharp_and_in_c() {
    let point = || {
        Point::new()
            .with("clusters", 80)
            .with("points per thread", 10_000)
            .with("threads", 2)
    };
    let one =
        |series: &str, part: f64| row("E22", series, point(), "deviation over mean", "", part);
    let all = results(
        2,
        vec![
            one("motet", 0.001),
            one("C with threads", 0.004),
            one("C# with threads", 0.1),
        ],
    );
    let line = said(&all, "C39");
    assert!(
        line.contains("25 times C&#39;s deviation") || line.contains("25 times C's deviation"),
        "{line}"
    );
    assert!(line.contains("C# 10 %, C 0.4 %"), "{line}");
}
