//! The table of checks.

mod adr_index;
mod cases;
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
mod required;
mod std_primitives;
mod unsafe_code;
mod words;

use super::Finding;
use crate::source::Tree;

/// A rule and the function that looks for what breaks it.
#[derive(Debug)]
pub(crate) struct Check {
    /// Its name in the output.
    pub(crate) name: &'static str,
    /// What it finds.
    pub(crate) run: fn(&Tree) -> Vec<Finding>,
}

/// Every check, in the order of the output.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "required",
        run: required::check,
    },
    Check {
        name: "manifests",
        run: manifests::check,
    },
    Check {
        name: "crate-edges",
        run: crate_edges::check,
    },
    Check {
        name: "module-cycles",
        run: module_cycles::check,
    },
    Check {
        name: "dead-rust",
        run: dead_rust::check,
    },
    Check {
        name: "file-length",
        run: file_length::check,
    },
    Check {
        name: "function-length",
        run: function_length::check,
    },
    Check {
        name: "module-docs",
        run: module_docs::check,
    },
    Check {
        name: "unsafe",
        run: unsafe_code::check,
    },
    Check {
        name: "std-primitives",
        run: std_primitives::check,
    },
    Check {
        name: "leftovers",
        run: leftovers::check,
    },
    Check {
        name: "words",
        run: words::check,
    },
    Check {
        name: "examples",
        run: examples::check,
    },
    Check {
        name: "listings",
        run: listings::check,
    },
    Check {
        name: "guarantees",
        run: guarantees::check,
    },
    Check {
        name: "cases",
        run: cases::check,
    },
    Check {
        name: "links",
        run: links::check,
    },
    Check {
        name: "dead-docs",
        run: dead_docs::check,
    },
    Check {
        name: "adr-index",
        run: adr_index::check,
    },
    Check {
        name: "paper-map",
        run: paper_map::check,
    },
];
