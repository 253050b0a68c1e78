//! The experiments there are.

use super::experiment::Experiment;
use super::experiments as e;
use std::fmt;

/// All of them, in the papers' order.
static ALL: &[&dyn Experiment] = &[
    &e::e01_unit::UnitTime,
    &e::e02_structure::Structure,
    &e::e03_four::Four,
    &e::e04_two::Two,
    &e::e05_exchange::Exchange,
    &e::e06_patterns::Patterns,
    &e::e07_stage_bandwidth::StageBandwidth,
    &e::e08_size_bandwidth::SizeBandwidth,
    &e::e09_services::Services,
    &e::e10_container::WebContainer,
    &e::e11_models::Models,
    &e::e12_grain_size::GrainSize,
    &e::e13_drawings::Drawings,
    &e::e14_modes::Modes,
    &e::e15_rendezvous::RendezvousRanks,
    &e::e16_java_mpi::JavaMpi,
    &e::e17_service_latency::ServiceLatency,
    &e::e18_clusters::ClusterCount,
    &e::e19_separation::Separation,
    &e::e20_clustering_kernel::ClusteringKernel,
    &e::e21_exchange_latency::ExchangeLatency,
    &e::e22_fluctuation::Fluctuation,
    &e::e23_spread::SpreadThreads,
    &e::e24_gene_clusters::GeneClusters,
    &e::e25_pattern_time::PatternTime,
    &e::e26_thread_overhead::ThreadOverhead,
    &e::e27_low_parallelism::LowParallelism,
    &e::e28_size_threads::SizeThreads,
    &e::e29_difference_threads::DifferenceThreads,
    &e::e30_process_overhead::ProcessOverhead,
    &e::e31_size_processes::SizeProcesses,
    &e::e32_difference_processes::DifferenceProcesses,
    &e::e33_matrix_multiplication::MatrixMultiplication,
    &e::e34_matrix_efficiency::MatrixEfficiency,
    &e::e35_matrix_machines::MatrixMachines,
    &e::e36_forms_of_code::FormsOfCode,
    &e::r124_map_reduce::MapReduce,
    &e::r131_computations::Computations,
    &e::r147_generators::Generators,
    &e::r154_large_processes::LargeProcesses,
    &e::r155_linear_models::LinearModels,
    &e::r163_tiny_stages::TinyStages,
];

/// Whether an experiment is one of the papers', and none that explains a limit of theirs.
fn is_of_papers(experiment: &dyn Experiment) -> bool {
    experiment.about().key.starts_with('E')
}

/// All experiments, in the papers' order.
#[must_use]
pub fn all() -> &'static [&'static dyn Experiment] {
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
/// assert_eq!(find("e01").unwrap()[0].about().key, "E01");
/// assert!(find("E99").is_err());
/// ```
pub fn find(name: &str) -> Result<Vec<&'static dyn Experiment>, Unknown> {
    let some = |of_papers| {
        let wanted = |experiment: &&&dyn Experiment| is_of_papers(**experiment) == of_papers;
        ALL.iter().filter(wanted).copied().collect()
    };
    match name {
        "all" => return Ok(some(true)),
        "limits" => return Ok(some(false)),
        _ => {}
    }
    let named = |experiment: &&&dyn Experiment| {
        let about = experiment.about();
        about.key.eq_ignore_ascii_case(name) || about.name.eq_ignore_ascii_case(name)
    };
    match ALL.iter().find(named) {
        Some(experiment) => Ok(vec![*experiment]),
        None => Err(Unknown(name.to_owned())),
    }
}

/// There is no experiment of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(pub String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = ALL.iter().map(|e| e.about().key).collect();
        write!(
            f,
            "there is no experiment {}: name all, limits, or one of {}",
            self.0,
            keys.join(", ")
        )
    }
}

impl std::error::Error for Unknown {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_and_names_are_unique() {
        let keys: BTreeSet<&str> = ALL.iter().map(|e| e.about().key).collect();
        let names: BTreeSet<&str> = ALL.iter().map(|e| e.about().name).collect();
        assert_eq!((keys.len(), names.len()), (ALL.len(), ALL.len()));
        let (papers, limits) = (find("all").unwrap().len(), find("limits").unwrap().len());
        assert_eq!((papers + limits, papers), (ALL.len(), 36));
        assert!(keys.is_disjoint(&names));
    }

    #[test]
    fn every_experiment_is_in_the_paper_map() {
        let map = include_str!("../../../docs/PAPER-MAP.md");
        for experiment in ALL {
            let row = format!("| {}", experiment.about().key);
            assert!(map.contains(&row), "{row} …: a row belongs there");
        }
    }

    #[test]
    fn keys_are_found_in_order() {
        let keys: Vec<&str> = ALL.iter().map(|e| e.about().key).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        for key in keys {
            assert_eq!(find(&key.to_lowercase()).unwrap()[0].about().key, key);
        }
        let unknown = find("E99").err().unwrap().to_string();
        assert!(
            unknown.contains("E99") && unknown.contains("E01"),
            "{unknown}"
        );
    }
}
