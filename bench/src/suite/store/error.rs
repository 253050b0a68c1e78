//! Why a folder of rows cannot be used, and what to do.

use crate::suite::machine::Identity;
use crate::suite::row::SCHEMA;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A folder of rows cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Something cannot be read or written.
    File {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line is no row.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A row has another form.
    Schema {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Its number.
        found: u32,
    },
    /// The record of the machine cannot be understood.
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// The rows were measured on another machine.
    OtherMachine {
        /// The folder.
        dir: PathBuf,
        /// Whose rows it has.
        there: Box<Identity>,
        /// This one.
        here: Box<Identity>,
    },
    /// The rows were measured in another manner.
    OtherManner {
        /// The folder.
        dir: PathBuf,
        /// That of its rows.
        there: String,
        /// That of this run.
        here: String,
    },
    /// The record of the machine has another form.
    RecordSchema {
        /// The file.
        path: PathBuf,
        /// Its number.
        found: u32,
    },
    /// Another run writes into the folder.
    Locked {
        /// The folder.
        dir: PathBuf,
    },
    /// There are rows, and no record of the machine.
    NoRecord {
        /// The folder.
        dir: PathBuf,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::File { path, error } => {
                write!(f, "{}: {error}: name another folder", path.display())
            }
            StoreError::Line { path, line, error } => write!(
                f,
                "{}:{line}: this is no row: {error}: remove the line, or name another folder",
                path.display()
            ),
            StoreError::Schema { path, line, found } => write!(
                f,
                "{}:{line}: rows have form {found} there and {SCHEMA} here: name another folder",
                path.display()
            ),
            StoreError::Record { path, error } => write!(
                f,
                "{}: this is no record of a machine: {error}: name another folder",
                path.display()
            ),
            StoreError::OtherMachine { dir, there, here } => write!(
                f,
                "{}: its rows were measured on {there}, this is {here}: name another folder",
                dir.display()
            ),
            StoreError::OtherManner { dir, there, here } => write!(
                f,
                "{} holds {there} rows, and these would be {here}: name another folder with --out, or measure all its \
                 experiments again",
                dir.display()
            ),
            StoreError::RecordSchema { path, found } => write!(
                f,
                "{}: the record of the machine has form {found} there and {SCHEMA} here: name another folder",
                path.display()
            ),
            StoreError::Locked { dir } => write!(
                f,
                "another run writes into {}: wait for its end, or name another folder with --out",
                dir.display()
            ),
            StoreError::NoRecord { dir } => write!(
                f,
                "{}: it has rows and no machine.json that says whose: name another folder",
                dir.display()
            ),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::File { error, .. } => Some(error),
            StoreError::Line { error, .. } | StoreError::Record { error, .. } => Some(error),
            StoreError::Schema { .. }
            | StoreError::OtherMachine { .. }
            | StoreError::OtherManner { .. }
            | StoreError::RecordSchema { .. }
            | StoreError::Locked { .. }
            | StoreError::NoRecord { .. } => None,
        }
    }
}
