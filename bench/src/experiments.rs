//! The experiments, one file each; `bench/README.md` lists them.

pub mod annealing;
pub mod core;
pub mod crowded;
pub mod exclusive;
pub mod idle;
pub mod quality;
pub mod ranks;
pub mod search;
pub mod sim;
pub mod soak;
pub mod stages;
