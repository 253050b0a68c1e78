//! The house rules as checks over the project's files.
//!
//! Each check is one file of `checks/`: a function from the [`ProjectTree`] to findings. A check
//! whose subject does not exist finds nothing; `checks/required.rs` says which files must exist,
//! and when.

mod allow_list;
mod checks;
mod finding;
mod markdown;

use crate::source::ProjectTree;
use checks::CHECKS;
use finding::{Finding, HouseRule};

/// Runs every check; findings by check name, in the order of the table.
pub(crate) fn run(tree: &ProjectTree) -> Vec<(&'static str, Finding)> {
    let found = CHECKS.iter().flat_map(|(name, check)| {
        let findings = check(tree).into_iter();
        findings.map(move |finding| (*name, finding))
    });
    found.collect()
}
