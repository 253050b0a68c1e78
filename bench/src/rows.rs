//! The rows of [`core`](crate::experiments::core) and [`ranks`](crate::experiments::ranks): one
//! file per question.

pub(crate) mod events;
pub(crate) mod fork_join;
pub(crate) mod handlers;
pub(crate) mod interleaves;
pub(crate) mod joins;
pub(crate) mod long_messages;
pub(crate) mod many_ranks;
pub(crate) mod over_processes;
pub(crate) mod pairwise_steps;
pub(crate) mod posters;
pub(crate) mod rank_collectives;
pub(crate) mod rank_stages;
pub(crate) mod spawned_stages;
pub(crate) mod threads;
pub(crate) mod trees;
pub(crate) mod windows;
