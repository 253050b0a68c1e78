//! The program, in the interpreter's process.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program `motet` with these arguments, the first of which is its name; its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| motet_cli::status(arguments))
}
