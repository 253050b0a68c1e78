//! The lock of a name in a folder: of all nodes that meet there one has it. The system takes it
//! back when the process ends, and all that it has forked without another program.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// How the file of a lock ends.
const ENDING: &str = "lock";

/// Held as long as it is there.
#[derive(Debug)]
pub(super) struct NameLock {
    path: PathBuf,
    _file: File,
}

impl NameLock {
    /// The lock of a name, if nobody has it.
    pub(super) fn take(folder: &Path, name: &str) -> Result<Self, TryLockError> {
        let path = folder.join(format!("{name}.{ENDING}"));
        loop {
            let mut options = OpenOptions::new();
            options.create(true).append(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path).map_err(TryLockError::Error)?;
            file.try_lock()?;
            // Who had it may have removed the file between the two: then others lock a new one.
            if is_at(&file, &path).map_err(TryLockError::Error)? {
                return Ok(NameLock { path, _file: file });
            }
        }
    }
}

impl Drop for NameLock {
    fn drop(&mut self) {
        // While it is locked: nobody else has locked this file when it goes.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether this is the file that lies there.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let own = file.metadata()?;
        match fs::metadata(path) {
            Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
    #[cfg(not(unix))]
    {
        file.metadata()?;
        path.try_exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    #[test]
    fn sem_g589_one_at_a_time_has_the_lock_of_a_name_though_its_file_comes_and_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let holders = Arc::new(AtomicUsize::new(0));
        let takers = (0..4).map(|n| {
            let (folder, holders) = (folder.path().to_owned(), Arc::clone(&holders));
            let take = move || {
                let mut taken = 0;
                while taken < 100 {
                    match NameLock::take(&folder, "a") {
                        Ok(lock) => {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            taken += 1;
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                        Err(TryLockError::WouldBlock) => motet_sync::thread::yield_now(),
                        Err(TryLockError::Error(why)) => panic!("{why}"),
                    }
                }
            };
            motet_sync::thread::spawn_named(&format!("taker {n}"), take).expect("a thread")
        });
        let takers: Vec<_> = takers.collect();
        for taker in takers {
            taker.join().expect("it takes the lock");
        }
        let left = fs::read_dir(folder.path()).expect("it is there");
        assert_eq!(left.count(), 0);
    }
}
