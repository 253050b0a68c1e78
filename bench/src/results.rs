//! What a run of the suite has left in its folder, as pictures, tables and the report take it.

use crate::measuring::Row;
use crate::suite::{Machine, StoreError, all, read, read_machine};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The rows of a folder, and the machine that they were measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What was measured, in the order of the file.
    pub rows: Vec<Row>,
    /// The record of the machine, if the folder has one.
    pub machine: Option<Machine>,
    /// A run that was killed has left half a line at the end. It is not among the rows.
    pub cut_off: bool,
    /// What another machine measured, if the folder was joined of two runs.
    pub beside: Option<Box<Results>>,
}

/// The folder of another machine's rows in a folder that was joined.
pub(crate) const BESIDE: &str = "beside";

/// Why a folder cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file cannot be read or understood.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// There are no rows.
    #[error("{folder} has no rows: measure some with motet bench run all --out {folder}")]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// A row belongs to an experiment that is not known.
    #[error("{} has rows of {key}, which is no experiment of this program: use the motet that wrote them; motet bench list \
         names those there are",
        .folder.join("rows.jsonl").display())]
    Experiment {
        /// The folder.
        folder: PathBuf,
        /// The experiment.
        key: String,
    },
}

impl Results {
    /// Reads `rows.jsonl` and `machine.json` of a folder, and what was joined with them. Rows of
    /// the other machine whose points name their processor are among the rows too.
    ///
    /// # Errors
    /// [`ReadError`], when there is nothing, or something that this program does not understand.
    pub fn read(folder: &Path) -> Result<Results, ReadError> {
        let mut one = Results::read_one(folder)?;
        let beside = folder.join(BESIDE);
        if beside.is_dir() {
            let beside = Results::read_one(&beside)?;
            let named = beside.rows.iter().filter(|row| {
                let known = |other: &Row| other.name() == row.name();
                row.point.get("processor").is_some() && !one.rows.iter().any(known)
            });
            let named: Vec<Row> = named.cloned().collect();
            one.rows.extend(named);
            one.beside = Some(Box::new(beside));
        }
        Ok(one)
    }

    /// A folder alone.
    fn read_one(folder: &Path) -> Result<Results, ReadError> {
        let rows = match read(folder) {
            Ok(rows) => rows,
            Err(error) if is_missing(&error) => Vec::new(),
            Err(error) => return Err(ReadError::Store(error)),
        };
        if rows.is_empty() {
            return Err(ReadError::Empty {
                folder: folder.to_owned(),
            });
        }
        // Only keys: rows are looked up by them.
        let known = |key: &str| all().iter().any(|experiment| experiment.key == key);
        if let Some(row) = rows.iter().find(|row| !known(&row.experiment)) {
            return Err(ReadError::Experiment {
                folder: folder.to_owned(),
                key: row.experiment.clone(),
            });
        }
        let machine = match read_machine(folder) {
            Ok(machine) => Some(machine),
            Err(error) if is_missing(&error) => None,
            Err(error) => return Err(ReadError::Store(error)),
        };
        let bytes = fs::read(folder.join("rows.jsonl")).unwrap_or_default();
        Ok(Results {
            rows,
            machine,
            cut_off: !bytes.ends_with(b"\n"),
            beside: None,
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
        rows.filter(|row| row.values().is_some()).count()
    }
}

fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::File { error, .. } if error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"schema":1,"experiment":"E01","series":"motet","point":{"what":"unit"},"quantity":"time","unit":"us","median":1.4,"least":1.3,"most":1.5,"runs":5,"disturbed":false}"#;

    fn read_rows(text: &str) -> Result<Results, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rows.jsonl"), text).unwrap();
        Results::read(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn half_a_line_at_the_end_is_left_out_and_told() {
        let whole = read_rows(&format!("{ROW}\n{}\n", ROW.replace("motet", "Go"))).unwrap();
        assert_eq!(
            (whole.rows.len(), whole.measured(), whole.cut_off),
            (2, 2, false)
        );
        assert!(whole.machine.is_none());
        let half = read_rows(&format!("{ROW}\n{}", &ROW[..90])).unwrap();
        assert_eq!((half.rows.len(), half.cut_off), (1, true));
        assert_eq!(half.of("E01").len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line_with_what_to_do() {
        let cases = [
            (String::new(), "has no rows: measure some"),
            (ROW[..90].to_owned(), "has no rows"),
            (format!("{}\n{ROW}\n", &ROW[..90]), "rows.jsonl:1: "),
            (
                format!("{}\n", ROW.replace("\"schema\":1", "\"schema\":7")),
                "rows.jsonl:1: ",
            ),
            (
                format!("{}\n", ROW.replace("E01", "E99")),
                "rows of E99, which is no experiment",
            ),
            (
                format!("{}\n", ROW.replace("E01", "e01")),
                "rows of e01, which is no experiment",
            ),
            (
                format!("{}\n", ROW.replace("E01", "unit-time")),
                "rows of unit-time, which is no experiment",
            ),
        ];
        for (text, said) in cases {
            let error = read_rows(&text).unwrap_err();
            assert!(
                error.contains(said) && !error.contains('\n'),
                "{said}: {error}"
            );
        }
        let error = Results::read(Path::new("no/such/folder"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("no/such/folder has no rows"), "{error}");
    }
}
