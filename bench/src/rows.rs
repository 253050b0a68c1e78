//! The rows of [`core`](crate::core): one file per question.

pub(crate) mod fork_join;
pub(crate) mod handlers;
pub(crate) mod interleaves;
pub(crate) mod joins;
pub(crate) mod posters;
pub(crate) mod spawned_stages;
pub(crate) mod threads;
