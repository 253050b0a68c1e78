//! Reading tables of numbers: `InputText` (bytes) ─► `Records` (rows) ─► `ColumnLayout` (which
//! columns) ─► `InputTable`.
//!
//! A table is read once, from its beginning to its end; nothing but the chosen numbers is kept.

mod array;
mod columns;
mod dialect;
mod format;
mod layout;
mod missing;
mod records;
mod source;

use std::borrow::Cow;
use std::path::PathBuf;

pub(crate) use dialect::detect_delimiter;
pub(crate) use format::is_fasta;
pub(crate) use layout::{ColumnChoice, LeftOut, TableChoice};
pub use missing::OnMissing;
pub(crate) use missing::is_missing;
pub(crate) use source::{InputText, fault, is_file, open_file};

use crate::error::{InputError, InputPosition};
use crate::npy;
use layout::ColumnLayout;
use records::{InputRecord, Records};

/// Rows that decide which columns are numeric.
const FIRST_ROWS: usize = 100;

/// Rows between two reports of progress.
const REPORT_ROWS: usize = 1 << 16;

/// A table to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableRequest {
    /// The file; `-` is standard input.
    pub(crate) file: PathBuf,
    /// The separator; `None`: find out.
    pub(crate) delimiter: Option<u8>,
    /// Its header and the columns wanted.
    pub(crate) choice: TableChoice,
    /// What to do with rows that lack a value.
    pub(crate) missing: OnMissing,
}

/// The chosen columns of a file.
#[derive(Debug)]
pub(crate) struct InputTable {
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

impl InputTable {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.values.len() / self.names.len()
    }
}

/// Reads the chosen columns. `on_rows` hears now and then how many rows have been read.
///
/// # Errors
/// Any [`InputError`]; it names the line and the column where it can.
pub(crate) fn read_table(
    request: &TableRequest,
    on_rows: impl Fn(usize),
) -> Result<InputTable, InputError> {
    read_opened(InputText::open(&request.file)?, request, on_rows)
}

/// As [`read_table`], of an input that was opened already: a pipe can be opened once only.
pub(crate) fn read_opened(
    source: InputText,
    request: &TableRequest,
    on_rows: impl Fn(usize),
) -> Result<InputTable, InputError> {
    if source.head.starts_with(npy::MAGIC) {
        return array::read(source, request, on_rows);
    }
    let fasta = is_fasta(&source.head);
    let delimiter = request
        .delimiter
        .unwrap_or_else(|| detect_delimiter(&source.head));
    let mut records = Records::new(source, delimiter);
    let first = first_rows(&mut records)?;
    let file = records.label().to_owned();
    let layout = ColumnLayout::decide(&file, &first, &request.choice);
    let layout = layout.map_err(|error| match records.blame(error) {
        InputError::NoNumbers { file, .. } if fasta => InputError::NoNumbers {
            file,
            advice: "it begins with >, as sequences do; motet cluster - --pairwise reads them from \
                     standard input, motet hmm from a file",
        },
        error => error,
    })?;
    let mut sink = Sink::new(&file, &layout, request);
    for record in &first[usize::from(layout.header)..] {
        sink.push(record).map_err(|error| records.blame(error))?;
    }
    let mut record = InputRecord::default();
    while records.read(&mut record)? {
        sink.push(&record).map_err(|error| records.blame(error))?;
        if sink.taken.seen.is_multiple_of(REPORT_ROWS) {
            on_rows(sink.taken.seen);
        }
    }
    let taken = sink.taken();
    finish(file, layout, taken)
}

/// The table of what has been taken from the rows.
fn finish(file: String, layout: ColumnLayout, taken: Taken) -> Result<InputTable, InputError> {
    let Taken {
        mut values,
        weights,
        kept,
        dropped,
        holes,
        seen,
    } = taken;
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
    Ok(InputTable {
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
fn first_rows(records: &mut Records) -> Result<Vec<InputRecord>, InputError> {
    let mut first = Vec::new();
    let mut record = InputRecord::default();
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

/// One row of a file of any kind.
trait Row {
    /// Its line, or its number, from 1.
    fn line(&self) -> u64;
    /// What column `index` says, for messages and for columns that are kept.
    fn text(&self, index: usize) -> Cow<'_, str>;
    /// The number of column `index`, if it has one.
    fn number(&self, index: usize) -> Option<f64>;
    /// Whether column `index` says that it has no value.
    fn lacks(&self, index: usize) -> bool;
}

impl Row for InputRecord {
    fn line(&self) -> u64 {
        self.line
    }

    fn text(&self, index: usize) -> Cow<'_, str> {
        Cow::Borrowed(self.field(index))
    }

    fn number(&self, index: usize) -> Option<f64> {
        self.field(index).parse().ok()
    }

    fn lacks(&self, index: usize) -> bool {
        missing::is_missing(self.field(index)) || missing::is_nan(self.field(index))
    }
}

/// What has been taken out of the rows.
#[derive(Default)]
struct Taken {
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

/// Takes the chosen numbers out of the rows and checks each.
struct Sink<'a> {
    file: &'a str,
    layout: &'a ColumnLayout,
    /// Whether the two chosen columns are degrees.
    geo: bool,
    on_missing: OnMissing,
    taken: Taken,
}

impl<'a> Sink<'a> {
    fn new(file: &'a str, layout: &'a ColumnLayout, request: &TableRequest) -> Sink<'a> {
        let geo = matches!(request.choice.columns, ColumnChoice::Geo { .. });
        Sink {
            file,
            layout,
            geo,
            on_missing: request.missing,
            taken: Taken {
                kept: vec![Vec::new(); layout.kept.len()],
                ..Taken::default()
            },
        }
    }

    fn taken(self) -> Taken {
        self.taken
    }

    fn push(&mut self, row: &impl Row) -> Result<(), InputError> {
        let layout = self.layout;
        self.taken.seen += 1;
        let mut cells = layout.chosen.iter().chain(&layout.weight);
        if self.on_missing == OnMissing::DropRow && cells.any(|&index| row.lacks(index)) {
            self.taken.dropped.push(self.taken.seen);
            return Ok(());
        }
        for &index in &layout.chosen {
            let hole = self.on_missing == OnMissing::Mean && row.lacks(index);
            if hole {
                self.taken.holes.push(self.taken.values.len());
                self.taken.values.push(0.0);
            } else {
                let value = self.number(row, index)?;
                self.taken.values.push(value);
            }
        }
        if self.geo {
            self.check_degrees(row)?;
        }
        if let Some(index) = layout.weight {
            let weight = self.number(row, index)?;
            if weight < 0.0 {
                let (place, text) = (self.place(row, index), shown(&row.text(index)));
                return Err(InputError::NegativeWeight { place, text });
            }
            self.taken.weights.push(weight);
        }
        for (texts, &index) in self.taken.kept.iter_mut().zip(&layout.kept) {
            texts.push(row.text(index).into_owned());
        }
        Ok(())
    }

    fn number(&self, row: &impl Row, index: usize) -> Result<f64, InputError> {
        let place = || self.place(row, index);
        let text = || shown(&row.text(index));
        match row.number(index) {
            Some(value) if value.is_finite() => Ok(value),
            _ if row.lacks(index) => Err(InputError::MissingValue {
                place: place(),
                text: text(),
                advice: self.missing_advice(index),
            }),
            Some(_) => Err(InputError::NotFinite {
                place: place(),
                text: text(),
            }),
            None => Err(InputError::NotANumber {
                place: place(),
                text: text(),
                advice: number_advice(&row.text(index)),
            }),
        }
    }

    fn check_degrees(&self, row: &impl Row) -> Result<(), InputError> {
        let limits = [("latitude", -90.0, 90.0), ("longitude", -360.0, 360.0)];
        let values = &self.taken.values[self.taken.values.len() - 2..];
        for (side, (what, least, most)) in limits.into_iter().enumerate() {
            if !(least..=most).contains(&values[side]) {
                let index = self.layout.chosen[side];
                return Err(InputError::Degrees {
                    place: self.place(row, index),
                    what,
                    text: shown(&row.text(index)),
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

    fn place(&self, row: &impl Row, index: usize) -> InputPosition {
        InputPosition::line(self.file, row.line()).in_column(self.layout.columns.name(index))
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

/// Whether these are several numbers, between which stands another character than those that are
/// tried.
fn separated(text: &str) -> bool {
    [' ', '|'].iter().any(|&mark| {
        let mut parts = text.split(mark).filter(|part| !part.is_empty());
        parts.clone().count() > 1 && parts.all(|part| part.trim().parse::<f64>().is_ok())
    })
}

fn number_advice(text: &str) -> &'static str {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let without_sign = text.trim_start_matches('-');
    // As in 1,234.5.
    let (whole, rest) = without_sign.split_once('.').unwrap_or((without_sign, "0"));
    match whole.contains(',') && whole.split(',').all(digits) && digits(rest) {
        true => {
            "write decimals with a point, and thousands without a comma; if commas separate the \
             fields, add --delimiter ,"
        }
        _ if separated(text) => "if that separates the fields, name it with --delimiter",
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
        for thousands in ["1,234", "12,345,678", "-1,234.5"] {
            assert!(number_advice(thousands).contains("thousands without"));
        }
    }
}
