//! Why a peer is better, where it is known.

use crate::measuring::Row;
use serde::Deserialize;
use std::sync::LazyLock;

/// What peers do that motet does not, or do not have to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    /// The beginnings of their names.
    peers: Vec<String>,
    /// Where, if not everywhere.
    #[serde(default)]
    experiments: Vec<String>,
    text: String,
}

static CAUSES: LazyLock<Vec<Cause>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Causes {
        cause: Vec<Cause>,
    }
    let text = include_str!("../../data/causes.toml");
    let Causes { cause } = toml::from_str(text).expect("the file is what it is to be");
    cause
});

/// The cause, by the beginning of the peer's name.
pub(super) fn of(motet: &Row, peer: &Row) -> Option<&'static str> {
    let known = CAUSES.iter().find(|cause| {
        cause.peers.iter().any(|name| peer.series.starts_with(name))
            && (cause.experiments.is_empty() || cause.experiments.contains(&motet.experiment))
    });
    known.map(|cause| cause.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::{Point, RowOutcome, SCHEMA};

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
