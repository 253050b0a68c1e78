//! Unbalanced tree search: the tree that the rows use, with its known number of nodes.

use motet_problems::{Shape, Uts};
use std::fs;
use std::path::Path;

/// A geometric tree of fixed shape, which is what the rows use, and how many nodes it has: the one
/// called `name` in `tree-search/uts.tsv` of the folder `data`; an error says what is wrong.
pub(crate) fn read(data: &Path, name: &str) -> Result<(Uts, u64), String> {
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
        let number: Result<u32, _> = cell.parse();
        number.map_err(|_| at(&format!("{name}: {cell:?} is no number")))
    };
    let tree = Uts {
        shape: Shape::Fixed(number(depth)?),
        b0: f64::from(number(branching)?),
        seed: number(seed)?,
    };
    Ok((tree, number(nodes)?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_data_a_tree_has_as_many_nodes_as_its_table_says() {
        let (tree, nodes) = read(&motet_testkit::data(), "T1").unwrap();
        assert_eq!(tree, Uts::T1);
        assert_eq!(tree.plain(&motet_search::Tree::root(&tree)), nodes);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        let reason = read(Path::new("nowhere"), "T1").unwrap_err();
        assert!(reason.contains("uts.tsv"), "{reason}");
    }
}
