//! The folder of a run: `rows.jsonl` and `machine.json`.
//!
//! Rows are appended after each round, each as one whole line. A line without its end is one that
//! was cut off, and no reader takes it. The earlier rows of an experiment go when the run has
//! ended, if it has a whole round by then. Until then a new row stands in place of the one of the
//! same series, point and quantity.
//! What is rewritten is written aside and renamed, so that a folder is never half. The folder is
//! locked while a run writes into it.

mod error;

pub use error::StoreError;

use super::machine::Machine;
use crate::measuring::{Row, SCHEMA};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the file of rows.
const ROWS: &str = "rows.jsonl";
/// The name of the machine's record.
const MACHINE: &str = "machine.json";

/// A folder that rows are written to.
#[derive(Debug)]
pub struct RowStore {
    dir: PathBuf,
    /// The rows that this run has written, by experiment.
    written: BTreeMap<String, Vec<Row>>,
    /// Locked as long as it is open.
    _lock: Lock,
}

/// What every version of a row or record has.
#[derive(Deserialize)]
struct Form {
    schema: u32,
}

impl RowStore {
    /// Opens a folder for this machine's rows of `experiments`; makes it if it is not there. A line
    /// that was cut off is taken away.
    ///
    /// # Errors
    /// [`StoreError`], above all when the folder has rows of another machine or form. Also when it
    /// has rows of other experiments that were measured with another effort or binding of threads.
    /// Also when another run writes into it.
    pub fn open(
        dir: &Path,
        machine: &Machine,
        experiments: &[&str],
    ) -> Result<RowStore, StoreError> {
        fs::create_dir_all(dir).map_err(at(dir))?;
        let lock = lock(dir)?;
        let (rows, record) = (dir.join(ROWS), dir.join(MACHINE));
        let mut kept = match rows.exists() {
            true => read_rows(&rows)?,
            false => Vec::new(),
        };
        if record.exists() {
            let there = read_machine(dir)?;
            if !kept.is_empty() && there.machine != machine.machine {
                return Err(StoreError::OtherMachine {
                    dir: dir.to_owned(),
                    there: Box::new(there.machine),
                    here: Box::new(machine.machine.clone()),
                });
            }
            if there.manner() != machine.manner() {
                // One record stands for all rows: what is measured again goes now, and nothing else
                // may stay.
                kept.retain(|row| !experiments.contains(&row.experiment.as_str()));
                if !kept.is_empty() {
                    return Err(StoreError::OtherManner {
                        dir: dir.to_owned(),
                        there: there.manner(),
                        here: machine.manner(),
                    });
                }
            }
        } else if !kept.is_empty() {
            return Err(StoreError::NoRecord {
                dir: dir.to_owned(),
            });
        }
        let store = RowStore {
            dir: dir.to_owned(),
            written: BTreeMap::new(),
            _lock: lock,
        };
        if rows.exists() {
            store.rewrite(&kept.iter().collect::<Vec<_>>())?;
        }
        store.record(machine)?;
        Ok(store)
    }

    /// Writes the record of the machine anew.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn record(&self, machine: &Machine) -> Result<(), StoreError> {
        let mut text = serde_json::to_string_pretty(machine).expect("a record can be written");
        text.push('\n');
        self.replace(MACHINE, text.as_bytes())
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`StoreError`], when the file cannot be written.
    pub fn write(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let path = self.dir.join(ROWS);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(at(&path))?;
        for row in rows {
            // One call: a process that is ended leaves the line whole, or cut off without its end.
            file.write_all(line(row).as_bytes()).map_err(at(&path))?;
            let written = self.written.entry(row.experiment.clone()).or_default();
            written.push(row.clone());
        }
        Ok(())
    }

    /// An experiment has ended: of its rows those stay that were written since the folder was
    /// opened.
    ///
    /// # Errors
    /// [`StoreError`], when the file cannot be written.
    pub fn end(&mut self, experiment: &str) -> Result<(), StoreError> {
        let Some(new) = self.written.remove(experiment) else {
            return Ok(());
        };
        let kept = read_rows(&self.dir.join(ROWS))?;
        let new = newest(new);
        let others = kept.iter().filter(|kept| kept.experiment != experiment);
        self.rewrite(&others.chain(&new).collect::<Vec<_>>())
    }

    fn rewrite(&self, rows: &[&Row]) -> Result<(), StoreError> {
        let text: String = rows.iter().map(|row| line(row)).collect();
        self.replace(ROWS, text.as_bytes())
    }

    /// Writes a file aside and gives it its name.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let (path, aside) = (self.dir.join(name), self.dir.join(format!(".{name}.new")));
        let written = File::create(&aside)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&aside, &path));
        written.map_err(at(&path))
    }
}

/// A folder that is locked as long as this lives, and at most until the process ends; nothing where
/// the system cannot.
#[derive(Debug)]
struct Lock(Option<File>);

fn lock(dir: &Path) -> Result<Lock, StoreError> {
    let Ok(folder) = File::open(dir) else {
        return Ok(Lock(None));
    };
    match folder.try_lock() {
        Ok(()) => Ok(Lock(Some(folder))),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
            dir: dir.to_owned(),
        }),
        Err(TryLockError::Error(_)) => Ok(Lock(None)),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing it is not enough: a child that another thread is starting has the file, too,
        // until it is another program.
        if let Some(folder) = &self.0 {
            let _ = folder.unlock();
        }
    }
}

/// The rows of a folder, in the order in which they were written; of several of the same
/// experiment, series, point and quantity the last. A last line that was cut off is no row.
///
/// # Errors
/// [`StoreError`], with the line that is wrong.
pub fn read(dir: &Path) -> Result<Vec<Row>, StoreError> {
    read_rows(&dir.join(ROWS))
}

/// The record of the machine of a folder.
///
/// # Errors
/// [`StoreError`], when it is not there or cannot be understood.
pub fn read_machine(dir: &Path) -> Result<Machine, StoreError> {
    let path = dir.join(MACHINE);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let wrong = |error| StoreError::Record {
        path: path.clone(),
        error,
    };
    let Form { schema } = serde_json::from_str(&text).map_err(wrong)?;
    if schema != SCHEMA {
        return Err(StoreError::RecordSchema {
            path,
            found: schema,
        });
    }
    serde_json::from_str(&text).map_err(wrong)
}

fn read_rows(path: &Path) -> Result<Vec<Row>, StoreError> {
    let bytes = fs::read(path).map_err(at(path))?;
    // What comes after the last end of a line was cut off, perhaps inside of a letter.
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let mut rows = Vec::new();
    for (at, text) in bytes[..end].split(|byte| *byte == b'\n').enumerate() {
        if text.is_empty() {
            continue;
        }
        let wrong = |error| StoreError::Line {
            path: path.to_owned(),
            line: at + 1,
            error,
        };
        let Form { schema } = serde_json::from_slice(text).map_err(wrong)?;
        if schema != SCHEMA {
            return Err(StoreError::Schema {
                path: path.to_owned(),
                line: at + 1,
                found: schema,
            });
        }
        rows.push(serde_json::from_slice(text).map_err(wrong)?);
    }
    Ok(newest(rows))
}

/// Of rows of the same experiment, series, point and quantity the last.
fn newest(mut rows: Vec<Row>) -> Vec<Row> {
    let mut seen = HashSet::new();
    rows.reverse();
    rows.retain(|row| seen.insert(row.name()));
    rows.reverse();
    rows
}

/// What cannot be read or written there.
fn at(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::File {
        path: path.clone(),
        error,
    }
}

/// A row as its line.
fn line(row: &Row) -> String {
    let mut line = serde_json::to_string(row).expect("a row can be written");
    line.push('\n');
    line
}

#[cfg(test)]
#[path = "store/tests.rs"]
mod tests;
