//! Experiments of the papers that are drawings: no number is asked, a working example shows each
//! row.

use super::case::{Case, Quantity};
use super::row::Point;

/// What shows a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum By {
    /// An example of the facade, by its name.
    Example(&'static str),
    /// Nothing yet, and what is missing.
    Nothing(&'static str),
}

/// A case for each row, whose only series says what shows it.
pub(super) fn cases(parameter: &str, rows: &[(&str, By)]) -> Vec<Case> {
    let quantity = Quantity::new("shown by", "");
    rows.iter()
        .map(|(row, by)| {
            let said = match by {
                By::Example(name) => format!("no number is asked: the example {name} shows it"),
                By::Nothing(missing) => format!("nothing shows it yet: {missing}"),
            };
            Case::new(Point::new().with(parameter, *row), &[quantity]).absent("motet", said)
        })
        .collect()
}

/// The examples that are named, for the tests.
#[cfg(test)]
pub(super) fn examples(rows: &[(&str, By)]) -> Vec<&'static str> {
    let name = |(_, by): &(&str, By)| match by {
        By::Example(name) => Some(*name),
        By::Nothing(_) => None,
    };
    rows.iter().filter_map(name).collect()
}

/// Every example that rows name is there.
#[cfg(test)]
pub(super) fn assert_there(rows: &[(&str, By)]) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/motet/examples");
    for name in examples(rows) {
        let file = format!("{folder}/{name}.rs");
        assert!(std::path::Path::new(&file).exists(), "{file}");
    }
}
