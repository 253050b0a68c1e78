//! The experiments there are.

use super::experiment::{Experiment, MakeCases};
use super::experiments as e;
use serde::Deserialize;
use std::sync::LazyLock;
use thiserror::Error;

/// What each of them measures, in the papers' order.
const MEASURED: &[(&str, MakeCases)] = &[
    ("E01", e::unit::e01),
    ("E02", e::drawings::e02),
    ("E03", e::against_stages::e03),
    ("E04", e::against_stages::e04),
    ("E05", e::against_stages::e05),
    ("E06", e::stage_overheads::e06),
    ("E07", e::copies::e07),
    ("E08", e::copies::e08),
    ("E09", e::services::e09),
    ("E10", e::container::e10),
    ("E11", e::drawings::e11),
    ("E12", e::clustering::e12),
    ("E13", e::drawings::e13),
    ("E14", e::stage_overheads::e14),
    ("E15", e::against_stages::e15),
    ("E16", e::stage_overheads::e16),
    ("E17", e::services::e17),
    ("E18", e::clustering::e18),
    ("E19", e::separation::e19),
    ("E20", e::kernel::e20),
    ("E21", e::stage_overheads::e21),
    ("E22", e::kernel::e22),
    ("E23", e::kernel::e23),
    ("E24", e::gene_clusters::e24),
    ("E25", e::layouts::experiments::e25),
    ("E26", e::layouts::experiments::e26),
    ("E27", e::layouts::experiments::e27),
    ("E28", e::layouts::experiments::e28),
    ("E29", e::layouts::experiments::e29),
    ("E30", e::layouts::experiments::e30),
    ("E31", e::layouts::experiments::e31),
    ("E32", e::layouts::experiments::e32),
    ("E33", e::products::e33),
    ("E34", e::products::e34),
    ("E35", e::products::e35),
    ("E36", e::forms_of_code::e36),
    ("R124", e::map_reduce::r124),
    ("R131", e::stage_overheads::r131),
    ("R147", e::generators::r147),
    ("R154", e::layouts::experiments::r154),
    ("R155", e::layouts::experiments::r155),
    ("R163", e::stage_overheads::r163),
];

/// All of them, in the order of the file, which is the papers'.
static ALL: LazyLock<Vec<Experiment>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Described {
        experiment: Vec<Experiment>,
    }
    let text = include_str!("../../data/experiments.toml");
    let Described { experiment: all } = toml::from_str(text).expect("the file is what it is to be");
    let named = |key: &str| all.iter().find(|experiment| experiment.key == key);
    let whole = |experiment: &Experiment| {
        let mut experiment = experiment.clone();
        if let Some(other) = experiment.like.as_deref().and_then(named) {
            if experiment.definition.is_empty() {
                experiment.definition.clone_from(&other.definition);
            }
            if experiment.parameters.is_empty() {
                experiment.parameters.clone_from(&other.parameters);
            }
        }
        let mut measured = MEASURED.iter();
        if let Some((_, cases)) = measured.find(|(key, _)| *key == experiment.key) {
            experiment.cases = *cases;
        }
        experiment
    };
    all.iter().map(whole).collect()
});

/// All experiments, in the papers' order.
#[must_use]
pub fn all() -> Vec<&'static Experiment> {
    ALL.iter().collect()
}

/// The experiments with this key or name, in either case of letters. `all` are those of the papers.
/// `limits` are those that explain limits which the papers leave open.
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
    let wanted = |experiment: &&Experiment| match name {
        "all" => experiment.key.starts_with('E'),
        "limits" => !experiment.key.starts_with('E'),
        name => {
            let names = [&experiment.key, &experiment.name];
            names.iter().any(|known| known.eq_ignore_ascii_case(name))
        }
    };
    let found: Vec<&Experiment> = ALL.iter().filter(wanted).collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Unknown(name.to_owned())),
    }
}

/// There is no experiment of this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no experiment {0}: name all, limits, or one of {keys}",
    keys = ALL.iter().map(|e| e.key.as_str()).collect::<Vec<_>>().join(", ")
)]
pub struct Unknown(pub String);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_and_names_are_unique() {
        let keys: BTreeSet<&str> = ALL.iter().map(|e| e.key.as_str()).collect();
        let names: BTreeSet<&str> = ALL.iter().map(|e| e.name.as_str()).collect();
        assert_eq!((keys.len(), names.len()), (ALL.len(), ALL.len()));
        let (papers, limits) = (find("all").unwrap().len(), find("limits").unwrap().len());
        assert_eq!((papers + limits, papers), (ALL.len(), 36));
        assert!(keys.is_disjoint(&names));
    }

    #[test]
    fn what_is_described_is_measured() {
        let described: Vec<&str> = ALL.iter().map(|e| e.key.as_str()).collect();
        let measured: Vec<&str> = MEASURED.iter().map(|(key, _)| *key).collect();
        assert_eq!(described, measured);
        for experiment in ALL.iter() {
            let like = experiment.like.as_deref();
            assert!(like.is_none_or(|key| described.contains(&key)), "{like:?}");
            assert!(!experiment.definition.is_empty(), "{}", experiment.key);
            assert!(!experiment.parameters.is_empty(), "{}", experiment.key);
        }
    }

    #[test]
    fn every_experiment_is_in_the_paper_map() {
        let map = include_str!("../../../docs/PAPER-MAP.md");
        for experiment in ALL.iter() {
            let row = format!("| {}", experiment.key);
            assert!(map.contains(&row), "{row} …: a row belongs there");
        }
    }

    #[test]
    fn keys_are_found_in_order() {
        let keys: Vec<&str> = ALL.iter().map(|e| e.key.as_str()).collect();
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
