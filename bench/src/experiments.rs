//! The experiments, one file each; `bench/README.md` lists them.

pub mod crowded;
pub mod idle;
pub mod soak;
pub mod stages;
