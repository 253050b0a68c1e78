//! Tables that numpy has written: an array of numbers, one row per point, columns without names.

use std::borrow::Cow;
use std::io::Read;

use super::columns::Columns;
use super::layout::{ColumnChoice, ColumnLayout};
use super::source::{InputText, fault};
use super::{InputTable, REPORT_ROWS, Row, Sink, TableRequest, finish};
use crate::error::InputError;
use crate::npy;

/// A row of an array. NaN says that there is no value.
struct Numbers<'a> {
    row: usize,
    values: &'a [f64],
}

impl Row for Numbers<'_> {
    fn line(&self) -> u64 {
        self.row as u64
    }

    fn text(&self, index: usize) -> Cow<'_, str> {
        Cow::Owned(self.values[index].to_string())
    }

    fn number(&self, index: usize) -> Option<f64> {
        Some(self.values[index])
    }

    fn lacks(&self, index: usize) -> bool {
        self.values[index].is_nan()
    }
}

/// Reads the chosen columns of an array; they are called by number.
pub(super) fn read(
    mut source: InputText,
    request: &TableRequest,
    on_rows: impl Fn(usize),
) -> Result<InputTable, InputError> {
    let file = source.label.clone();
    if request.delimiter.is_some() || request.choice.header == Some(true) {
        return Err(InputError::Array {
            file,
            problem: "it has no header and no delimiter: leave these options out".to_owned(),
        });
    }
    let mut bytes = Vec::new();
    let read = source.text.read_to_end(&mut bytes);
    read.map_err(|e| fault(&source.label, source.packed, e))?;
    let (rows, width, values) = npy::table(&bytes).map_err(|problem| InputError::Array {
        file: file.clone(),
        problem,
    })?;
    drop(bytes);
    if rows == 0 || width == 0 {
        return Err(InputError::Empty { file });
    }
    let layout = layout(&file, width, request)?;
    let mut sink = Sink::new(&file, &layout, request);
    for (row, values) in (1..).zip(values.chunks_exact(width)) {
        sink.push(&Numbers { row, values })?;
        if row.is_multiple_of(REPORT_ROWS) {
            on_rows(row);
        }
    }
    let taken = sink.taken();
    finish(file, layout, taken)
}

/// What the columns are for; all hold numbers.
fn layout(file: &str, width: usize, request: &TableRequest) -> Result<ColumnLayout, InputError> {
    let columns = Columns::numbered(file, width);
    let choice = &request.choice;
    let weight = choice.weight.as_deref().map(|name| columns.find(name));
    let weight = weight.transpose()?;
    let excluded = columns.find_all(&choice.exclude)?;
    let chosen = match &choice.columns {
        ColumnChoice::Listed(wanted) => columns.find_all(wanted)?,
        ColumnChoice::Geo { lat, lon } => columns.find_all(&[lat.clone(), lon.clone()])?,
        ColumnChoice::Nothing => Vec::new(),
        ColumnChoice::Numeric => (0..width)
            .filter(|index| Some(*index) != weight && !excluded.contains(index))
            .collect(),
    };
    if let Some(index) = weight.filter(|index| chosen.contains(index)) {
        return Err(columns.twice(index));
    }
    if chosen.is_empty() && !matches!(choice.columns, ColumnChoice::Nothing) {
        return Err(InputError::NoNumbers {
            file: file.to_owned(),
            advice: "name columns with --columns",
        });
    }
    Ok(ColumnLayout {
        kept: columns.find_all(&choice.keep)?,
        columns,
        chosen,
        weight,
        header: false,
        left_out: Vec::new(),
    })
}
