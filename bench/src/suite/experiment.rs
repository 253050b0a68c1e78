//! What an experiment is.

use super::picture::Picture;
use crate::measuring::{Cases, Setting};
use serde::Deserialize;

/// Makes them, in a setting.
pub type MakeCases = fn(&Setting) -> Cases;

/// One experiment of the papers, or of the same kind. It has what it says of itself, in sentences
/// for a reader of the report, as in `bench/data/experiments.toml`. It also has what it measures.
///
/// It makes the programs; it never repeats, times the whole, interleaves or judges: that is the
/// method's. Experiments that share their programs share a file; each stands in the list of
/// `suite/registry.rs` and in `docs/PAPER-MAP.md`.
///
/// # Instruction counts
/// The instruction-count run (`cargo xtask counts`) takes the same programs. Cases of stages are
/// made from the crate `motet-patterns`, whose functions take what a stage computes as an argument.
/// The suite gives them units of work; `crates/counts` gives them a counter that marks the first
/// and the last counted stage for callgrind. So an experiment whose programs come from there has
/// rows in `crates/counts/baseline.txt` (`spawned-…`, `ranks-…`: E06 and E14) without a second form
/// of the pattern.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The papers' number, such as `E06`. Rows carry it.
    pub key: String,
    /// A word for the command line, such as `patterns`.
    pub name: String,
    /// A heading.
    pub title: String,
    /// Another one, whose definition and parameters are this one's where it has none.
    pub(super) like: Option<String>,
    /// What is asked.
    pub question: String,
    /// What is measured: formula, units, which runs.
    #[serde(default)]
    pub definition: String,
    /// What may mislead.
    pub threats: String,
    /// Paper and figure or table, such as `P0 Table 2`.
    pub sources: Vec<String>,
    /// The parameters of a point, in the order of a table's columns, each with its meaning.
    #[serde(default)]
    pub parameters: Vec<(String, String)>,
    /// What is drawn from the rows.
    #[serde(default)]
    pub pictures: Vec<Picture>,
    /// What is measured, in this setting. Work per run and numbers of points follow the setting's
    /// effort. A single series that cannot run says so itself: its program returns the reason, or
    /// [`Case::absent`](crate::measuring::Case::absent) names it at once.
    #[serde(skip, default = "unknown")]
    pub cases: MakeCases,
}

fn unknown() -> MakeCases {
    |_| Err("nobody knows how it is measured".to_owned())
}
