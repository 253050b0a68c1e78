//! What the program tells about its tree.

use motet_comm::Value;
use std::sync::Arc;

/// A tree that is given by its root and by the children of each node.
///
/// ```
/// use motet_search::Tree;
///
/// /// Words of the letters a and b.
/// struct Words {
///     longest: usize,
/// }
///
/// impl Tree for Words {
///     type Node = String;
///     fn root(&self) -> String {
///         String::new()
///     }
///     fn children(&self, word: &String, out: &mut Vec<String>) {
///         if word.len() < self.longest {
///             out.extend(["a", "b"].map(|letter| word.clone() + letter));
///         }
///     }
/// }
/// ```
pub trait Tree {
    /// A node holds what its subtree depends on. Ranks of one process move nodes; between processes
    /// serde writes them.
    type Node: Value + Clone + Sync;

    /// The root.
    fn root(&self) -> Self::Node;

    /// Appends the children of a node to `out`, the most promising first.
    ///
    /// `out` is empty. It is called at most once for each node.
    fn children(&self, node: &Self::Node, out: &mut Vec<Self::Node>);
}

/// A tree some of whose nodes are solutions that have a value.
///
/// [`Search::maximise`](crate::Search::maximise) looks for the greatest value, and `bound` is at
/// least every value in the subtree. [`minimise`](crate::Search::minimise) and
/// [`deepen`](crate::Search::deepen) look for the least, and `bound` is at most every value in the
/// subtree. A bound that promises too little hides solutions.
pub trait Bounded: Tree {
    /// What solutions are compared by.
    type Value: Ord + Copy + Value + Sync + std::fmt::Debug;

    /// The value of the solution that the node is, if it is one.
    fn value(&self, node: &Self::Node) -> Option<Self::Value>;

    /// No solution in the subtree of the node, the node included, is better than this.
    fn bound(&self, node: &Self::Node) -> Self::Value;
}

/// A game of two who move in turn. The children of a node are the positions after each move.
pub trait Game: Tree {
    /// The value of the position for the one who is to move, if the game is over there. `i32::MIN`
    /// counts as `-i32::MAX`.
    ///
    /// With `depth` 0 it must be `Some`: then it is an estimate. A position without moves is over,
    /// too.
    fn leaf(&self, node: &Self::Node, depth: u32) -> Option<i32>;

    /// A number that equal positions share and no others do; what the table of values is kept by.
    fn key(&self, node: &Self::Node) -> u64;
}

/// A reference to a tree, and an `Arc` of one, are trees themselves.
macro_rules! by_pointer {
    ($($pointer:ty),*) => {$(
        impl<T: Tree> Tree for $pointer {
            type Node = T::Node;

            fn root(&self) -> T::Node {
                T::root(self)
            }

            #[inline]
            fn children(&self, node: &T::Node, out: &mut Vec<T::Node>) {
                T::children(self, node, out);
            }
        }

        impl<T: Bounded> Bounded for $pointer {
            type Value = T::Value;

            #[inline]
            fn value(&self, node: &T::Node) -> Option<T::Value> {
                T::value(self, node)
            }

            #[inline]
            fn bound(&self, node: &T::Node) -> T::Value {
                T::bound(self, node)
            }
        }
    )*};
}

by_pointer!(&T, Arc<T>);
