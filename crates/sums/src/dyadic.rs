//! Reductions that give the same bits for any number of ranks.
//!
//! Floating-point addition is not associative, so a sum depends on how it is bracketed. Here the
//! bracketing belongs to the data. The data are cut into numbered blocks of fixed size, and each
//! block gives one value. Block values are combined in one fixed binary tree over block numbers:
//!
//! ```text
//!  level 2            0───────3            4───────7
//!  level 1        0───1   2───3        4───5   6───7
//!  level 0        0   1   2   3        4   5   6   7      block numbers
//! ```
//!
//! A rank holds a contiguous range of blocks, kept as the largest whole subtrees that fit in it.
//! Joining two neighbouring ranges combines siblings only. So every node of the tree is computed
//! from the same two children whoever computes it, and joining is associative.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The partial result of a contiguous range of blocks.
///
/// It holds at most two values per level of the tree: about `2 log2(blocks)` of them, whatever the
/// number of blocks.
///
/// `combine(left, right)` must depend on its arguments alone. It need not be associative or
/// commutative; that is the point. Pass the same one everywhere.
///
/// # Examples
///
/// Two ranks have a share each of five blocks, which an allreduce joins; the bits are those of one
/// rank.
///
/// ```
/// use motet_sums::Dyadic;
///
/// let blocks = [0.1, 0.2, 0.3, 0.4, 0.5];
/// let add = |a: f64, b: f64| a + b;
/// for cut in 0..=blocks.len() {
///     let share = |blocks: &[f64], first| {
///         let mut part = Dyadic::new(first);
///         for &value in blocks {
///             part.push(value, add);
///         }
///         part
///     };
///     let whole = share(&blocks[..cut], 0).join(share(&blocks[cut..], cut), add);
///     assert_eq!(whole.finish(add), Some(((0.1 + 0.2) + (0.3 + 0.4)) + 0.5));
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "T: Serialize + 'static",
    deserialize = "T: Deserialize<'de> + 'static"
))]
pub struct Dyadic<T> {
    blocks: Range<usize>,
    /// Whole subtrees from left to right; together they cover `blocks`.
    trees: Vec<Tree<T>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "T: Serialize + 'static",
    deserialize = "T: Deserialize<'de> + 'static"
))]
struct Tree<T> {
    /// The subtree covers `1 << level` blocks and starts at a multiple of that.
    level: u32,
    /// Long vectors of numbers, in many programs.
    #[serde(with = "crate::numbers")]
    value: T,
}

impl<T> Dyadic<T> {
    /// The empty range that starts at block `first`.
    pub fn new(first: usize) -> Dyadic<T> {
        Dyadic {
            blocks: first..first,
            trees: Vec::new(),
        }
    }

    /// The blocks that are in so far.
    pub fn blocks(&self) -> Range<usize> {
        self.blocks.clone()
    }

    /// Adds the value of the next block, number `self.blocks().end`.
    ///
    /// Costs one `combine` per block on average.
    pub fn push(&mut self, value: T, combine: impl FnMut(T, T) -> T) {
        self.append(Tree { level: 0, value }, combine);
    }

    /// Joins the range that follows this one. A range without blocks joins with any other.
    ///
    /// # Panics
    ///
    /// If `right` does not begin where `self` ends: ranks were then joined out of order, or a
    /// block was left out or counted twice.
    #[must_use]
    pub fn join(mut self, right: Dyadic<T>, mut combine: impl FnMut(T, T) -> T) -> Dyadic<T> {
        if self.trees.is_empty() {
            return right;
        }
        if right.trees.is_empty() {
            return self;
        }
        assert_eq!(
            self.blocks.end, right.blocks.start,
            "joined block ranges must be neighbours: {:?} and {:?}",
            self.blocks, right.blocks
        );
        for tree in right.trees {
            self.append(tree, &mut combine);
        }
        self
    }

    /// The value of the whole range, or `None` if it is empty: the whole subtrees, combined from
    /// the right. Depends on the range and its values only.
    pub fn finish(self, mut combine: impl FnMut(T, T) -> T) -> Option<T> {
        let mut trees = self.trees.into_iter().rev();
        let last = trees.next()?.value;
        Some(trees.fold(last, |right, tree| combine(tree.value, right)))
    }

    /// Puts a subtree at the right end and combines siblings as long as there are any.
    fn append(&mut self, mut tree: Tree<T>, mut combine: impl FnMut(T, T) -> T) {
        let mut start = self.blocks.end;
        self.blocks.end += 1 << tree.level;
        // A subtree is a right child exactly when its number within its level is odd.
        while start >> tree.level & 1 == 1 {
            let Some(left) = self.trees.pop_if(|left| left.level == tree.level) else {
                break;
            };
            start -= 1 << tree.level;
            tree = Tree {
                level: tree.level + 1,
                value: combine(left.value, tree.value),
            };
        }
        self.trees.push(tree);
    }
}

#[cfg(test)]
mod tests {
    use super::Dyadic;
    use proptest::prelude::*;

    /// Not associative and not commutative, so that any other bracketing shows.
    fn bracket(left: String, right: String) -> String {
        format!("({})", [left, right].concat())
    }

    fn letters(blocks: std::ops::Range<usize>) -> Dyadic<String> {
        let mut part = Dyadic::new(blocks.start);
        for block in blocks {
            part.push(format!("{block},"), bracket);
        }
        part
    }

    #[test]
    fn whole_range_is_the_aligned_tree() {
        let whole = letters(0..7).finish(bracket).unwrap();
        assert_eq!(whole, "(((0,1,)(2,3,))((4,5,)6,))");
    }

    #[test]
    fn range_that_starts_inside_a_subtree() {
        let tail = letters(3..8).finish(bracket).unwrap();
        assert_eq!(tail, "(3,((4,5,)(6,7,)))");
    }

    #[test]
    fn nothing_finishes_as_nothing() {
        assert_eq!(Dyadic::<f64>::new(4).finish(|a, b| a + b), None);
    }

    #[test]
    fn memory_grows_with_the_logarithm() {
        let mut part = Dyadic::new(1);
        for block in 1..10_000_u64 {
            part.push(block, |a, b| a + b);
        }
        assert!(
            part.trees.len() <= 2 * 14,
            "{} subtrees are held",
            part.trees.len()
        );
        assert_eq!(part.finish(|a, b| a + b), Some(9_999 * 10_000 / 2));
    }

    #[test]
    #[should_panic(expected = "must be neighbours")]
    fn gap_is_noticed() {
        let _ = letters(0..2).join(letters(3..4), bracket);
    }

    proptest! {
        #[test]
        fn sem_g78_any_cut_gives_the_one_piece_result(
            blocks in 1_usize..200,
            cuts in prop::collection::vec(0_usize..200, 0..9),
            from_the_right in any::<bool>(),
        ) {
            let mut edges: Vec<usize> = cuts.into_iter().map(|cut| cut.min(blocks)).collect();
            edges.extend([0, blocks]);
            edges.sort_unstable();
            let parts = edges.windows(2).map(|edge| letters(edge[0]..edge[1]));
            let join = |left: Dyadic<String>, right| left.join(right, bracket);
            let whole = if from_the_right {
                parts.rev().reduce(|right, left| join(left, right)).unwrap()
            } else {
                parts.reduce(join).unwrap()
            };
            prop_assert_eq!(&whole, &letters(0..blocks));
            prop_assert_eq!(whole.finish(bracket), letters(0..blocks).finish(bracket));
        }

        #[test]
        fn sem_g78_sums_keep_their_bits(
            values in prop::collection::vec(-1e9_f64..1e9, 1..300),
            cut in 0_usize..300,
        ) {
            let add = |a: f64, b: f64| a + b;
            let range = |blocks: std::ops::Range<usize>| {
                let mut part = Dyadic::new(blocks.start);
                values[blocks].iter().for_each(|&value| part.push(value, add));
                part
            };
            let cut = cut.min(values.len());
            let joined = range(0..cut).join(range(cut..values.len()), add).finish(add).unwrap();
            let whole = range(0..values.len()).finish(add).unwrap();
            prop_assert_eq!(joined.to_bits(), whole.to_bits());
        }
    }
}
