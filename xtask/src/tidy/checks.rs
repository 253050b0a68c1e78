//! The table of checks.

mod adr_index;
mod cases;
mod columns;
mod crate_edges;
mod dead_docs;
mod dead_rust;
mod examples;
mod file_length;
mod function_length;
mod guarantees;
mod leftovers;
mod links;
mod listings;
mod manifests;
mod module_cycles;
mod module_docs;
mod paper_map;
mod publishing;
mod required;
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
    ("publishing", publishing::check),
    ("crate-edges", crate_edges::check),
    ("module-cycles", module_cycles::check),
    ("dead-rust", dead_rust::check),
    ("file-length", file_length::check),
    ("function-length", function_length::check),
    ("columns", columns::check),
    ("module-docs", module_docs::check),
    ("unsafe", unsafe_code::check),
    ("std-primitives", std_primitives::check),
    ("leftovers", leftovers::check),
    ("type-names", type_names::check),
    ("words", words::check),
    ("examples", examples::check),
    ("listings", listings::check),
    ("guarantees", guarantees::check),
    ("cases", cases::check),
    ("links", links::check),
    ("dead-docs", dead_docs::check),
    ("adr-index", adr_index::check),
    ("paper-map", paper_map::check),
];
