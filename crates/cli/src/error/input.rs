//! What is wrong with a file that is read.

use std::fmt;
use std::io;

use thiserror::Error;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPosition {
    /// The path as given, or `<stdin>`.
    pub file: String,
    /// The line, from 1; of an array the row.
    pub line: u64,
    /// The name of the column.
    pub column: Option<String>,
}

impl InputPosition {
    /// A line of a file.
    pub(crate) fn line(file: &str, line: u64) -> InputPosition {
        InputPosition {
            file: file.to_owned(),
            line,
            column: None,
        }
    }

    /// A field of that line.
    pub(crate) fn in_column(self, column: &str) -> InputPosition {
        InputPosition {
            column: Some(column.to_owned()),
            ..self
        }
    }
}

impl fmt::Display for InputPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match &self.column {
            Some(column) => write!(f, ", column {column}"),
            None => Ok(()),
        }
    }
}

impl InputError {
    /// What it means that a file cannot be opened, or not be read as text.
    pub(crate) fn opening(file: String, source: io::Error) -> InputError {
        match source.kind() {
            io::ErrorKind::NotFound => InputError::Missing { file },
            io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory => {
                InputError::NoText { file, source }
            }
            _ => InputError::Open { file, source },
        }
    }
}

/// A file cannot be read as a table of numbers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is no such file.
    #[error("no such file: {file}: check the path")]
    Missing {
        /// The path as given.
        file: String,
    },
    /// The path is a directory.
    #[error("{file} is a directory: give a CSV file in it")]
    Directory {
        /// The path as given.
        file: String,
    },
    /// The file cannot be opened.
    #[error("cannot open {file}: {source}: check its permissions")]
    Open {
        /// The path as given.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// What is there is no file of text.
    #[error("cannot read {file} as text: {source}: name another file")]
    NoText {
        /// The path as given.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Reading failed on the way.
    #[error("cannot read {file}: {source}: check the disk or the connection")]
    Read {
        /// The path as given.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Memory does not hold it.
    #[error("there is not enough memory for {file}: give fewer rows, or raise the limit")]
    Memory {
        /// The path as given.
        file: String,
    },
    /// The file is damaged or cut.
    #[error("broken {packed} data in {file}: {source}: fetch or pack the file again")]
    BrokenPack {
        /// The path as given.
        file: String,
        /// What has packed it.
        packed: &'static str,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The text is in another encoding, or no text at all.
    #[error("the text is not UTF-8: {place}: convert it, or unpack it if it is an archive")]
    NotUtf8 {
        /// Where the first such row begins.
        place: InputPosition,
    },
    /// Lines end in bare carriage returns.
    #[error("lines end in bare carriage returns: {place}: convert them, as tr '\\r' '\\n' does")]
    LineEnds {
        /// Where the first such line begins.
        place: InputPosition,
    },
    /// A quotation mark is never closed.
    #[error("a quotation mark is not closed: {place}: close it")]
    OpenQuote {
        /// Where the row begins.
        place: InputPosition,
    },
    /// A `.npy` file holds no table of numbers.
    #[error("{file} holds no table of numbers: {problem}")]
    Array {
        /// The path as given.
        file: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// There is no row at all.
    #[error("{file} is empty: give a table with one row per point")]
    Empty {
        /// The path as given.
        file: String,
    },
    /// There is a header and nothing below it.
    #[error("{file} has a header and no rows: add rows, or --no-header if line 1 is a point")]
    HeaderOnly {
        /// The path as given.
        file: String,
    },
    /// A row has another number of fields than the first.
    #[error("{found} fields instead of {expected}: {place}: correct the row, or try --delimiter")]
    Ragged {
        /// Where the row begins.
        place: InputPosition,
        /// Its number of fields.
        found: usize,
        /// That of the first row.
        expected: usize,
    },
    /// A field is not a number.
    #[error("'{text}' is not a number: {place}: {advice}")]
    NotANumber {
        /// The field.
        place: InputPosition,
        /// Its text.
        text: String,
        /// What to do.
        advice: &'static str,
    },
    /// A field has no value.
    #[error("a value is missing ('{text}'): {place}: {advice}")]
    MissingValue {
        /// The field.
        place: InputPosition,
        /// Its text.
        text: String,
        /// What to do.
        advice: &'static str,
    },
    /// Every row lacks a value.
    #[error("every row of {file} lacks a value: choose other columns with --columns")]
    AllDropped {
        /// The path as given.
        file: String,
    },
    /// A column has no value to take the mean of.
    #[error("column {column} of {file} has no value: choose other columns with --columns")]
    NoValues {
        /// The path as given.
        file: String,
        /// The column.
        column: String,
    },
    /// The file is no CSV.
    #[error("{file} is {what}, not CSV: {advice}")]
    Format {
        /// The path as given.
        file: String,
        /// What it is.
        what: &'static str,
        /// What to do with it.
        advice: &'static str,
    },
    /// A field is infinite, or too large for a number of 64 bits.
    #[error("'{text}' is not finite: {place}: drop the row or correct it")]
    NotFinite {
        /// The field.
        place: InputPosition,
        /// Its text.
        text: String,
    },
    /// A latitude or a longitude is out of range.
    #[error("{what} {text} is not between {least} and {most}: {place}: is --geo LAT,LON in order?")]
    Degrees {
        /// The field.
        place: InputPosition,
        /// Latitude or longitude.
        what: &'static str,
        /// Its text.
        text: String,
        /// The least it can be.
        least: f64,
        /// The most it can be.
        most: f64,
    },
    /// A weight is negative.
    #[error("weight {text} is negative: {place}: give weights of 0 or more")]
    NegativeWeight {
        /// The field.
        place: InputPosition,
        /// Its text.
        text: String,
    },
    /// Every weight is zero.
    #[error("all weights are 0: {file}, column {column}: give at least one row a weight")]
    NoWeight {
        /// The path as given.
        file: String,
        /// The column of weights.
        column: String,
    },
    /// There is no such column.
    #[error("no column {name} in {file}: {advice}")]
    UnknownColumn {
        /// The path as given.
        file: String,
        /// The column asked for.
        name: String,
        /// The nearest name and the names there are.
        advice: String,
    },
    /// Two columns have the name asked for.
    #[error("columns {first} and {second} of {file} are both called {name}: give the number")]
    AmbiguousColumn {
        /// The path as given.
        file: String,
        /// The column asked for.
        name: String,
        /// Number of the first, from 1.
        first: usize,
        /// Number of the second, from 1.
        second: usize,
    },
    /// A column is asked for twice.
    #[error("column {name} of {file} is asked for twice: name each column once")]
    ColumnTwice {
        /// The path as given.
        file: String,
        /// The column.
        name: String,
    },
    /// There are fewer rows than clusters asked for.
    #[error("{clusters} clusters are asked for, {file} has {points} points: ask for fewer")]
    FewPoints {
        /// The path as given.
        file: String,
        /// The rows there are.
        points: usize,
        /// The clusters asked for.
        clusters: usize,
    },
    /// No column holds numbers.
    #[error("no column of {file} holds numbers in every row: {advice}")]
    NoNumbers {
        /// The path as given.
        file: String,
        /// What to do.
        advice: &'static str,
    },
}
