//! What is done at each node.

use crate::path::Path;
use motet_comm::Value;

/// What a search does at each node, on one rank.
pub(crate) trait NodeWork {
    type Node: Value;
    /// What ranks tell each other while they search.
    type News: Value + Clone;
    /// What a piece of the tree has come to.
    type Part: Value;

    /// Looks at a node; whether to look below it.
    fn visit(&mut self, node: &Self::Node, path: &Path<'_, Self::Node>) -> bool;

    /// As [`Tree::children`](crate::Tree::children).
    fn children(&self, node: &Self::Node, out: &mut Vec<Self::Node>);

    /// What the rank has found since it was asked last.
    fn news(&mut self) -> Option<Self::News>;

    /// Another rank has found this; whether that is better than what was known here.
    fn hear(&mut self, news: Self::News) -> bool;

    /// What the piece that ends has come to.
    fn part(&mut self) -> Option<Self::Part>;

    /// The nodes that were left out with all below them.
    fn pruned(&self) -> u64;
}
