//! The experiments there are.

use super::experiment::Experiment;
use super::experiments::{
    against_stages::{E03, E04, E05, E15},
    clustering::{E12, E18},
    container::E10,
    copies::{E07, E08},
    drawings::{E02, E11, E13},
    forms_of_code::E36,
    gene_clusters::E24,
    generators::R147,
    kernel::{E20, E22, E23},
    layouts::experiments::{E25, E26, E27, E28, E29, E30, E31, E32, R154, R155},
    map_reduce::R124,
    products::{E33, E34, E35},
    separation::E19,
    services::{E09, E17},
    stage_overheads::{E06, E14, E16, E21, R131, R163},
    unit::E01,
};
use thiserror::Error;

/// All of them, in the papers' order.
static ALL: &[&Experiment] = &[
    &E01, &E02, &E03, &E04, &E05, &E06, &E07, &E08, &E09, &E10, &E11, &E12, &E13, &E14, &E15, &E16,
    &E17, &E18, &E19, &E20, &E21, &E22, &E23, &E24, &E25, &E26, &E27, &E28, &E29, &E30, &E31, &E32,
    &E33, &E34, &E35, &E36, &R124, &R131, &R147, &R154, &R155, &R163,
];

/// All experiments, in the papers' order.
#[must_use]
pub fn all() -> &'static [&'static Experiment] {
    ALL
}

/// The experiments with this key or name, in either case of letters; `all` are those of the papers,
/// and `limits` those that explain limits which the papers leave open.
///
/// # Errors
/// [`Unknown`], which lists the names there are.
///
/// ```
/// use motet_bench::suite::find;
///
/// assert_eq!(find("e01").unwrap()[0].key, "E01");
/// assert!(find("E99").is_err());
/// ```
pub fn find(name: &str) -> Result<Vec<&'static Experiment>, Unknown> {
    let wanted = |experiment: &&&Experiment| match name {
        "all" => experiment.key.starts_with('E'),
        "limits" => !experiment.key.starts_with('E'),
        name => {
            experiment.key.eq_ignore_ascii_case(name)
                || experiment.about().name.eq_ignore_ascii_case(name)
        }
    };
    let found: Vec<_> = ALL.iter().filter(wanted).copied().collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Unknown(name.to_owned())),
    }
}

/// There is no experiment of this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no experiment {0}: name all, limits, or one of {keys}",
    keys = ALL.iter().map(|e| e.key).collect::<Vec<_>>().join(", ")
)]
pub struct Unknown(pub String);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_and_names_are_unique() {
        let keys: BTreeSet<&str> = ALL.iter().map(|e| e.key).collect();
        let names: BTreeSet<&str> = ALL.iter().map(|e| e.about().name.as_str()).collect();
        assert_eq!((keys.len(), names.len()), (ALL.len(), ALL.len()));
        let (papers, limits) = (find("all").unwrap().len(), find("limits").unwrap().len());
        assert_eq!((papers + limits, papers), (ALL.len(), 36));
        assert!(keys.is_disjoint(&names));
    }

    #[test]
    fn every_experiment_is_in_the_paper_map() {
        let map = include_str!("../../../docs/PAPER-MAP.md");
        for experiment in ALL {
            let row = format!("| {}", experiment.key);
            assert!(map.contains(&row), "{row} …: a row belongs there");
        }
    }

    #[test]
    fn keys_are_found_in_order() {
        let keys: Vec<&str> = ALL.iter().map(|e| e.key).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        for key in keys {
            assert_eq!(find(&key.to_lowercase()).unwrap()[0].key, key);
        }
        let unknown = find("E99").err().unwrap().to_string();
        assert!(
            unknown.contains("E99") && unknown.contains("E01"),
            "{unknown}"
        );
    }
}
