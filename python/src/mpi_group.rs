//! Groups of ranks.

use motet::comm::Group;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An ordered set of ranks of the world.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct MpiGroup(pub(crate) Group);

#[pymethods]
impl MpiGroup {
    /// The group of no rank.
    #[new]
    fn new() -> MpiGroup {
        MpiGroup(Group::empty())
    }

    /// The ranks of the world in it, in its order.
    #[getter]
    fn ranks(&self) -> Vec<usize> {
        self.0.ranks().to_vec()
    }

    fn union(&self, other: &MpiGroup) -> MpiGroup {
        MpiGroup(self.0.union(&other.0))
    }

    fn intersection(&self, other: &MpiGroup) -> MpiGroup {
        MpiGroup(self.0.intersection(&other.0))
    }

    fn difference(&self, other: &MpiGroup) -> MpiGroup {
        MpiGroup(self.0.difference(&other.0))
    }

    fn incl(&self, ranks: Vec<usize>) -> PyResult<MpiGroup> {
        let made = self.0.incl(&ranks).map(MpiGroup);
        made.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn excl(&self, ranks: Vec<usize>) -> PyResult<MpiGroup> {
        let made = self.0.excl(&ranks).map(MpiGroup);
        made.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The places of its ranks in another group.
    fn translate(&self, ranks: Vec<usize>, other: &MpiGroup) -> Vec<Option<usize>> {
        self.0.translate(&ranks, &other.0)
    }

    fn is_same(&self, other: &MpiGroup) -> bool {
        self.0 == other.0
    }

    fn is_similar(&self, other: &MpiGroup) -> bool {
        self.0.is_similar(&other.0)
    }
}
