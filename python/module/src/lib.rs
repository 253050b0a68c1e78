//! The file that Python loads. All of it is `motet-python`; this crate links it.
//!
//! It is a crate of its own for what profiles say by crate. Passes over the whole unit are those of
//! the linked crate, so that is compiled for speed. `motet-python` holds what each type of fits and
//! messages instantiates, and is compiled for size. See
//! `docs/adr/0048-small-where-nothing-computes.md`.
//!
//! - Depends on: `motet-python`.
//! - Used by: `python/motet`, as `_motet`.
#![forbid(unsafe_code)]

// Its `PyInit__motet` is what Python calls.
pub use motet_python::python_module;
