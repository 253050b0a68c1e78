//! Every document is linked from another.

use crate::source::{ProjectTree, resolve};
use crate::tidy::Finding;
use crate::tidy::markdown::links;
use std::collections::BTreeSet;

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut linked = BTreeSet::new();
    for (file, text) in tree.markdown() {
        let targets = links(text).into_iter().filter_map(|link| {
            let path = link.text.split('#').next().unwrap_or_default().to_owned();
            resolve(&file.path, &path)
        });
        linked.extend(targets.filter(|target| *target != file.path));
    }
    let documents = tree
        .markdown()
        .filter(|(file, _)| file.path.starts_with("docs/"));
    documents
        .filter(|(file, _)| !linked.contains(&file.path))
        .map(|(file, _)| {
            Finding::new(
                &file.path,
                1,
                "no other document links to this one",
                "nobody finds what no link leads to",
                "link it from where its reader comes from, or delete it",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_document_that_others_link_to_is_alive() {
        let tree = ProjectTree::of(&[
            ("README.md", "[a](docs/A.md#x)"),
            ("docs/A.md", "[adr](adr/1.md)"),
            ("docs/adr/1.md", ""),
            ("docs/B.md", "[self](B.md) [top](#b)"),
        ]);
        let found: Vec<_> = check(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(found, ["docs/B.md"]);
    }
}
