//! The experiments, one file each; `bench/README.md` lists them.

pub mod annealing;
pub(crate) mod core;
pub mod exclusive;
pub mod idle;
pub mod oversubscribed;
pub mod quality;
pub(crate) mod ranks;
pub(crate) mod search;
pub(crate) mod sim;
pub mod soak;
pub mod stages;
