//! Every Rust source is part of some crate.

use crate::source::ProjectTree;
use crate::tidy::Finding;

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let dead = tree
        .rust()
        .filter(|(file, _)| !tree.modules().reaches(&file.path) && !is_included(tree, &file.path));
    dead.map(|(file, _)| {
        Finding::new(
            &file.path,
            1,
            "no `mod` leads to this file",
            "nothing compiles it, so it rots",
            "declare it in its parent module, or delete it",
        )
    })
    .collect()
}

/// Whether a source of the same folder includes the file as text.
fn is_included(tree: &ProjectTree, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let wanted = format!("include!(\"{name}\")");
    tree.rust()
        .filter(|(file, _)| file.path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder)
        .any(|(file, _)| {
            file.text
                .as_ref()
                .is_some_and(|text| text.contains(&wanted))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_nothing_reaches_is_dead() {
        let tree = ProjectTree::of(&[
            ("a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("a/src/lib.rs", "mod x; // mod lost;"),
            ("a/src/x.rs", "include!(\"table.rs\");"),
            ("a/src/table.rs", ""),
            ("a/src/lost.rs", ""),
            ("a/tests/t.rs", ""),
        ]);
        let found = check(&tree);
        assert_eq!(
            found.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(),
            ["a/src/lost.rs"]
        );
    }
}
