//! Why a peer is better, where it is known.

use super::losses::Loss;
use crate::suite::Row;

/// Peers, by the beginning of their names, the experiments if not all, and what they do that motet does not, or do not have to.
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

/// Why a peer is better in some experiments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason<'a> {
    pub(super) peer: &'a str,
    /// In the order of the losses.
    pub(super) experiments: Vec<&'a str>,
    cause: Option<&'static str>,
    /// The values of both overlap in all of them.
    chance: bool,
}

/// A reason for each peer and cause, the most severe loss first.
pub(super) fn reasons<'a>(losses: &[Loss<'a>]) -> Vec<Reason<'a>> {
    let mut reasons: Vec<Reason<'a>> = Vec::new();
    for loss in losses {
        let same =
            |reason: &&mut Reason<'_>| (reason.peer, reason.cause) == (loss.peer, loss.cause);
        match reasons.iter_mut().find(same) {
            Some(reason) => {
                reason.chance &= loss.overlaps;
                if !reason.experiments.contains(&loss.experiment) {
                    reason.experiments.push(loss.experiment);
                }
            }
            None => reasons.push(Reason {
                peer: loss.peer,
                experiments: vec![loss.experiment],
                cause: loss.cause,
                chance: loss.overlaps,
            }),
        }
    }
    reasons
}

impl Reason<'_> {
    pub(super) fn text(&self) -> &'static str {
        let unknown = match self.chance {
            true => "it may be chance: the values of both overlap.",
            false => "the cause is not known.",
        };
        self.cause.unwrap_or(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::losses::Spread;
    use crate::suite::{Outcome, Point, SCHEMA};

    #[test]
    fn a_reason_names_the_experiments_and_what_may_be_chance() {
        let point = Point::new();
        let values = |median| Spread {
            median,
            least: median,
            most: median,
            runs: 2,
        };
        let loss = |experiment, overlaps, cause| Loss {
            experiment,
            point: &point,
            quantity: "time",
            unit: "s",
            series: "motet",
            motet: values(2.0),
            peer: "peer",
            theirs: values(1.0),
            factor: Some(2.0),
            overlaps,
            disturbed: false,
            cause,
        };
        let losses = [
            loss("E05", true, None),
            loss("E36", false, Some("it is known")),
            loss("E14", true, None),
            loss("E05", true, None),
        ];
        let of = |losses: &[Loss<'_>]| -> Vec<(String, &str)> {
            let all = reasons(losses).into_iter();
            all.map(|reason| (reason.experiments.join(" "), reason.text()))
                .collect()
        };
        let chance = (
            "E05 E14".to_owned(),
            "it may be chance: the values of both overlap.",
        );
        assert_eq!(of(&losses), [chance, ("E36".to_owned(), "it is known")]);
        let beyond = of(&[loss("E05", true, None), loss("E05", false, None)]);
        assert_eq!(beyond, [("E05".to_owned(), "the cause is not known.")]);
    }

    #[test]
    fn known_causes_are_told() {
        let row = |experiment: &str, series: &str| Row {
            schema: SCHEMA,
            experiment: experiment.to_owned(),
            series: series.to_owned(),
            point: Point::new(),
            quantity: "time".to_owned(),
            unit: "s".to_owned(),
            outcome: Outcome::Absent {
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
