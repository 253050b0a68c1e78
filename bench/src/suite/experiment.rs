//! What an experiment is.

use super::case::Case;
use super::picture::Picture;
use super::setting::Setting;
use crate::selection::Missing;

/// One experiment of the papers, or of the same kind.
///
/// An implementation says what is measured and makes the programs; it never repeats, times the
/// whole, interleaves or judges: that is the method's. A file holds one experiment, is named after
/// its key and stands in the list of `suite/registry.rs` and in `docs/PAPER-MAP.md`.
///
/// # Instruction counts
/// The instruction-count run (`cargo xtask counts`) takes the same programs: cases of stages are
/// made from the crate `motet-patterns`, whose functions take what a stage computes as an argument.
/// The suite gives them units of work; `crates/counts` gives them a counter that marks the first
/// and the last counted stage for callgrind. So an experiment whose programs come from there has
/// rows in `crates/counts/baseline.txt` (`spawned-…`, `ranks-…`: E06 and E14) without a second form
/// of the pattern.
pub trait Experiment: Sync {
    /// What is asked and how.
    fn about(&self) -> About;

    /// What is measured, in this setting. Work per run and numbers of points follow the setting's
    /// effort.
    ///
    /// # Errors
    /// Why nothing of it can be measured here. A single series that cannot run says so itself: its
    /// program returns the reason, or [`Case::absent`] names it at once.
    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing>;

    /// What is drawn from the rows.
    fn pictures(&self) -> Vec<Picture>;
}

/// What an experiment says of itself, in sentences for a reader of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The papers' number, such as `E06`. Rows carry it.
    pub key: &'static str,
    /// A word for the command line, such as `patterns`.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// What is asked.
    pub question: &'static str,
    /// What is measured: formula, units, which runs.
    pub definition: &'static str,
    /// The parameters of a point, in the order of a table's columns, each with its meaning.
    pub parameters: &'static [(&'static str, &'static str)],
    /// What may mislead.
    pub threats: &'static str,
    /// Paper and figure or table, such as `P0 Table 2`.
    pub sources: &'static [&'static str],
}
