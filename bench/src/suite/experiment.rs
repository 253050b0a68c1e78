//! What an experiment is.

use super::case::Case;
use super::picture::Picture;
use super::setting::Setting;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// One experiment of the papers, or of the same kind.
///
/// It says what is measured and makes the programs; it never repeats, times the whole, interleaves
/// or judges: that is the method's. Experiments that share their programs share a file; each stands
/// in the list of `suite/registry.rs` and in `docs/PAPER-MAP.md`, and what it says of itself in
/// `bench/data/experiments.toml`.
///
/// # Instruction counts
/// The instruction-count run (`cargo xtask counts`) takes the same programs: cases of stages are
/// made from the crate `motet-patterns`, whose functions take what a stage computes as an argument.
/// The suite gives them units of work; `crates/counts` gives them a counter that marks the first
/// and the last counted stage for callgrind. So an experiment whose programs come from there has
/// rows in `crates/counts/baseline.txt` (`spawned-…`, `ranks-…`: E06 and E14) without a second form
/// of the pattern.
pub struct Experiment {
    /// The papers' number, such as `E06`. Rows carry it.
    pub key: &'static str,
    /// The parameters of a point, in the order of a table's columns, each with its meaning.
    pub parameters: &'static [(&'static str, &'static str)],
    /// What is measured, in this setting, or why nothing of it can be measured here. Work per run
    /// and numbers of points follow the setting's effort. A single series that cannot run says so
    /// itself: its program returns the reason, or [`Case::absent`] names it at once.
    pub cases: fn(&Setting) -> Result<Vec<Case>, String>,
    /// What is drawn from the rows.
    pub pictures: &'static [Picture],
}

/// What an experiment says of itself, in sentences for a reader of the report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The papers' number, such as `E06`.
    pub key: String,
    /// A word for the command line, such as `patterns`.
    pub name: String,
    /// A heading.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// What is measured: formula, units, which runs.
    #[serde(default)]
    pub definition: String,
    /// Whose definition it shares, by key.
    definition_of: Option<String>,
    /// What may mislead.
    pub threats: String,
    /// Paper and figure or table, such as `P0 Table 2`.
    pub sources: Vec<String>,
}

/// The file, which the tests read.
#[derive(Deserialize)]
struct Abouts {
    experiment: Vec<About>,
}

static ABOUTS: LazyLock<BTreeMap<String, About>> = LazyLock::new(|| {
    let text = include_str!("../../data/experiments.toml");
    let Abouts { experiment } = toml::from_str(text).expect("the file is what it should be");
    let by_key = |about: About| (about.key.clone(), about);
    let mut all: BTreeMap<_, _> = experiment.into_iter().map(by_key).collect();
    let whole = all.clone();
    for about in all.values_mut() {
        if let Some(of) = &about.definition_of {
            about.definition.clone_from(&whole[of].definition);
        }
    }
    all
});

impl Experiment {
    /// What is asked and how.
    ///
    /// # Panics
    /// When the file has nothing of it, which the tests exclude.
    #[must_use]
    pub fn about(&self) -> &'static About {
        &ABOUTS[self.key]
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Experiment").field(&self.key).finish()
    }
}
