//! t × m × n: how p cores are cut into threads, processes and nodes.

use crate::kernels::thread_counts;

/// Threads in each of so many processes on each of so many nodes: t × m × n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadLayout {
    pub(super) threads: usize,
    pub(super) processes: usize,
    pub(super) nodes: usize,
}

/// Threads alone in one node: t × 1 × 1.
pub(super) fn threads_only() -> Vec<ThreadLayout> {
    several(|layout| layout.processes == 1 && layout.nodes == 1)
}

/// Processes alone in one node: 1 × m × 1.
pub(super) fn processes_only() -> Vec<ThreadLayout> {
    several(|layout| layout.threads == 1 && layout.nodes == 1)
}

/// Threads alone in each node: t × 1 × n.
pub(super) fn threads_in_nodes() -> Vec<ThreadLayout> {
    several(|layout| layout.processes == 1)
}

/// Processes alone in each node: 1 × m × n.
pub(super) fn processes_in_nodes() -> Vec<ThreadLayout> {
    several(|layout| layout.threads == 1)
}

/// All patterns of few cores.
pub(super) fn low() -> Vec<ThreadLayout> {
    several(|layout| layout.p() < 64)
}

/// Layouts of more than one core: one has no overhead by definition.
fn several(wanted: fn(&ThreadLayout) -> bool) -> Vec<ThreadLayout> {
    let all = ThreadLayout::all().into_iter();
    all.filter(|layout| layout.p() > 1 && wanted(layout))
        .collect()
}

impl ThreadLayout {
    /// One thread.
    pub(super) const ALONE: ThreadLayout = ThreadLayout {
        threads: 1,
        processes: 1,
        nodes: 1,
    };

    /// All cuts of p, for each number of threads up to the cores; those of one node first.
    pub(super) fn all() -> Vec<ThreadLayout> {
        let factors = |p: usize| (1..=p).filter(move |factor| p.is_multiple_of(*factor));
        let cuts = |p: usize| {
            let nodes = factors(p).flat_map(move |nodes| {
                let processes = factors(p / nodes);
                processes.map(move |processes| (nodes, processes))
            });
            nodes.map(move |(nodes, processes)| ThreadLayout {
                threads: p / nodes / processes,
                processes,
                nodes,
            })
        };
        thread_counts().into_iter().flat_map(cuts).collect()
    }

    /// t × m × n.
    pub(super) fn p(self) -> usize {
        self.threads * self.processes * self.nodes
    }

    /// Nothing of it needs MPI.
    pub(super) fn is_one_process(self) -> bool {
        self.processes * self.nodes == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_sync::thread;

    #[test]
    fn every_layout_has_its_cores() {
        let all = ThreadLayout::all();
        assert_eq!(all[0], ThreadLayout::ALONE);
        let cores = thread::cores();
        let full: Vec<&ThreadLayout> = all.iter().filter(|layout| layout.p() == cores).collect();
        // Threads, processes, nodes.
        assert!(full.len() >= if cores > 1 { 3 } else { 1 });
        let of_one = |layout: &&&ThreadLayout| layout.nodes == 1;
        assert_eq!(
            full.iter().take_while(of_one).count(),
            full.iter().filter(of_one).count()
        );
        assert!(all.iter().all(|layout| layout.p() <= cores));
        for (number, layout) in all.iter().enumerate() {
            assert!(!all[..number].contains(layout), "{layout:?} is there twice");
        }
    }
}
