//! The table of checks.

mod columns;
mod crate_edges;
mod documents;
mod length;
mod listings;
mod manifests;
mod module_cycles;
mod numbers;
mod required;
mod sources;
mod std_primitives;
mod type_names;
mod unsafe_code;
mod words;

use super::Finding;
use crate::source::ProjectTree;

/// Finds what breaks a rule.
type Check = fn(&ProjectTree) -> Vec<Finding>;

/// Every check by its name, in the order of the output.
pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("required", required::check),
    ("manifests", manifests::check),
    ("crate-edges", crate_edges::check),
    ("module-cycles", module_cycles::check),
    ("sources", sources::check),
    ("length", length::check),
    ("columns", columns::check),
    ("unsafe", unsafe_code::check),
    ("std-primitives", std_primitives::check),
    ("words", words::check),
    ("type-names", type_names::check),
    ("listings", listings::check),
    ("numbers", numbers::check),
    ("documents", documents::check),
];
