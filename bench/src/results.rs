//! What a run of the suite has left in its folder: the rows and the record of the machine.

use crate::suite::{Outcome, Row, SCHEMA, find};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The rows of a folder, and the machine that they were measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What was measured, in the order of the file.
    pub rows: Vec<Row>,
    /// The record of the machine, as it is written; null when there is none.
    pub machine: Value,
    /// The line, from 1, that a run which was killed has left half written. It is not among the rows.
    pub cut_off: Option<usize>,
}

/// Why a folder cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// A file cannot be opened.
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no row.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A line is not a row.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A line is a row of another form.
    Schema {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The number of its form.
        found: u64,
    },
    /// A row belongs to an experiment that is not known.
    Experiment {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The experiment.
        key: String,
    },
    /// The record of the machine is not JSON.
    Machine {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl Results {
    /// Reads `rows.jsonl` and `machine.json` of a folder.
    ///
    /// # Errors
    /// [`ReadError`], when there is nothing, or something that this program does not understand.
    pub fn read(folder: &Path) -> Result<Results, ReadError> {
        let path = folder.join("rows.jsonl");
        let text = fs::read_to_string(&path).map_err(|source| ReadError::Open {
            path: path.clone(),
            source,
        })?;
        let (rows, cut_off) = rows(&path, &text)?;
        let machine = machine(&folder.join("machine.json"))?;
        Ok(Results {
            rows,
            machine,
            cut_off,
        })
    }

    /// The rows of an experiment.
    #[must_use]
    pub fn of(&self, experiment: &str) -> Vec<&Row> {
        let rows = self.rows.iter();
        rows.filter(|row| row.experiment == experiment).collect()
    }

    /// How many rows have values.
    #[must_use]
    pub fn measured(&self) -> usize {
        let rows = self.rows.iter();
        let measured = rows.filter(|row| matches!(row.outcome, Outcome::Measured { .. }));
        measured.count()
    }
}

/// The rows of a file, and the line that is half written.
fn rows(path: &Path, text: &str) -> Result<(Vec<Row>, Option<usize>), ReadError> {
    let mut rows = Vec::new();
    let mut cut_off = None;
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let count = text.lines().count();
    for (line, content) in lines.filter(|(_, content)| !content.trim().is_empty()) {
        match row(path, line, content) {
            Ok(row) => rows.push(row),
            Err(ReadError::Line { .. }) if line == count && !text.ends_with('\n') => {
                cut_off = Some(line);
            }
            Err(error) => return Err(error),
        }
    }
    if rows.is_empty() {
        return Err(ReadError::Empty {
            path: path.to_owned(),
        });
    }
    Ok((rows, cut_off))
}

fn row(path: &Path, line: usize, content: &str) -> Result<Row, ReadError> {
    /// What every form has.
    #[derive(Deserialize)]
    struct Form {
        schema: u64,
    }
    let wrong = |error: serde_json::Error| ReadError::Line {
        path: path.to_owned(),
        line,
        what: error.to_string(),
    };
    let form: Form = serde_json::from_str(content).map_err(wrong)?;
    if form.schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema {
            path: path.to_owned(),
            line,
            found: form.schema,
        });
    }
    let row: Row = serde_json::from_str(content).map_err(wrong)?;
    if find(&row.experiment).is_err() {
        return Err(ReadError::Experiment {
            path: path.to_owned(),
            line,
            key: row.experiment,
        });
    }
    Ok(row)
}

fn machine(path: &Path) -> Result<Value, ReadError> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| ReadError::Machine {
            path: path.to_owned(),
            what: error.to_string(),
        }),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Value::Null),
        Err(source) => Err(ReadError::Open {
            path: path.to_owned(),
            source,
        }),
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Open { path, source } => write!(
                f,
                "{} cannot be read: {source}: name the folder that motet bench run wrote into",
                path.display()
            ),
            ReadError::Empty { path } => write!(
                f,
                "{} has no rows: measure some with motet bench run all --out {}",
                path.display(),
                path.parent().unwrap_or(path).display()
            ),
            ReadError::Line { path, line, what } => write!(
                f,
                "{}:{line} is not a row: {what}: delete the line, or measure its experiment again",
                path.display()
            ),
            ReadError::Schema { path, line, found } => write!(
                f,
                "{}:{line} has the schema {found}, this program reads {SCHEMA}: use the motet that wrote it, or measure \
                 into another folder",
                path.display()
            ),
            ReadError::Experiment { path, line, key } => write!(
                f,
                "{}:{line} belongs to {key}, which is no experiment of this program: use the motet that wrote it; motet \
                 bench list names those there are",
                path.display()
            ),
            ReadError::Machine { path, what } => write!(
                f,
                "{} is not the record of a machine: {what}: delete it, and run any experiment into the folder",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Open { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"schema":1,"experiment":"E01","series":"motet","point":{"what":"unit"},"quantity":"time","unit":"us","median":1.4,"least":1.3,"most":1.5,"runs":5,"disturbed":false}"#;

    fn read(text: &str) -> Result<(Vec<Row>, Option<usize>), String> {
        rows(Path::new("out/rows.jsonl"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn whole_lines_are_rows_and_half_a_line_at_the_end_is_left_out() {
        let text = format!("{ROW}\n\n{ROW}\n");
        assert_eq!(read(&text).unwrap().0.len(), 2);
        let (rows, cut_off) = read(&format!("{ROW}\n{}", &ROW[..90])).unwrap();
        assert_eq!((rows.len(), cut_off), (1, Some(2)));
        // A whole row whose end of line is missing is a row.
        assert_eq!(read(ROW).unwrap(), (rows, None));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line_with_its_place() {
        let cases = [
            (String::new(), "has no rows"),
            (
                format!("{}\n{ROW}\n", &ROW[..90]),
                "rows.jsonl:1 is not a row",
            ),
            (
                ROW.replace("\"schema\":1", "\"schema\":7"),
                "rows.jsonl:1 has the schema 7",
            ),
            (ROW.replace("E01", "E99"), "belongs to E99"),
            (
                format!("{ROW}\n{{\"schema\":1}}\n"),
                "rows.jsonl:2 is not a row: missing field",
            ),
        ];
        for (text, said) in cases {
            let error = read(&text).unwrap_err();
            assert!(
                error.contains(said) && !error.contains('\n'),
                "{said}: {error}"
            );
        }
    }

    #[test]
    fn a_folder_without_rows_is_named() {
        let error = Results::read(Path::new("no/such/folder")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no/such/folder/rows.jsonl cannot be read")
        );
    }
}
