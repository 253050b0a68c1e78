//! A store in one file, by redb.

use crate::{Fault, Store};
use redb::{Database, Durability, ReadableDatabase, TableDefinition, TableError};
use std::fmt;
use std::path::{Path, PathBuf};

/// A store in one file. A commit is one transaction, and is on the disk when it has returned.
pub struct Redb {
    path: PathBuf,
    database: Database,
}

const STATES: TableDefinition<'static, &'static str, &'static [u8]> =
    TableDefinition::new("states");

impl Redb {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Fault> {
        let path = path.as_ref().to_owned();
        let database = Database::create(&path).map_err(|error| failed(&path, "opened", &error))?;
        Ok(Redb { path, database })
    }

    fn try_load(&self, path: &str) -> Result<Option<Vec<u8>>, redb::Error> {
        let read = self.database.begin_read()?;
        let table = match read.open_table(STATES) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        Ok(table.get(path)?.map(|bytes| bytes.value().to_vec()))
    }

    fn try_commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), redb::Error> {
        let mut write = self.database.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        let mut table = write.open_table(STATES)?;
        for (path, bytes) in entries {
            table.insert(path.as_str(), bytes.as_slice())?;
        }
        drop(table);
        write.commit()?;
        Ok(())
    }
}

impl Store for Redb {
    fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.try_load(path)
            .map_err(|error| failed(&self.path, "read", &error))
    }

    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        self.try_commit(entries)
            .map_err(|error| failed(&self.path, "written", &error))
    }
}

fn failed(path: &Path, what: &str, error: &dyn fmt::Display) -> Fault {
    Fault::failed(format!(
        "the store {} cannot be {what}: {error}",
        path.display()
    ))
}

impl fmt::Debug for Redb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redb")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
