//! Why a peer is better, where it is known.

use crate::suite::Row;

/// What a peer does that motet does not, or does not have to.
const CAUSES: &[(&str, &[&str], &str)] = &[
    (
        "C floor",
        &[],
        "The floor is no runtime: one pinned thread for each computation, which knows its neighbours and spins on their cache lines; \
         it starts, queues and wakes nothing.",
    ),
    (
        "threads without messages",
        &[],
        "It sends no messages: plain threads do the same copies.",
    ),
    (
        "MPI",
        &[],
        "A process for each rank spins on shared memory and never gives way; it does its own number of stages.",
    ),
    (
        "OpenBLAS",
        &["E33", "E34", "E35"],
        "Its kernel is its own, written for this processor: the rates tell kernels apart, the efficiencies how the work is split.",
    ),
];

/// The cause, by the beginning of the peer's name.
pub(super) fn of(motet: &Row, peer: &Row) -> Option<&'static str> {
    let known = CAUSES.iter().find(|(name, experiments, _)| {
        peer.series.starts_with(name)
            && (experiments.is_empty() || experiments.contains(&motet.experiment.as_str()))
    });
    known.map(|(.., cause)| *cause)
}
