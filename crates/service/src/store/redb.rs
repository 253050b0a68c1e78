//! A store in one file, by redb.

use crate::{Fault, Store};
use motet_dispatch::Exception;
use motet_sync::Mutex;
use redb::{Database, DatabaseError, Durability, ReadableDatabase, TableDefinition, TableError};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A store in one file. A commit is one transaction, and is on the disk when it has returned. After
/// a failure of the disk the file is opened again by the next who reads or commits. Whenever it is
/// opened it is read as a whole, and refused if it is not as it was written.
pub struct Redb {
    path: PathBuf,
    open: Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>,
    /// `None` after a failure, until it is opened again.
    database: Mutex<Option<Arc<Database>>>,
}

const STATES: TableDefinition<'static, &'static str, &'static [u8]> =
    TableDefinition::new("states");

impl Redb {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// A fault that names the file, and says what to do if it is damaged: also when it is empty.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Fault> {
        let path = path.as_ref().to_owned();
        // A new database would be made in it, and what it had be lost in silence.
        if path
            .metadata()
            .is_ok_and(|it| it.is_file() && it.len() == 0)
        {
            let empty = redb::Error::Corrupted("it is empty".to_owned());
            return Err(failed(&path, "opened", &empty));
        }
        let made = unless_it_panics(|| Ok(checking().create(&path)?));
        let made = made.map_err(|error| failed(&path, "opened", &error))?;
        let file = path.clone();
        // Again it is not made: where it has gone, what it had is not lost in silence.
        let open = move || checking().open(&file);
        Ok(Redb::opened_by(path, made, open))
    }

    fn opened_by(
        path: PathBuf,
        database: Database,
        open: impl Fn() -> Result<Database, DatabaseError> + Send + Sync + 'static,
    ) -> Self {
        Redb {
            path,
            open: Box::new(open),
            database: Mutex::new(Some(Arc::new(database))),
        }
    }

    /// The database, which is opened unless it is open.
    fn database(&self) -> Result<Arc<Database>, Fault> {
        let mut database = self.database.lock();
        if let Some(open) = &*database {
            return Ok(Arc::clone(open));
        }
        let opened = unless_it_panics(|| Ok((self.open)()?));
        let opened = opened.map_err(|error| failed(&self.path, "opened", &error))?;
        let opened = Arc::new(opened);
        *database = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The database is not used any more: it closes when the last who asks it has an answer.
    fn forget(&self, failed: &Arc<Database>) {
        let mut database = self.database.lock();
        if database
            .as_ref()
            .is_some_and(|open| Arc::ptr_eq(open, failed))
        {
            *database = None;
        }
    }

    /// Asks the database. After a failure of the disk, and after a panic, it answers nothing more
    /// until it is opened again. Whoever finds it so after a failure has asked nothing yet, and
    /// asks once more.
    fn ask<R>(
        &self,
        what: &str,
        ask: impl Fn(&Database) -> Result<R, redb::Error>,
    ) -> Result<R, Fault> {
        let mut is_again = false;
        loop {
            let database = self.database()?;
            let error = match unless_it_panics(|| ask(&database)) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let had_failed = matches!(error, redb::Error::PreviousIo);
            if had_failed || matches!(error, redb::Error::Io(_) | redb::Error::Corrupted(_)) {
                self.forget(&database);
            }
            // Where it was damaged, its end may panic, too.
            drop(catch_unwind(AssertUnwindSafe(|| drop(database))));
            if is_again || !had_failed {
                return Err(failed(&self.path, what, &error));
            }
            is_again = true;
        }
    }
}

/// Opens files and looks whether each page is as it was written.
fn checking() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_check_integrity_on_open(true);
    builder
}

/// What redb says. A panic, with which it meets some damages, is an error.
fn unless_it_panics<R>(ask: impl FnOnce() -> Result<R, redb::Error>) -> Result<R, redb::Error> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|payload| {
        let why = Exception::new(payload, "store").message().to_owned();
        Err(redb::Error::Corrupted(why))
    })
}

fn try_load(database: &Database, path: &str) -> Result<Option<Vec<u8>>, redb::Error> {
    let read = database.begin_read()?;
    let table = match read.open_table(STATES) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        table => table?,
    };
    Ok(table.get(path)?.map(|bytes| bytes.value().to_vec()))
}

fn try_commit(database: &Database, entries: &[(String, Vec<u8>)]) -> Result<(), redb::Error> {
    let mut write = database.begin_write()?;
    write.set_durability(Durability::Immediate)?;
    let mut table = write.open_table(STATES)?;
    for (path, bytes) in entries {
        table.insert(path.as_str(), bytes.as_slice())?;
    }
    drop(table);
    write.commit()?;
    Ok(())
}

impl Store for Redb {
    fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.ask("read", |database| try_load(database, path))
    }

    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        self.ask("written", |database| try_commit(database, entries))
    }
}

fn failed(path: &Path, what: &str, error: &redb::Error) -> Fault {
    let is_damaged = match error {
        redb::Error::Corrupted(_) | redb::Error::LockPoisoned(_) => true,
        // Of the system's own errors the file is not the reason.
        redb::Error::Io(error) => error.raw_os_error().is_none(),
        _ => false,
    };
    let what_to_do = match (is_damaged, error) {
        (true, _) => "; it is damaged, or no store: restore it or remove it",
        (_, redb::Error::DatabaseAlreadyOpen) => "; end who has it open, or name another file",
        _ => "",
    };
    let path = path.display();
    Fault::failed(format!(
        "the store {path} cannot be {what}: {error}{what_to_do}"
    ))
}

impl fmt::Debug for Redb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redb")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_sync::atomic::{AtomicBool, Ordering};
    use redb::StorageBackend;
    use std::io;

    /// A file whose disk may be full.
    #[derive(Debug, Clone, Default)]
    struct SmallDisk {
        bytes: Arc<Mutex<Vec<u8>>>,
        is_full: Arc<AtomicBool>,
    }

    impl SmallDisk {
        fn has_room(&self) -> io::Result<()> {
            match self.is_full.load(Ordering::SeqCst) {
                true => Err(io::Error::other("no room is left")),
                false => Ok(()),
            }
        }
    }

    impl StorageBackend for SmallDisk {
        fn len(&self) -> io::Result<u64> {
            Ok(self.bytes.lock().len() as u64)
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let (bytes, from) = (self.bytes.lock(), offset as usize);
            let there = bytes.get(from..from + out.len());
            out.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.has_room()?;
            self.bytes.lock().resize(len as usize, 0);
            Ok(())
        }

        fn sync_data(&self) -> io::Result<()> {
            Ok(())
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.has_room()?;
            let from = offset as usize;
            let mut bytes = self.bytes.lock();
            let place = bytes.get_mut(from..from + data.len());
            place
                .ok_or(io::ErrorKind::UnexpectedEof)?
                .copy_from_slice(data);
            Ok(())
        }
    }

    #[test]
    fn sem_g393_a_database_that_has_gone_is_not_made_anew() {
        let name = format!("motet-gone-{}.redb", std::process::id());
        let path = std::env::temp_dir().join(name);
        let store = Redb::open(&path).unwrap();
        store.commit(&[("/a".to_owned(), vec![1])]).unwrap();
        store.forget(&store.database().unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(store.load("/a").is_err());
        assert!(store.commit(&[("/a".to_owned(), vec![2])]).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn sem_g393_a_database_whose_disk_was_full_is_opened_again() {
        let disk = SmallDisk::default();
        let file = disk.clone();
        let open = move || Database::builder().create_with_backend(file.clone());
        let store = Redb::opened_by(PathBuf::from("states.redb"), open().unwrap(), open);
        let entries = |n: u8| [("/a".to_owned(), vec![n; 100_000])];
        store.commit(&entries(1)).unwrap();
        disk.is_full.store(true, Ordering::SeqCst);
        let fault = store.commit(&entries(2)).unwrap_err();
        assert!(fault.reason().contains("no room is left"), "{fault}");
        assert!(store.commit(&entries(3)).is_err(), "it is still full");
        disk.is_full.store(false, Ordering::SeqCst);
        assert_eq!(store.load("/a"), Ok(Some(vec![1; 100_000])));
        store.commit(&entries(4)).unwrap();
        assert_eq!(store.load("/a"), Ok(Some(vec![4; 100_000])));
    }
}
