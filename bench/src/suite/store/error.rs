//! Why a folder of rows cannot be used, and what to do.

use crate::measuring::SCHEMA;
use crate::suite::machine::Identity;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A folder of rows cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Something cannot be read or written.
    #[error("{path}: {error}: name another folder")]
    File {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A line is no row.
    #[error("{path}:{line}: this is no row: {error}: remove the line, or name another folder")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        #[source]
        error: serde_json::Error,
    },
    /// A row has another form.
    #[error("{path}:{line}: rows have form {found} there and {SCHEMA} here: name another folder")]
    Schema {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Its number.
        found: u32,
    },
    /// The record of the machine cannot be understood.
    #[error("{path}: this is no record of a machine: {error}: name another folder")]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: serde_json::Error,
    },
    /// The rows were measured on another machine.
    #[error("{dir}: its rows were measured on {there}, this is {here}: name another folder")]
    OtherMachine {
        /// The folder.
        dir: PathBuf,
        /// Whose rows it has.
        there: Box<Identity>,
        /// This one.
        here: Box<Identity>,
    },
    /// The rows were measured in another manner.
    #[error(
        "{dir} holds {there} rows, and these would be {here}: name another folder with --out, or measure all its \
             experiments again"
    )]
    OtherManner {
        /// The folder.
        dir: PathBuf,
        /// That of its rows.
        there: String,
        /// That of this run.
        here: String,
    },
    /// The record of the machine has another form.
    #[error(
        "{path}: the record of the machine has form {found} there and {SCHEMA} here: name another folder"
    )]
    RecordSchema {
        /// The file.
        path: PathBuf,
        /// Its number.
        found: u32,
    },
    /// Another run writes into the folder.
    #[error("another run writes into {dir}: wait for its end, or name another folder with --out")]
    Locked {
        /// The folder.
        dir: PathBuf,
    },
    /// There are rows, and no record of the machine.
    #[error("{dir}: it has rows and no machine.json that says whose: name another folder")]
    NoRecord {
        /// The folder.
        dir: PathBuf,
    },
}
