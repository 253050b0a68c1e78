//! What is said on standard error of the data.

use std::io::{self, Write};

use crate::read::{self, LeftOut};
use crate::text::flat;

/// What can be done with columns that are left out.
pub(crate) const KEEP: &str = "; --keep copies columns to labels.csv as they are";

/// Says something about the data on standard error, unless there is nothing to say.
pub(crate) fn remark(quiet: bool, text: &str) {
    if !text.is_empty() && !quiet {
        // Where nobody reads it, nothing is lost.
        let _ = writeln!(io::stderr(), "motet: {}", flat(text));
    }
}

/// Which columns are left out because they are not numeric, and what can be done; nothing if none
/// is.
pub(crate) fn left_out(columns: &[LeftOut], advice: &str) -> String {
    const SHOWN: usize = 8;
    if columns.is_empty() {
        return String::new();
    }
    let name = |column: &LeftOut| {
        format!(
            "{} ('{}' in line {})",
            column.name,
            read::shown(&column.text),
            column.line
        )
    };
    let mut text = "columns that are not numeric are left out: ".to_owned();
    text.push_str(
        &columns
            .iter()
            .take(SHOWN)
            .map(name)
            .collect::<Vec<_>>()
            .join(", "),
    );
    if columns.len() > SHOWN {
        text.push_str(&format!(" and {} more", columns.len() - SHOWN));
    }
    text + advice
}
