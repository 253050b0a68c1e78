//! A store in one file, by redb.

use super::folder::sync_folder;
use crate::{Fault, Store};
use motet_dispatch::Exception;
use motet_sync::Mutex;
use redb::{Database, DatabaseError, Durability, ReadableDatabase, TableDefinition, TableError};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A store in one file. A commit is one transaction, and is on the disk when it has returned. After
/// a failure of the disk the file is opened again by the next who reads or commits. Whenever it is
/// opened it is read as a whole, and refused if it is not as it was written.
///
/// A new file is made beside its place, as `NAME.new-PROCESS-NUMBER`, and takes its name when it is
/// whole. A process that is killed before leaves that file, and nothing else; it may be removed.
/// Where a file system has no hard links, an empty file has the name for a moment before.
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
        let made = match path.metadata() {
            Err(why) if why.kind() == ErrorKind::NotFound => make(&path),
            _ => Ok(()),
        };
        // Never made in the file that is there: if it is empty, what it had is not lost in silence.
        let database = made.and_then(|()| unless_it_panics(|| Ok(checking().open(&path)?)));
        let database = database.map_err(|error| failed(&path, "opened", &error))?;
        let file = path.clone();
        // Again it is not made: where it has gone, what it had is not lost in silence.
        let open = move || checking().open(&file);
        Ok(Redb::opened_by(path, database, open))
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

/// Makes a database under another name, which then takes this one: nobody sees half of it, and who
/// is killed meanwhile leaves no such file at `path`.
fn make(path: &Path) -> Result<(), redb::Error> {
    let place = followed(path);
    let draft = draft_beside(&place)?;
    let made = unless_it_panics(|| Ok(checking().create(&draft)?.close()?));
    let named = made.and_then(|()| {
        let linked = fs::hard_link(&draft, &place);
        Ok(named(&draft, &place, linked)?)
    });
    // The name that is left over; or all of it, after a failure.
    drop(fs::remove_file(&draft));
    named?;
    Ok(sync_folder(folder_of(&place))?)
}

/// Where a path leads: a link stays, and what it names is made.
fn followed(path: &Path) -> PathBuf {
    // As many as systems follow.
    const MOST: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..MOST {
        let Ok(named) = fs::read_link(&place) else {
            break;
        };
        place = folder_of(&place).join(named);
    }
    place
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Makes an empty file that nobody has, beside this one.
fn draft_beside(place: &Path) -> io::Result<PathBuf> {
    let mut number = 0_u64;
    loop {
        let mut draft = place.as_os_str().to_owned();
        draft.push(format!(".new-{}-{number}", std::process::id()));
        let draft = PathBuf::from(draft);
        match File::create_new(&draft) {
            // Another start has it, or a process that had this number has left it.
            Err(why) if why.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|_| draft),
        }
    }
}

/// The draft has its name when it was linked. Whatever has the name already keeps it: another start
/// has made it meanwhile.
fn named(draft: &Path, place: &Path, linked: io::Result<()>) -> io::Result<()> {
    let named = match linked {
        // A file system without hard links. To rename replaces what is there, so an empty file
        // takes the name first, and only who has made that replaces it.
        Err(why) if why.kind() != ErrorKind::AlreadyExists => File::create_new(place)
            .and_then(|_| fs::rename(draft, place).inspect_err(|_| drop(fs::remove_file(place)))),
        linked => linked,
    };
    match named {
        Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(()),
        named => named,
    }
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
    use motet_sync::thread;
    use redb::StorageBackend;
    use std::time::Duration;

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

    /// A folder of its own for a test.
    fn new_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("motet-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let names = entries.map(name).map(|it| it.into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn sem_g623_a_database_has_its_name_when_it_is_whole() {
        motet_testkit::within(Duration::from_secs(300), || {
            let folder = new_folder("made-at-once");
            for round in 0..16_u8 {
                let path = folder.join(format!("{round}.redb"));
                let starts = [0, 1].map(|_| {
                    let path = path.clone();
                    thread::spawn(move || Redb::open(path))
                });
                // As a third process would see it.
                let seen = loop {
                    match fs::read(&path) {
                        Ok(seen) => break seen,
                        Err(_) => thread::yield_now(),
                    }
                };
                assert!(seen.starts_with(b"redb"), "{} bytes", seen.len());
                let [one, two] = starts.map(|start| start.join().unwrap());
                assert!(one.is_err() || two.is_err(), "both have it open");
                let entries = [("/a".to_owned(), vec![round])];
                let mut committed = None;
                for start in [one, two] {
                    match start {
                        Ok(store) => {
                            store.commit(&entries).unwrap();
                            committed = Some(vec![round]);
                        }
                        Err(fault) => {
                            let is_clear = fault.reason().contains("end who has it open");
                            assert!(is_clear, "{fault}");
                        }
                    }
                }
                let again = Redb::open(&path).unwrap();
                assert_eq!(again.load("/a"), Ok(committed));
                drop(again);
                fs::remove_file(&path).unwrap();
                assert_eq!(names_in(&folder), Vec::<String>::new(), "what is left over");
            }
            fs::remove_dir_all(&folder).unwrap();
        });
    }

    #[test]
    fn sem_g623_what_a_killed_process_has_left_disturbs_nobody() {
        let folder = new_folder("left-over");
        let path = folder.join("states.redb");
        // Before it had a length, and before it was whole.
        let left = [0, 1].map(|n| format!("states.redb.new-{}-{n}", std::process::id()));
        for (name, length) in left.iter().zip([0, 4096]) {
            fs::write(folder.join(name), vec![0; length]).unwrap();
        }
        let store = Redb::open(&path).unwrap();
        store.commit(&[("/a".to_owned(), vec![1])]).unwrap();
        drop(store);
        assert_eq!(Redb::open(&path).unwrap().load("/a"), Ok(Some(vec![1])));
        assert_eq!(
            names_in(&folder),
            ["states.redb", left[0].as_str(), left[1].as_str()]
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_new_database_without_hard_links_replaces_none() {
        let folder = new_folder("unlinked");
        let place = folder.join("states.redb");
        for text in ["first", "second"] {
            let draft = draft_beside(&place).unwrap();
            fs::write(&draft, text).unwrap();
            named(&draft, &place, Err(ErrorKind::Unsupported.into())).unwrap();
            assert_eq!(fs::read_to_string(&place).unwrap(), "first");
            assert_eq!(draft.exists(), text == "second", "the first was renamed");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_new_database_is_made_where_a_link_leads() {
        let folder = new_folder("linked");
        let (link, place) = (folder.join("link.redb"), folder.join("states.redb"));
        std::os::unix::fs::symlink("states.redb", &link).unwrap();
        let store = Redb::open(&link).unwrap();
        store.commit(&[("/a".to_owned(), vec![1])]).unwrap();
        drop(store);
        assert_eq!(Redb::open(&place).unwrap().load("/a"), Ok(Some(vec![1])));
        assert!(fs::read_link(&link).is_ok(), "the link stays");
        fs::remove_dir_all(&folder).unwrap();
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
