//! How the ranks of a world are started, watched and waited for.

mod solo;
mod threads;

pub(crate) use solo::run_solo;
pub(crate) use threads::{ThreadsConfig, run_threads};
