//! Problems made of others.

use crate::{Bounded, Tree};
use std::cmp::Reverse;

/// Any node that is accepted, as a solution that is as good as all others.
#[derive(Clone)]
pub(crate) struct AcceptedNode<T, F> {
    pub(crate) tree: T,
    pub(crate) wanted: F,
}

/// The least value, as the greatest.
#[derive(Clone)]
pub(crate) struct Downwards<P>(pub(crate) P);

impl<T: Tree, F> Tree for AcceptedNode<T, F> {
    type Node = T::Node;

    fn root(&self) -> T::Node {
        self.tree.root()
    }

    #[inline]
    fn children(&self, node: &T::Node, out: &mut Vec<T::Node>) {
        self.tree.children(node, out);
    }
}

impl<T: Tree, F: Fn(&T::Node) -> bool> Bounded for AcceptedNode<T, F> {
    type Value = ();

    #[inline]
    fn value(&self, node: &T::Node) -> Option<()> {
        (self.wanted)(node).then_some(())
    }

    #[inline]
    fn bound(&self, _: &T::Node) {}
}

impl<P: Tree> Tree for Downwards<P> {
    type Node = P::Node;

    fn root(&self) -> P::Node {
        self.0.root()
    }

    #[inline]
    fn children(&self, node: &P::Node, out: &mut Vec<P::Node>) {
        self.0.children(node, out);
    }
}

impl<P: Bounded> Bounded for Downwards<P> {
    type Value = Reverse<P::Value>;

    #[inline]
    fn value(&self, node: &P::Node) -> Option<Reverse<P::Value>> {
        self.0.value(node).map(Reverse)
    }

    #[inline]
    fn bound(&self, node: &P::Node) -> Reverse<P::Value> {
        Reverse(self.0.bound(node))
    }
}
