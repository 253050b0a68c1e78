//! Experiments of the papers that are drawings: no number is asked, a working example shows each
//! row.

use super::case::{Case, Quantity};
use super::row::Point;

/// A case for each row, whose only series says which example of the facade shows it.
pub(super) fn cases(parameter: &str, rows: &[(&str, &str)]) -> Vec<Case> {
    let quantity = Quantity::new("shown by", "");
    rows.iter()
        .map(|(row, example)| {
            let said = format!("no number is asked: the example {example} shows it");
            Case::new(Point::new().with(parameter, *row), &[quantity]).absent("motet", said)
        })
        .collect()
}

/// Every example that rows name is there.
#[cfg(test)]
pub(super) fn assert_there(rows: &[(&str, &str)]) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/motet/examples");
    for (_, name) in rows {
        let files = [
            format!("{folder}/{name}.rs"),
            format!("{folder}/{name}/main.rs"),
        ];
        let is_there = files.iter().any(|file| std::path::Path::new(file).exists());
        assert!(is_there, "{name} is no example");
    }
}
