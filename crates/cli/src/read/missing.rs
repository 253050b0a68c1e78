//! Cells without a value: what counts as one, and what becomes of its row.

use clap::ValueEnum;
use serde::Serialize;

/// What to do with a row that lacks a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnMissing {
    /// Stop, and name the row and the column
    #[default]
    Error,
    /// Leave the row out
    DropRow,
    /// Put the mean of the column's other values there
    Mean,
}

/// Whether a cell says that it has no value.
pub(crate) fn is_missing(text: &str) -> bool {
    matches!(text, "" | "?" | "NA" | "N/A" | "null" | "NULL")
}

/// Whether a cell of numbers is what programs write where there is no number: `nan` in capital
/// letters or small ones, with a sign or without.
pub(super) fn is_nan(text: &str) -> bool {
    let name = text.strip_prefix(['+', '-']).unwrap_or(text);
    name.eq_ignore_ascii_case("nan")
}

/// Puts the mean of a column's other values into each of the cells `holes` of a table with `width`
/// columns. Returns the column that has no value at all, if one of the holes is in such a column.
pub(super) fn fill(values: &mut [f64], width: usize, holes: &[usize]) -> Result<(), usize> {
    if holes.is_empty() {
        return Ok(());
    }
    let mut present = vec![0.0_f64; width];
    let mut means = vec![0.0_f64; width];
    let mut next = holes.iter().copied().peekable();
    for (at, &value) in values.iter().enumerate() {
        if next.next_if_eq(&at).is_none() {
            let column = at % width;
            present[column] += 1.0;
            // A weighted mean of both: a difference of large numbers of opposite signs may
            // overflow.
            let share = 1.0 / present[column];
            means[column] = means[column] * (1.0 - share) + value * share;
        }
    }
    for &hole in holes {
        let column = hole % width;
        if present[column] == 0.0 {
            return Err(column);
        }
        values[hole] = means[column];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_has_many_spellings() {
        for text in ["nan", "NaN", "NAN", "Nan", "-nan", "+NaN"] {
            assert!(
                is_nan(text) && text.parse::<f64>().unwrap().is_nan(),
                "{text}"
            );
        }
        for text in ["", "na", "nano", "--nan", "n", "-", "inf"] {
            assert!(!is_nan(text), "{text}");
        }
    }

    #[test]
    fn holes_get_the_mean_of_their_column() {
        let mut values = [1.0, 0.0, 0.0, 4.0, 3.0, 8.0];
        fill(&mut values, 2, &[1, 2]).unwrap();
        assert_eq!(values, [1.0, 6.0, 2.0, 4.0, 3.0, 8.0]);
    }

    #[test]
    fn a_column_without_any_value_is_named() {
        assert_eq!(fill(&mut [1.0, 0.0, 2.0, 0.0], 2, &[1, 3]), Err(1));
    }

    #[test]
    fn the_mean_of_the_largest_numbers_does_not_overflow() {
        let mut values = [f64::MAX, -f64::MAX, f64::MAX, 0.0];
        fill(&mut values, 1, &[3]).unwrap();
        assert!(values[3].is_finite());
    }
}
