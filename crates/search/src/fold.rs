//! Folding a tree: one value of all nodes.

use crate::Tree;
use crate::job::NodeWork;
use crate::path::Path;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Folds the nodes of each piece on its own.
pub(crate) struct Fold<T, Z, V, A> {
    pub(crate) tree: T,
    pub(crate) zero: Z,
    /// Takes a node in, and says whether to look below it.
    pub(crate) visit: V,
    pub(crate) value: A,
}

/// A piece that was walked, and what it has come to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Segment<A> {
    pub(crate) number: u64,
    /// The pieces that were cut off its end, in the order in which they were.
    pub(crate) given: Vec<u64>,
    pub(crate) part: A,
}

impl<T: Tree, Z: Fn() -> A, V: FnMut(&mut A, &T::Node) -> bool, A: motet_comm::Value> NodeWork
    for Fold<T, Z, V, A>
{
    type Node = T::Node;
    type News = ();
    type Part = A;

    #[inline]
    fn visit(&mut self, node: &T::Node, _: &Path<'_, T::Node>) -> bool {
        (self.visit)(&mut self.value, node)
    }

    #[inline]
    fn children(&self, node: &T::Node, out: &mut Vec<T::Node>) {
        self.tree.children(node, out);
    }

    fn news(&mut self) -> Option<()> {
        None
    }

    fn hear(&mut self, (): ()) -> bool {
        false
    }

    fn part(&mut self) -> Option<A> {
        let zero = (self.zero)();
        Some(std::mem::replace(&mut self.value, zero))
    }

    fn pruned(&self) -> u64 {
        0
    }
}

/// Combines the parts in the order of the tree. Of a search that was stopped some are missing.
pub(crate) fn combine<A>(
    first: u64,
    segments: impl IntoIterator<Item = Segment<A>>,
    zero: A,
    mut combine: impl FnMut(A, A) -> A,
) -> A {
    let by_number = |segment: Segment<A>| (segment.number, (segment.given, segment.part));
    let mut segments: HashMap<u64, _> = segments.into_iter().map(by_number).collect();
    let (mut total, mut next) = (zero, vec![first]);
    while let Some(number) = next.pop() {
        if let Some((given, part)) = segments.remove(&number) {
            total = combine(total, part);
            // Each piece was cut off before the ones that were cut off earlier.
            next.extend(given);
        }
    }
    total
}
