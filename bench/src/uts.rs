//! Unbalanced tree search: trees that hashes make, with known numbers of nodes.

use sha1::{Digest, Sha1};
use std::fs;
use std::path::Path;

/// A geometric tree of fixed shape, which is what the rows use.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FixedTree {
    pub(crate) name: String,
    depth: u32,
    branching: f64,
    seed: u32,
    /// How many it has.
    pub(crate) nodes: u64,
}

/// A node: the hash that says how many children it has.
#[derive(Debug, Clone)]
pub(crate) struct FixedTreeNode {
    state: [u8; 20],
    height: u32,
}

impl FixedTree {
    /// The tree called `name` in `tree-search/uts.tsv` of the folder `data`; an error says what is
    /// wrong.
    pub(crate) fn read(data: &Path, name: &str) -> Result<FixedTree, String> {
        let path = data.join("tree-search").join("uts.tsv");
        let at = |what: &str| format!("{}: {what}", path.display());
        let table = fs::read_to_string(&path).map_err(|error| at(&error.to_string()))?;
        let line = table
            .lines()
            .find(|line| line.split('\t').next() == Some(name));
        let cells: Vec<&str> = line
            .ok_or_else(|| at(&format!("there is no tree {name}")))?
            .split('\t')
            .collect();
        let [
            _,
            "geometric",
            "fixed",
            depth,
            branching,
            _,
            _,
            seed,
            nodes,
            ..,
        ] = cells[..]
        else {
            return Err(at(&format!("{name} is not geometric of fixed shape")));
        };
        let number = |cell: &str| {
            let number: Result<u64, _> = cell.parse();
            number.map_err(|_| at(&format!("{name}: {cell:?} is no number")))
        };
        Ok(FixedTree {
            name: name.to_owned(),
            depth: number(depth)? as u32,
            branching: number(branching)? as f64,
            seed: number(seed)? as u32,
            nodes: number(nodes)?,
        })
    }

    /// Where the tree begins.
    pub(crate) fn root(&self) -> FixedTreeNode {
        let hash = Sha1::new().chain_update([0; 16]);
        FixedTreeNode {
            state: hash.chain_update(self.seed.to_be_bytes()).finalize().into(),
            height: 0,
        }
    }

    /// The number of a node's children.
    #[inline]
    pub(crate) fn children(&self, node: &FixedTreeNode) -> u32 {
        const MOST: u32 = 100;
        if node.height >= self.depth {
            return 0;
        }
        let p = 1.0 / (1.0 + self.branching);
        // At most a few hundreds: the uniform number has 31 bits.
        let children = ((1.0 - node.uniform()).ln() / (1.0 - p).ln()).floor() as u32;
        children.min(MOST)
    }
}

impl FixedTreeNode {
    /// The child with this number, from 0.
    #[inline]
    pub(crate) fn child(&self, number: u32) -> FixedTreeNode {
        let hash = Sha1::new().chain_update(self.state);
        FixedTreeNode {
            state: hash.chain_update(number.to_be_bytes()).finalize().into(),
            height: self.height + 1,
        }
    }

    /// In [0, 1).
    fn uniform(&self) -> f64 {
        let last = [16, 17, 18, 19].map(|at| self.state[at]);
        f64::from(u32::from_be_bytes(last) & 0x7fff_ffff) / f64::from(1_u32 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of nodes, counted one by one.
    fn count(tree: &FixedTree) -> u64 {
        let (mut stack, mut seen) = (vec![tree.root()], 0);
        while let Some(node) = stack.pop() {
            seen += 1;
            stack.extend((0..tree.children(&node)).map(|child| node.child(child)));
        }
        seen
    }

    #[test]
    fn needs_data_a_tree_has_as_many_nodes_as_its_table_says() {
        let tree = FixedTree::read(&motet_testkit::data(), "T1").unwrap();
        assert_eq!(count(&tree), tree.nodes);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        let reason = FixedTree::read(Path::new("nowhere"), "T1").unwrap_err();
        assert!(reason.contains("uts.tsv"), "{reason}");
    }
}
