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

/// What the bytes of a value begin with: they do not say themselves which fields they hold.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The value that the bytes hold, which this version has written.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    let damaged = |error: postcard::Error| {
        PyValueError::new_err(format!("this is no pickle of motet {VERSION}: {error}"))
    };
    let (version, rest) = postcard::take_from_bytes::<String>(bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(PyValueError::new_err(format!(
            "this was pickled by motet {version}, and motet {VERSION} may read it wrongly: \
             fit again, or unpickle it by that version"
        )));
    }
    postcard::from_bytes(rest).map_err(damaged)
}

/// What an object of class `C` with this value gives to `pickle`.
pub(crate) fn reduced<'py, C: PyTypeInfo>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<PickleParts<'py>> {
    let bytes = postcard::to_stdvec(&(VERSION, value));
    let bytes = bytes.map_err(|error| MotetError::new_err(error.to_string()))?;
    let read = py.get_type::<C>().getattr("from_bytes")?;
    Ok((read, (PyBytes::new(py, &bytes),)))
}
