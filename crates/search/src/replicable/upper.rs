//! The walk above the split depth.

use crate::Bounded;
use crate::best::Maximum;
use crate::job::NodeWork;
use crate::path::Path;

/// Visits what is above the split depth.
pub(super) struct Upper<'p, P: Bounded> {
    pub(super) job: Maximum<&'p P>,
    pub(super) split: usize,
    /// A node at the split depth.
    pub(super) found: Option<(Vec<u32>, P::Node)>,
}

impl<P: Bounded> NodeWork for Upper<'_, P> {
    type Node = P::Node;
    type News = ();
    type Part = ();

    fn visit(&mut self, node: &P::Node, path: &Path<'_, P::Node>) -> bool {
        if path.depth() == self.split {
            self.found = Some((path.to_vec(), node.clone()));
            return false;
        }
        self.job.visit(node, path)
    }

    fn children(&self, node: &P::Node, out: &mut Vec<P::Node>) {
        self.job.children(node, out);
    }

    fn news(&mut self) -> Option<()> {
        None
    }

    fn hear(&mut self, (): ()) -> bool {
        false
    }

    fn part(&mut self) -> Option<()> {
        None
    }

    fn pruned(&self) -> u64 {
        self.job.pruned()
    }
}
