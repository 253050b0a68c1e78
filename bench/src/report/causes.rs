//! Why a peer is better, where it is known.

use crate::suite::Row;

/// Peers, by the beginning of their names, the experiments if not all, and what they do that motet
/// does not, or do not have to.
const CAUSES: &[(&[&str], &[&str], &str)] = &[
    (
        &["C floor"],
        &[],
        "The floor is no runtime: one pinned thread for each computation, which knows its neighbours and spins on their cache lines; \
         it starts, queues and wakes nothing.",
    ),
    (
        &["threads without messages"],
        &[],
        "It sends no messages: plain threads do the same copies.",
    ),
    (
        &["MPI", "Open MPI", "Intel MPI"],
        &[],
        "A process for each rank spins on shared memory and never gives way; it does its own number of stages.",
    ),
    (
        &["OpenMP"],
        &["E33", "E34", "E35"],
        "Its kernel is its own, compiled for this processor: the rates tell kernels apart, the efficiencies how the work is split.",
    ),
    (
        &["OpenMP"],
        &["E36"],
        "It sends no message for each block: the compiler cuts its loop, and the processor begins with a block while the one before it ends.",
    ),
    (
        &["rayon"],
        &["E36"],
        "It sends no message for each block: a thread that nobody steals from runs the range as a compiled loop.",
    ),
    (
        &["scikit-learn"],
        &["E12", "E18"],
        "Its step is another: where it takes longer (step per point and cluster), the same waiting and combining is a smaller part of it.",
    ),
    (
        &["OpenBLAS"],
        &["E33", "E34", "E35"],
        "Its kernel is its own, written for this processor: the rates tell kernels apart, the efficiencies how the work is split.",
    ),
];

/// The cause, by the beginning of the peer's name.
pub(super) fn of(motet: &Row, peer: &Row) -> Option<&'static str> {
    let known = CAUSES.iter().find(|(names, experiments, _)| {
        names.iter().any(|name| peer.series.starts_with(name))
            && (experiments.is_empty() || experiments.contains(&motet.experiment.as_str()))
    });
    known.map(|(.., cause)| *cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Point, RowOutcome, SCHEMA};

    #[test]
    fn known_causes_are_told() {
        let row = |experiment: &str, series: &str| Row {
            schema: SCHEMA,
            experiment: experiment.to_owned(),
            series: series.to_owned(),
            point: Point::new(),
            quantity: "time".to_owned(),
            unit: "s".to_owned(),
            outcome: RowOutcome::Absent {
                absent: String::new(),
            },
            disturbed: false,
        };
        for (experiment, peer, says) in [
            ("E14", "MPI", "process for each rank"),
            ("E14", "MPICH 5", "process for each rank"),
            ("E14", "Open MPI 5", "process for each rank"),
            ("E14", "Intel MPI", "process for each rank"),
            ("E34", "OpenMP dynamic", "compiled for this processor"),
            ("E36", "OpenMP static", "no message for each block"),
            ("E36", "rayon", "no message for each block"),
            ("E18", "scikit-learn", "smaller part"),
        ] {
            let cause = of(&row(experiment, "motet"), &row(experiment, peer));
            assert!(cause.unwrap_or_default().contains(says), "{peer}");
        }
        assert_eq!(of(&row("E14", "motet"), &row("E14", "OpenMP")), None);
    }
}
