//! What is said of a claim.

use super::evidence::{Evidence, quantity};
use crate::text::short;
use serde::Deserialize;

/// A claim of the papers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// The papers' number, such as `C01`.
    pub(super) key: String,
    /// In our own words, and how it is read today.
    pub(super) says: String,
    /// The papers' value.
    pub(super) then: String,
    /// Paper and place.
    pub(super) source: String,
    /// Where it is tested.
    pub(super) tests: Vec<String>,
}

/// The verdict on a claim, or why there can be none.
pub(super) type Judge = fn(&Evidence<'_>) -> Judged;

/// A verdict, or why the claim cannot be told on this machine.
pub(super) type Judged = Result<Verdict, String>;

/// Whether a claim holds here.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) holds: bool,
    /// The number found here.
    pub(super) found: String,
    /// The bound that it was held against.
    pub(super) bound: String,
}

/// A cost, or a ratio of costs, is at most `limit`. One of 0 or less is the noise of a subtraction
/// and decides nothing.
pub(super) fn at_most(found: Result<f64, String>, limit: f64, unit: &str) -> Judged {
    not_above(not_noise(found, unit), limit, unit)
}

/// A cost that is more than 0.
pub(super) fn not_noise(found: Result<f64, String>, unit: &str) -> Result<f64, String> {
    match found? {
        found if found > 0.0 => Ok(found),
        found => {
            let found = quantity(found, unit);
            Err(format!(
                "{found} is no cost: it is lost in the spread of the run times"
            ))
        }
    }
}

/// `found`, which may be less than 0, is at most `limit`.
pub(super) fn not_above(found: Result<f64, String>, limit: f64, unit: &str) -> Judged {
    let found = found?;
    Ok(Verdict {
        holds: found <= limit,
        found: quantity(found, unit),
        bound: format!("at most {}", exactly(limit, unit)),
    })
}

/// `found` is at least `limit`.
pub(super) fn at_least(found: Result<f64, String>, limit: f64, unit: &str) -> Judged {
    let found = found?;
    Ok(Verdict {
        holds: found >= limit,
        found: quantity(found, unit),
        bound: format!("at least {}", exactly(limit, unit)),
    })
}

/// A bound, with all its digits.
fn exactly(limit: f64, unit: &str) -> String {
    format!("{} {unit}", short(limit)).trim_end().to_owned()
}

impl Verdict {
    /// With more said of the number.
    pub(super) fn found(mut self, more: &str) -> Verdict {
        self.found = format!("{} ({more})", self.found);
        self
    }
}
