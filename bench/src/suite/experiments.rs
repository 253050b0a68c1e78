//! The experiments, one file each, named after the papers' number.

pub(super) mod e01_unit;
