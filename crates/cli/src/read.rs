//! Reading tables of numbers: `Source` (bytes) ─► `Records` (rows) ─► `Layout` (which columns) ─►
//! `Table`.
//!
//! A table is read once, from its beginning to its end; nothing but the chosen numbers is kept.

mod columns;
mod dialect;
mod format;
mod layout;
mod missing;
mod records;
mod source;

use std::path::PathBuf;

pub(crate) use layout::{Choice, ColumnChoice, LeftOut};
pub use missing::OnMissing;
pub(crate) use missing::is_missing;
pub(crate) use source::{Source, fault, open_file};

use crate::error::{InputError, Place};
use layout::Layout;
use records::{Record, Records};

/// Rows that decide which columns are numeric.
const FIRST_ROWS: usize = 100;

/// Rows between two reports of progress.
const REPORT_ROWS: usize = 1 << 16;

/// A table to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// The file; `-` is standard input.
    pub(crate) file: PathBuf,
    /// The separator; `None`: find out.
    pub(crate) delimiter: Option<u8>,
    /// Its header and the columns wanted.
    pub(crate) choice: Choice,
    /// What to do with rows that lack a value.
    pub(crate) missing: OnMissing,
}

/// The chosen columns of a file.
#[derive(Debug)]
pub(crate) struct Table {
    /// What messages call the file.
    pub(crate) file: String,
    /// The names of the chosen columns.
    pub(crate) names: Vec<String>,
    /// The numbers, row after row; `names.len()` to a row.
    pub(crate) values: Vec<f64>,
    /// The name and the numbers of the column of weights.
    pub(crate) weights: Option<(String, Vec<f64>)>,
    /// The names and the texts of the columns that are kept as they are.
    pub(crate) kept: Vec<(String, Vec<String>)>,
    /// Columns left out because they are not numeric.
    pub(crate) left_out: Vec<LeftOut>,
    /// Numbers from 1, in order, of the rows that were left out because they lack a value.
    pub(crate) dropped: Vec<usize>,
    /// Cells that lacked a value and have got the mean of their column.
    pub(crate) filled: usize,
}

impl Table {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.values.len() / self.names.len()
    }
}

/// Reads the chosen columns. `on_rows` hears now and then how many rows have been read.
///
/// # Errors
/// Any [`InputError`]; it names the line and the column where it can.
pub(crate) fn read_table(request: &Request, on_rows: impl Fn(usize)) -> Result<Table, InputError> {
    let source = Source::open(&request.file)?;
    let delimiter = request
        .delimiter
        .unwrap_or_else(|| dialect::detect_delimiter(&source.head));
    let mut records = Records::new(source, delimiter);
    let first = first_rows(&mut records)?;
    let file = records.label().to_owned();
    let layout = Layout::decide(&file, &first, &request.choice)?;
    let mut sink = Sink::new(&file, &layout, request);
    for record in &first[usize::from(layout.header)..] {
        sink.push(record)?;
    }
    let mut record = Record::default();
    while records.read(&mut record)? {
        sink.push(&record)?;
        if sink.seen.is_multiple_of(REPORT_ROWS) {
            on_rows(sink.seen);
        }
    }
    let Sink {
        mut values,
        weights,
        kept,
        dropped,
        holes,
        seen,
        ..
    } = sink;
    if seen == dropped.len() {
        return Err(InputError::AllDropped { file });
    }
    if let Err(column) = missing::fill(&mut values, layout.chosen.len(), &holes) {
        let column = layout.columns.name(layout.chosen[column]).to_owned();
        return Err(InputError::NoValues { file, column });
    }
    let name = |index: usize| layout.columns.name(index).to_owned();
    let weights = layout.weight.map(|index| (name(index), weights));
    if let Some((column, weights)) = &weights
        && weights.iter().all(|&weight| weight == 0.0)
    {
        return Err(InputError::NoWeight {
            file,
            column: column.clone(),
        });
    }
    Ok(Table {
        names: layout.chosen.iter().map(|&index| name(index)).collect(),
        file,
        values,
        weights,
        kept: layout
            .kept
            .iter()
            .map(|&index| name(index))
            .zip(kept)
            .collect(),
        left_out: layout.left_out,
        dropped,
        filled: holes.len(),
    })
}

/// The rows that decide the layout.
fn first_rows(records: &mut Records) -> Result<Vec<Record>, InputError> {
    let mut first = Vec::new();
    let mut record = Record::default();
    while first.len() <= FIRST_ROWS && records.read(&mut record)? {
        first.push(record.clone());
    }
    if first.is_empty() {
        return Err(InputError::Empty {
            file: records.label().to_owned(),
        });
    }
    Ok(first)
}

/// Takes the chosen numbers out of the rows and checks each.
struct Sink<'a> {
    file: &'a str,
    layout: &'a Layout,
    /// Whether the two chosen columns are degrees.
    geo: bool,
    on_missing: OnMissing,
    /// Rows that came.
    seen: usize,
    values: Vec<f64>,
    weights: Vec<f64>,
    /// By column that is kept.
    kept: Vec<Vec<String>>,
    /// Numbers from 1 of the rows that came and were left out.
    dropped: Vec<usize>,
    /// Where in `values` a mean is to come.
    holes: Vec<usize>,
}

impl<'a> Sink<'a> {
    fn new(file: &'a str, layout: &'a Layout, request: &Request) -> Sink<'a> {
        let geo = matches!(request.choice.columns, ColumnChoice::Geo { .. });
        Sink {
            file,
            layout,
            geo,
            on_missing: request.missing,
            seen: 0,
            values: Vec::new(),
            weights: Vec::new(),
            kept: vec![Vec::new(); layout.kept.len()],
            dropped: Vec::new(),
            holes: Vec::new(),
        }
    }

    fn push(&mut self, record: &Record) -> Result<(), InputError> {
        self.seen += 1;
        let cells = self.layout.chosen.iter().chain(&self.layout.weight);
        if self.on_missing == OnMissing::DropRow
            && cells
                .into_iter()
                .any(|&index| missing::is_missing(record.field(index)))
        {
            self.dropped.push(self.seen);
            return Ok(());
        }
        for &index in &self.layout.chosen {
            let hole = missing::is_missing(record.field(index));
            if hole && self.on_missing == OnMissing::Mean {
                self.holes.push(self.values.len());
                self.values.push(0.0);
            } else {
                let value = self.number(record, index)?;
                self.values.push(value);
            }
        }
        if self.geo {
            self.check_degrees(record)?;
        }
        if let Some(index) = self.layout.weight {
            let weight = self.number(record, index)?;
            if weight < 0.0 {
                let (place, text) = (self.place(record, index), shown(record.field(index)));
                return Err(InputError::NegativeWeight { place, text });
            }
            self.weights.push(weight);
        }
        for (texts, &index) in self.kept.iter_mut().zip(&self.layout.kept) {
            texts.push(record.field(index).to_owned());
        }
        Ok(())
    }

    fn number(&self, record: &Record, index: usize) -> Result<f64, InputError> {
        let text = record.field(index);
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => Err(InputError::NotFinite {
                place: self.place(record, index),
                text: shown(text),
            }),
            Err(_) if missing::is_missing(text) => Err(InputError::MissingValue {
                place: self.place(record, index),
                text: shown(text),
                advice: self.missing_advice(index),
            }),
            Err(_) => Err(InputError::NotANumber {
                place: self.place(record, index),
                text: shown(text),
                advice: number_advice(text),
            }),
        }
    }

    fn check_degrees(&self, record: &Record) -> Result<(), InputError> {
        let limits = [("latitude", -90.0, 90.0), ("longitude", -360.0, 360.0)];
        let row = &self.values[self.values.len() - 2..];
        for (side, (what, least, most)) in limits.into_iter().enumerate() {
            if !(least..=most).contains(&row[side]) {
                let index = self.layout.chosen[side];
                return Err(InputError::Degrees {
                    place: self.place(record, index),
                    what,
                    text: shown(record.field(index)),
                    least,
                    most,
                });
            }
        }
        Ok(())
    }

    fn missing_advice(&self, index: usize) -> &'static str {
        if self.geo || self.layout.weight == Some(index) {
            "fill it in, or leave such rows out with --missing drop-row"
        } else {
            "fill it in, or give --missing drop-row or --missing mean, or other --columns"
        }
    }

    fn place(&self, record: &Record, index: usize) -> Place {
        Place::line(self.file, record.line).in_column(self.layout.columns.name(index))
    }
}

/// A field as messages show it: short and on one line.
pub(crate) fn shown(text: &str) -> String {
    const LENGTH: usize = 40;
    let mut shown: String = text.chars().take(LENGTH).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}

fn number_advice(text: &str) -> &'static str {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let comma = text.trim_start_matches('-').split_once(',');
    match comma {
        Some((whole, part)) if digits(whole) && digits(part) => {
            "write decimals with a point; if commas separate the fields, add --delimiter ,"
        }
        _ => "correct it, or choose other columns with --columns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_messages_are_short_and_on_one_line() {
        assert_eq!(shown("abc"), "abc");
        assert_eq!(shown("a\nb\t"), "a\\nb\\t");
        assert_eq!(shown(&"é".repeat(50)), format!("{}…", "é".repeat(40)));
    }

    #[test]
    fn a_decimal_comma_is_recognised() {
        assert!(number_advice("-1,5").contains("point"));
        assert!(!number_advice("1,x").contains("point"));
    }
}
