//! Unbalanced tree search: the tree that the rows use, with its known number of nodes.

use crate::said::Said;
use crate::table::CsvTable;
use motet_problems::{Shape, Uts};
use std::path::Path;

/// The geometric tree of fixed shape called `name` in `tree-search/uts.tsv` of the folder `data`,
/// and how many nodes it has. The rows use such trees. An error says what is wrong.
pub(crate) fn read(data: &Path, name: &str) -> Result<(Uts, u64), String> {
    let path = data.join("tree-search").join("uts.tsv");
    let at = |what: &str| format!("{}: {name} {what}", path.display());
    let table = CsvTable::read(&path).said()?;
    let row = table.words("name").said()?.iter().position(|&n| n == name);
    let row = row.ok_or_else(|| at("is no tree that is there"))?;
    let cell = |column| Ok::<_, String>(table.words(column).said()?[row]);
    if (cell("type")?, cell("shape")?) != ("geometric", "fixed") {
        return Err(at("is not geometric of fixed shape"));
    }
    let number = |column| -> Result<u32, String> {
        let cell = cell(column)?;
        cell.parse()
            .map_err(|_| at(&format!("has {cell:?} where a number belongs")))
    };
    let tree = Uts {
        shape: Shape::Fixed(number("depth")?),
        b0: f64::from(number("b0")?),
        seed: number("seed")?,
    };
    Ok((tree, number("nodes")?.into()))
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
