//! Unbalanced Tree Search: trees whose nodes are hashes, and which cannot be split in advance.
//!
//! S. Olivier, J. Prins and others, UTS: an unbalanced tree search benchmark, 2006.

use motet_search::Tree;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// A tree of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uts {
    /// How many children a node has.
    pub shape: Shape,
    /// The expected number of children of the root.
    pub b0: f64,
    /// What the root is made of.
    pub seed: u32,
}

/// How many children the nodes of a [`Uts`] have.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// `m` with probability `q`, else none.
    Binomial {
        /// The probability of children.
        q: f64,
        /// Their number.
        m: u32,
    },
    /// A geometric distribution with mean `b0` above this depth.
    Fixed(u32),
    /// … whose mean falls to 0 at this depth.
    Linear(u32),
    /// … whose mean rises and falls with this period.
    Cyclic(u32),
    /// As `Linear` down to half of the depth, then as `Binomial`.
    Hybrid {
        /// Of the linear part.
        depth: u32,
        /// Of the binomial part.
        q: f64,
        /// Of the binomial part.
        m: u32,
    },
}

/// A node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UtsNode {
    hash: [u8; 20],
    height: u32,
}

/// The most children of a node; the root of a binomial tree may have more.
const MOST: u32 = 100;

impl Uts {
    /// T1: geometric, fixed; 4,130,071 nodes.
    pub const T1: Uts = Uts::new(Shape::Fixed(10), 4.0, 19);
    /// T2: geometric, cyclic; 4,117,769 nodes.
    pub const T2: Uts = Uts::new(Shape::Cyclic(16), 6.0, 502);
    /// T3: binomial; 4,112,897 nodes, depth 1572.
    pub const T3: Uts = Uts::new(Shape::Binomial { q: 0.124_875, m: 8 }, 2000.0, 42);
    /// T4: hybrid; 4,132,453 nodes.
    pub const T4: Uts = Uts::new(
        Shape::Hybrid {
            depth: 16,
            q: 0.234_375,
            m: 4,
        },
        6.0,
        1,
    );
    /// T5: geometric, linear; 4,147,582 nodes.
    pub const T5: Uts = Uts::new(Shape::Linear(20), 4.0, 34);
    /// The benchmark's default: 1,732 nodes.
    pub const SMALL: Uts = Uts::new(Shape::Linear(6), 4.0, 0);
    /// T1L: geometric, fixed; 102,181,082 nodes.
    pub const T1L: Uts = Uts::new(Shape::Fixed(13), 4.0, 29);

    const fn new(shape: Shape, b0: f64, seed: u32) -> Uts {
        Uts { shape, b0, seed }
    }

    /// The nodes below `node`, by plain recursion: what a search is measured against.
    #[must_use]
    pub fn plain(&self, node: &UtsNode) -> u64 {
        let children = 0..self.count(node);
        1 + children
            .map(|child| self.plain(&node.child(child)))
            .sum::<u64>()
    }

    /// The number of a node's children.
    #[inline]
    #[must_use]
    pub fn count(&self, node: &UtsNode) -> u32 {
        let height = f64::from(node.height);
        match self.shape {
            Shape::Binomial { .. } if node.height == 0 => self.b0 as u32,
            Shape::Binomial { q, m } => binomial(node, q, m),
            _ if node.height == 0 => geometric(node, self.b0),
            Shape::Fixed(depth) if node.height < depth => geometric(node, self.b0),
            Shape::Fixed(_) => 0,
            Shape::Linear(depth) => geometric(node, self.b0 * (1.0 - height / f64::from(depth))),
            Shape::Cyclic(depth) if node.height > 5 * depth => 0,
            Shape::Cyclic(depth) => {
                let turn = 2.0 * std::f64::consts::PI * height / f64::from(depth);
                geometric(node, self.b0.powf(turn.sin()))
            }
            Shape::Hybrid { depth, .. } if 2 * node.height < depth => {
                geometric(node, self.b0 * (1.0 - height / f64::from(depth)))
            }
            Shape::Hybrid { q, m, .. } => binomial(node, q, m),
        }
    }
}

fn binomial(node: &UtsNode, q: f64, m: u32) -> u32 {
    if node.uniform() < q { m } else { 0 }
}

#[inline]
fn geometric(node: &UtsNode, mean: f64) -> u32 {
    let p = 1.0 / (1.0 + mean);
    let children = (1.0 - node.uniform()).ln() / (1.0 - p).ln();
    (children.floor() as u32).min(MOST)
}

impl UtsNode {
    /// The child with this number, from 0.
    #[inline]
    #[must_use]
    pub fn child(&self, number: u32) -> UtsNode {
        let mut bytes = [0; 24];
        bytes[..20].copy_from_slice(&self.hash);
        bytes[20..].copy_from_slice(&number.to_be_bytes());
        UtsNode {
            hash: Sha1::digest(bytes).into(),
            height: self.height + 1,
        }
    }

    /// A number in [0, 1).
    #[inline]
    fn uniform(&self) -> f64 {
        let [.., a, b, c, d] = self.hash;
        let bits = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
        f64::from(bits) / f64::from(1u32 << 31)
    }
}

impl Tree for Uts {
    type Node = UtsNode;

    fn root(&self) -> UtsNode {
        let mut bytes = [0; 20];
        bytes[16..].copy_from_slice(&self.seed.to_be_bytes());
        UtsNode {
            hash: Sha1::digest(bytes).into(),
            height: 0,
        }
    }

    #[inline]
    fn children(&self, node: &UtsNode, out: &mut Vec<UtsNode>) {
        out.extend((0..self.count(node)).map(|child| node.child(child)));
    }
}
