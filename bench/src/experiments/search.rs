//! Search: what a node of a tree costs when ranks search it, beside plain programs and rayon (R052,
//! R100).
//!
//! Question: does a search of a tree that nobody can split in advance cost what the tree costs?
//! Definition: time of the whole search over the number of nodes, on one thread and on all. Method:
//! that of [`core`](crate::experiments::core). Threats: those of `core`; the peers of rayon are in
//! `bench/src/rows/trees.rs`, and each is the better of two forms.

use crate::measuring::Setting;
use crate::rows::trees;
use crate::selection::RepeatedRows;

/// All rows.
pub(crate) fn groups(setting: &Setting) -> Vec<RepeatedRows> {
    let rounds = setting.by_effort(1, 3, 9);
    vec![(trees::contests(setting.config().effort), rounds)]
}
