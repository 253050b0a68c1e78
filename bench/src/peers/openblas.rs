//! OpenBLAS through numpy (`peers/openblas`): a process for each number of threads, which lives as
//! long as the measurement.

use super::python::Python;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

/// The other ends of `peers/openblas/product.py`, by their threads.
#[derive(Debug)]
pub(crate) struct OpenBlas {
    python: PathBuf,
    processes: BTreeMap<usize, Python>,
}

impl OpenBlas {
    /// By this Python; nothing is started yet.
    pub(crate) fn new(python: &Path) -> OpenBlas {
        OpenBlas {
            python: python.to_owned(),
            processes: BTreeMap::new(),
        }
    }

    /// The time of a product in µs, of so many as last about the budget, and its checksum.
    pub(crate) fn product(
        &mut self,
        size: usize,
        threads: usize,
        budget_us: f64,
    ) -> Result<(f64, f64), String> {
        let process = match self.processes.entry(threads) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => place.insert(start(&self.python, threads)?),
        };
        process.ask_two(&format!("{size} {budget_us:.0}"), &[])
    }
}

fn start(python: &Path, threads: usize) -> Result<Python, String> {
    let program = include_str!("../../peers/openblas/product.py");
    let variables = [
        ("OPENBLAS_NUM_THREADS", threads.to_string()),
        // Its threads look for work for 2^26 cycles, which the program waits for before it answers.
        // Some builds take four times as long, and would disturb whoever is measured next.
        ("OPENBLAS_THREAD_TIMEOUT", "26".to_owned()),
    ];
    Python::start(python, ("numpy", program), &variables, "pip install numpy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::matrices::Matrices;

    #[test]
    fn an_absent_program_is_a_reason() {
        let mut peer = OpenBlas::new(Path::new("no-such-python"));
        let reason = peer.product(8, 1, 1.0).unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }

    #[test]
    fn needs_sklearn_it_computes_what_motet_does() {
        let python = std::env::var_os("MOTET_PYTHON")
            .filter(|python| !python.is_empty())
            .expect("MOTET_PYTHON names a Python with scikit-learn");
        let mut peer = OpenBlas::new(Path::new(&python));
        for (size, threads) in [(1, 1), (7, 2), (300, 1), (300, 2)] {
            let (us, sum) = peer.product(size, threads, 1.0).unwrap();
            assert!(us > 0.0);
            assert_eq!(sum, Matrices::known(size), "size {size}");
        }
    }
}
