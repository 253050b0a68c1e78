//! Every decision record is in the list of decision records.

use crate::source::{ProjectTree, resolve};
use crate::tidy::Finding;
use crate::tidy::markdown::links;

const FOLDER: &str = "docs/adr/";
const INDEX: &str = "docs/adr/README.md";

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let index = links(tree.text(INDEX).unwrap_or_default());
    let listed: Vec<String> = index
        .iter()
        .filter_map(|link| resolve(INDEX, &link.text))
        .collect();
    let records = tree
        .markdown()
        .filter(|(file, _)| file.path.starts_with(FOLDER) && file.path != INDEX);
    records
        .filter(|(file, _)| !listed.contains(&file.path))
        .map(|(file, _)| {
            Finding::new(
                &file.path,
                1,
                "this decision is not in the list",
                "the list is how a reader learns what was decided",
                format!("add a line with a link to {INDEX}"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_must_be_linked_from_the_list() {
        let one = ("docs/adr/0001-edges.md", "");
        let two = ("docs/adr/0002-queues.md", "");
        let tree = ProjectTree::of(&[
            one,
            two,
            (INDEX, "- [0001](0001-edges.md)\n- 0002-queues.md"),
        ]);
        let found: Vec<_> = check(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(found, ["docs/adr/0002-queues.md"]);
        assert!(check(&ProjectTree::of(&[(INDEX, "")])).is_empty());
    }
}
