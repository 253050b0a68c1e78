//! Two runs of two machines in one folder: what the report needs for claims that compare machines.
//!
//! ```text
//!  DIR   rows.jsonl  machine.json ──> OUT         rows.jsonl  machine.json
//!  OTHER rows.jsonl  machine.json ──> OUT/beside  rows.jsonl  machine.json
//! ```
//!
//! Rows keep their machine: those of the second stay in a folder of their own, with its record.

use crate::results::{BESIDE, ReadError, Results};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why two runs cannot be joined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunsJoinError {
    /// A folder cannot be used.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A folder has no record of its machine.
    #[error("{folder} has no machine.json: nobody knows what it was measured on; run it again")]
    NoRecord {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder has two machines already.
    #[error("{folder} has the rows of two machines already: name the folders of single runs")]
    Joined {
        /// The folder.
        folder: PathBuf,
    },
    /// Both runs are of one machine.
    #[error("both runs are of one machine, {machine}: motet bench compare says how they differ")]
    OneMachine {
        /// Its name.
        machine: String,
    },
    /// The folder that is to be written has something in it.
    #[error("{folder} is not empty: name another folder with --out")]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// A file cannot be copied.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// Copies the rows and records of two folders into a third, which is made, and gives what is there
/// now.
///
/// # Errors
/// [`RunsJoinError`]: a folder has no rows or no record of its machine, both are of one machine, or
/// `out` is not empty. Nothing was written then; a [`RunsJoinError::File`] may leave a part of
/// `out`.
///
/// ```no_run
/// # use std::path::Path;
/// use motet_bench::join::join;
///
/// let both = join(Path::new("amd"), Path::new("intel"), Path::new("both"))?;
/// assert!(both.beside.is_some());
/// # Ok::<(), motet_bench::join::RunsJoinError>(())
/// ```
pub fn join(first: &Path, second: &Path, out: &Path) -> Result<Results, RunsJoinError> {
    let machines = [first, second].map(|folder| {
        let results = Results::read(folder)?;
        if results.beside.is_some() {
            return Err(RunsJoinError::Joined {
                folder: folder.to_owned(),
            });
        }
        let machine = results.machine.ok_or_else(|| RunsJoinError::NoRecord {
            folder: folder.to_owned(),
        })?;
        Ok(machine.machine)
    });
    let [one, other] = machines;
    let (one, other) = (one?, other?);
    if one == other {
        return Err(RunsJoinError::OneMachine {
            machine: one.to_string(),
        });
    }
    if fs::read_dir(out).is_ok_and(|mut there| there.next().is_some()) {
        return Err(RunsJoinError::NotEmpty {
            folder: out.to_owned(),
        });
    }
    copy(second, &out.join(BESIDE))?;
    copy(first, out)?;
    Ok(Results::read(out)?)
}

fn copy(from: &Path, to: &Path) -> Result<(), RunsJoinError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| RunsJoinError::File { path, error }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    for name in ["machine.json", "rows.jsonl"] {
        let path = to.join(name);
        fs::copy(from.join(name), &path).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(folder: &Path, model: &str, experiment: &str, median: f64) {
        let row = serde_json::json!({
            "schema": 1, "experiment": experiment, "series": "motet",
            "point": {"processor": model, "size": 64, "threads": 2}, "quantity": "efficiency", "unit": "",
            "median": median, "least": median, "most": median, "runs": 5, "disturbed": false
        });
        let machine = serde_json::json!({
            "schema": 1,
            "machine": {"model": model, "architecture": "x86_64", "cores": 2, "caches": [], "system": "Linux"},
            "memory_bytes": 1 << 30,
            "limits": {"unit_us": 1.4, "cache_line_us": 0.1, "wakeup_us": 5.0, "copy_gb_per_s": 8.0, "allocation_us": 0.02},
            "versions": {"motet": "0.1.0"}, "effort": "quick", "pinned": true
        });
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("rows.jsonl"), format!("{row}\n")).unwrap();
        fs::write(folder.join("machine.json"), machine.to_string()).unwrap();
    }

    #[test]
    fn rows_keep_their_machine() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        run(&at("a"), "A", "E35", 0.5);
        run(&at("b"), "B", "E35", 0.75);
        let both = join(&at("a"), &at("b"), &at("both")).unwrap();
        let beside = both.beside.as_ref().unwrap();
        let model = |results: &Results| results.machine.as_ref().unwrap().machine.model.clone();
        assert_eq!(model(&both).as_deref(), Some("A"));
        assert_eq!(model(beside).as_deref(), Some("B"));
        assert_eq!(beside.rows.len(), 1);
        // Points that name the processor stand beside each other.
        assert_eq!(both.rows.len(), 2);
    }

    #[test]
    fn what_cannot_be_joined_is_told_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        run(&at("a"), "A", "E01", 1.0);
        run(&at("b"), "B", "E01", 1.0);
        run(&at("alone"), "A", "E01", 1.0);
        fs::remove_file(at("alone").join("machine.json")).unwrap();
        join(&at("a"), &at("b"), &at("both")).unwrap();
        for (first, second, out, says) in [
            ("a", "a", "new", "motet bench compare"),
            ("a", "none", "new", "has no rows"),
            ("alone", "b", "new", "no machine.json"),
            ("both", "b", "new", "two machines already"),
            ("a", "b", "both", "is not empty"),
        ] {
            let error = join(&at(first), &at(second), &at(out)).unwrap_err();
            assert!(error.to_string().contains(says), "{says}: {error}");
            assert!(!at("new").exists());
        }
    }
}
