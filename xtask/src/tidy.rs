//! The house rules as checks over the project's files.
//!
//! Each check is one file of `checks/`: a function from the [`Tree`] to findings. A check whose
//! subject does not exist finds nothing; `checks/required.rs` says which files must exist, and when.

mod allow_list;
mod checks;
mod finding;
mod markdown;

use crate::source::Tree;
use checks::CHECKS;
pub(crate) use finding::Finding;

/// Runs every check; findings by check name, in the order of the table.
pub(crate) fn run(tree: &Tree) -> Vec<(&'static str, Finding)> {
    CHECKS
        .iter()
        .flat_map(|check| {
            (check.run)(tree)
                .into_iter()
                .map(|finding| (check.name, finding))
        })
        .collect()
}
