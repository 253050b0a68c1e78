//! Results as the bytes that a pickle holds.

use crate::errors::MotetError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a class gives to `pickle`: its function `from_bytes`, and the bytes.
pub(crate) type PickleParts<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// The value that the bytes hold.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    postcard::from_bytes(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What an object of class `C` with this value gives to `pickle`.
pub(crate) fn reduced<'py, C: PyTypeInfo>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<PickleParts<'py>> {
    let bytes = postcard::to_stdvec(value);
    let bytes = bytes.map_err(|error| MotetError::new_err(error.to_string()))?;
    let read = py.get_type::<C>().getattr("from_bytes")?;
    Ok((read, (PyBytes::new(py, &bytes),)))
}
