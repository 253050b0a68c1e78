//! Errors, as Python has them.

use motet::RunError;
use motet::mining::{DataError, MiningError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    motet,
    MotetError,
    PyException,
    "What goes wrong that is not the fault of an argument."
);
create_exception!(motet, Cancelled, MotetError, "A run was stopped.");
create_exception!(
    motet,
    FewDistinct,
    PyValueError,
    "More clusters are asked for than there are different points; `distinct` is how many there are."
);

/// Data and parameters are a `ValueError`.
pub(crate) fn of_mining(error: &MiningError) -> PyErr {
    let said = error.to_string();
    match error {
        MiningError::Data(error) => of_data(error),
        MiningError::Parameter(error) => PyValueError::new_err(error.to_string()),
        MiningError::FewDistinctPoints { distinct, .. } => few_distinct(said, *distinct),
        MiningError::FewPoints { .. }
        | MiningError::Degenerate { .. }
        | MiningError::Impossible { .. } => PyValueError::new_err(said),
        MiningError::Cancelled => Cancelled::new_err(said),
        MiningError::Comm(error) => MotetError::new_err(error.to_string()),
        _ => MotetError::new_err(said),
    }
}

fn few_distinct(said: String, distinct: usize) -> PyErr {
    let error = FewDistinct::new_err(said);
    let told = Python::attach(|py| error.value(py).setattr("distinct", distinct));
    match told {
        Ok(()) => error,
        Err(fault) => fault,
    }
}

pub(crate) fn of_data(error: &DataError) -> PyErr {
    let said = error.to_string();
    match error {
        DataError::Memory { .. } => PyMemoryError::new_err(said),
        _ => PyValueError::new_err(said),
    }
}

/// Room for so many values, or the error that there is none: Python alone would have had it.
pub(crate) fn room_for<T>(what: &str, count: usize) -> PyResult<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(count) {
        Ok(()) => Ok(room),
        Err(_) => Err(PyMemoryError::new_err(format!(
            "{what} would take {} bytes, and there is not so much memory: give less",
            count.saturating_mul(size_of::<T>())
        ))),
    }
}

/// What ends a run on some ranks.
pub(crate) fn of_run(error: &RunError<MiningError>) -> PyErr {
    match error {
        RunError::Rank { error, .. } => of_mining(error),
        other => MotetError::new_err(other.to_string()),
    }
}
