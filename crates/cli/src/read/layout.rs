//! What the columns of a table are for: decided from its first rows and what the user asked for.

use super::columns::{Columns, WantedColumn};
use super::missing::is_missing;
use super::records::InputRecord;
use super::separated;
use crate::error::InputError;

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableChoice {
    /// Whether the first line holds names; `None`: find out.
    pub(crate) header: Option<bool>,
    /// The columns to cluster by.
    pub(crate) columns: ColumnChoice,
    /// The column with the weights.
    pub(crate) weight: Option<WantedColumn>,
    /// Columns that are not to be clustered by.
    pub(crate) exclude: Vec<WantedColumn>,
    /// Columns whose text is kept.
    pub(crate) keep: Vec<WantedColumn>,
}

/// The columns to cluster by.
#[derive(Debug, Clone, Default)]
pub(crate) enum ColumnChoice {
    /// Every column of numbers.
    #[default]
    Numeric,
    /// None: the text of columns that are kept is all that is wanted.
    Nothing,
    /// These, in this order.
    Listed(Vec<WantedColumn>),
    /// A latitude and a longitude in degrees.
    Geo {
        /// The column of latitudes.
        lat: WantedColumn,
        /// The column of longitudes.
        lon: WantedColumn,
    },
}

/// What the columns are for.
#[derive(Debug)]
pub(crate) struct ColumnLayout {
    /// All columns of the file.
    pub(crate) columns: Columns,
    /// The columns to cluster by, from 0, in the order asked for.
    pub(crate) chosen: Vec<usize>,
    /// The column with the weights, from 0.
    pub(crate) weight: Option<usize>,
    /// The columns whose text is kept, from 0.
    pub(crate) kept: Vec<usize>,
    /// Whether the first line holds names.
    pub(crate) header: bool,
    /// Columns that hold something else than numbers, when all numeric ones were asked for.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A column that is not clustered because it is not numeric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeftOut {
    /// Its name.
    pub(crate) name: String,
    /// The line of the first field that is no number.
    pub(crate) line: u64,
    /// That field.
    pub(crate) text: String,
}

impl ColumnLayout {
    /// Decides from `first`, the first rows of the file (at least one).
    pub(crate) fn decide(
        file: &str,
        first: &[InputRecord],
        choice: &TableChoice,
    ) -> Result<ColumnLayout, InputError> {
        let width = first[0].len();
        let header = choice.header.unwrap_or_else(|| has_header(first, choice));
        let columns = if header {
            Columns::named(file, &first[0])
        } else {
            Columns::numbered(file, width)
        };
        let rows = &first[usize::from(header)..];
        let weight = choice
            .weight
            .as_deref()
            .map(|name| columns.find(name))
            .transpose()?;
        let excluded = columns.find_all(&choice.exclude)?;
        let kept = columns.find_all(&choice.keep)?;
        let mut left_out = Vec::new();
        let chosen = match &choice.columns {
            ColumnChoice::Listed(wanted) => columns.find_all(wanted)?,
            ColumnChoice::Geo { lat, lon } => columns.find_all(&[lat.clone(), lon.clone()])?,
            ColumnChoice::Nothing => Vec::new(),
            ColumnChoice::Numeric => {
                let mut chosen = Vec::new();
                let is_open = |index: &usize| Some(*index) != weight && !excluded.contains(index);
                for index in (0..width).filter(is_open) {
                    match first_text(rows, index) {
                        None => chosen.push(index),
                        Some(_) if kept.contains(&index) => {}
                        Some((line, text)) => left_out.push(LeftOut {
                            name: columns.name(index).to_owned(),
                            line,
                            text: text.to_owned(),
                        }),
                    }
                }
                chosen
            }
        };
        if let Some(index) = weight.filter(|index| chosen.contains(index)) {
            return Err(columns.twice(index));
        }
        if rows.is_empty() {
            return Err(InputError::HeaderOnly {
                file: file.to_owned(),
            });
        }
        if chosen.is_empty() && !matches!(choice.columns, ColumnChoice::Nothing) {
            let advice = match rows.iter().any(|row| row.fields().any(separated)) {
                true => "name the character between the fields with --delimiter",
                false => "name columns with --columns",
            };
            return Err(InputError::NoNumbers {
                file: file.to_owned(),
                advice,
            });
        }
        Ok(ColumnLayout {
            columns,
            chosen,
            weight,
            kept,
            header,
            left_out,
        })
    }
}

/// Whether the first row is a header. It is when a column is asked for by name, or when it has a
/// text where a column holds numbers. A field without a value is no evidence.
fn has_header(first: &[InputRecord], choice: &TableChoice) -> bool {
    let mut wanted: Vec<&str> = choice.weight.as_deref().into_iter().collect();
    let others = choice.exclude.iter().chain(&choice.keep);
    wanted.extend(others.map(String::as_str));
    match &choice.columns {
        ColumnChoice::Listed(names) => wanted.extend(names.iter().map(String::as_str)),
        ColumnChoice::Geo { lat, lon } => wanted.extend([lat.as_str(), lon]),
        ColumnChoice::Numeric | ColumnChoice::Nothing => {}
    }
    let numbers: Result<Vec<usize>, _> = wanted.iter().map(|name| name.parse()).collect();
    let Ok(numbers) = numbers else {
        return true;
    };
    if matches!(choice.columns, ColumnChoice::Nothing) {
        // Texts tell nothing.
        return false;
    }
    let is_number = |field: &str| field.parse::<f64>().is_ok();
    let is_text = |index: usize| {
        let field = first[0].field(index);
        !is_missing(field) && !is_number(field)
    };
    let numbers_below = |index: usize| {
        let mut below = first[1..]
            .iter()
            .map(|row| row.field(index))
            .filter(|field| !is_missing(field));
        let any = below.clone().next().is_some();
        any && below.all(is_number)
    };
    let width = first[0].len();
    let indices = numbers.iter().filter_map(|number| number.checked_sub(1));
    let mut chosen = indices.filter(|&index| index < width).peekable();
    let listed = !matches!(choice.columns, ColumnChoice::Numeric) && chosen.peek().is_some();
    let mut all = 0..width;
    chosen.any(is_text)
        || match first.len() {
            _ if listed => false,
            1 => all.all(is_text),
            _ => all.any(|index| is_text(index) && numbers_below(index)),
        }
}

/// The first field of column `index` that has a value which is no number, with its line. A field
/// without a value does not make a column one of text: what becomes of its row is said by
/// `--missing`.
fn first_text(rows: &[InputRecord], index: usize) -> Option<(u64, &str)> {
    let fields = rows.iter().map(|row| (row.line, row.field(index)));
    fields
        .into_iter()
        .find(|(_, field)| !is_missing(field) && field.parse::<f64>().is_err())
}

#[cfg(test)]
mod tests {
    use super::super::records::Records;
    use super::super::source::InputText;
    use super::*;
    use std::io::Cursor;

    fn decide(text: &'static str, choice: &TableChoice) -> Result<ColumnLayout, InputError> {
        let source = InputText::from_reader("in.csv".to_owned(), Cursor::new(text)).unwrap();
        let mut records = Records::new(source, b',');
        let (mut record, mut first) = (InputRecord::default(), Vec::new());
        while records.read(&mut record).unwrap() {
            first.push(record.clone());
        }
        ColumnLayout::decide("in.csv", &first, choice)
    }

    fn listed(names: &[&str]) -> TableChoice {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        TableChoice {
            columns: ColumnChoice::Listed(names),
            ..TableChoice::default()
        }
    }

    #[test]
    fn a_header_is_text_above_numbers() {
        let with = decide("name,x\nUlm,1\nBonn,2\n", &TableChoice::default()).unwrap();
        assert!(with.header);
        assert_eq!(with.chosen, [1]);
        let left_out = LeftOut {
            name: "name".to_owned(),
            line: 2,
            text: "Ulm".to_owned(),
        };
        assert_eq!(with.left_out, [left_out]);
        let without = decide("Ulm,1\nBonn,2\n", &TableChoice::default()).unwrap();
        assert!(!without.header);
        assert_eq!(without.chosen, [1]);
    }

    #[test]
    fn mixed_columns_do_not_make_a_header() {
        assert!(
            !decide("k3,1\n17,2\nk9,3\n", &TableChoice::default())
                .unwrap()
                .header
        );
    }

    #[test]
    fn a_name_asks_for_a_header_and_a_force_wins() {
        assert!(decide("2019,2020\n1,2\n", &listed(&["x"])).is_err());
        let forced = TableChoice {
            header: Some(true),
            ..listed(&["2020"])
        };
        assert_eq!(decide("2019,2020\n1,2\n", &forced).unwrap().chosen, [1]);
        let refused = TableChoice {
            header: Some(false),
            ..listed(&["1"])
        };
        assert!(!decide("a,b\n1,2\n", &refused).unwrap().header);
    }

    #[test]
    fn a_column_chosen_by_number_finds_the_header_above_it() {
        assert!(decide("a,b\n1,2\n", &listed(&["2"])).unwrap().header);
        assert!(!decide("a,5\n1,2\n", &listed(&["2"])).unwrap().header);
    }

    #[test]
    fn a_lonely_first_line_is_a_header_when_it_holds_no_number() {
        assert!(matches!(
            decide("a,b\n", &TableChoice::default()),
            Err(InputError::HeaderOnly { .. })
        ));
        assert_eq!(
            decide("1,b\n", &TableChoice::default()).unwrap().chosen,
            [0]
        );
    }

    #[test]
    fn the_weight_is_not_clustered() {
        let weight = Some("w".to_owned());
        let choice = TableChoice {
            weight: weight.clone(),
            ..TableChoice::default()
        };
        let layout = decide("x,w\n1,2\n", &choice).unwrap();
        assert_eq!((layout.chosen, layout.weight), (vec![0], Some(1)));
        let both = TableChoice {
            weight,
            ..listed(&["x", "w"])
        };
        assert!(matches!(
            decide("x,w\n1,2\n", &both),
            Err(InputError::ColumnTwice { .. })
        ));
    }

    #[test]
    fn texts_alone_cannot_be_clustered() {
        assert!(matches!(
            decide("a,b\nc,d\n", &TableChoice::default()),
            Err(InputError::NoNumbers { .. })
        ));
    }
}
