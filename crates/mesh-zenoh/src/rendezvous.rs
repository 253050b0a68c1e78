//! A folder where nodes of one user meet: a file with the addresses of each, and the key of those
//! that have none.

use crate::error::JoinError;
use crate::key::{KeyFileError, RunKey};
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the file of a node ends.
const ENDING: &str = "node";

/// The file of the key.
const KEY: &str = "mesh.key";

/// How long a key is waited for that another node is writing.
const WAIT: Duration = Duration::from_millis(2);

/// How often a key that another node is writing is looked at again.
const TRIES: u32 = 100;

/// The folder, and what this node has written there.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    folder: PathBuf,
    own: PathBuf,
}

impl Rendezvous {
    /// Opens the folder, or makes it with mode 0700.
    pub(crate) fn open(folder: &Path, name: &str, incarnation: u64) -> Result<Self, JoinError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let wrong = |error| JoinError::Rendezvous(folder.to_owned(), error);
        builder.create(folder).map_err(wrong)?;
        #[cfg(unix)]
        {
            let found = fs::metadata(folder).map_err(wrong)?;
            let mode = std::os::unix::fs::MetadataExt::mode(&found) & 0o777;
            if mode & 0o022 != 0 {
                return Err(JoinError::RendezvousOpen(folder.to_owned(), mode));
            }
        }
        let own = folder.join(format!("{name}.{incarnation:016x}.{ENDING}"));
        Ok(Rendezvous {
            folder: folder.to_owned(),
            own,
        })
    }

    /// The key of this folder. The first node makes it.
    pub(crate) fn key(&self) -> Result<RunKey, JoinError> {
        let path = self.folder.join(KEY);
        match RunKey::make(&path) {
            Ok(key) => return Ok(key),
            Err(KeyFileError::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        // Who makes it may not have written it yet.
        for _ in 1..TRIES {
            match RunKey::read(&path) {
                Err(KeyFileError::Content(_)) => {
                    let _ = motet_sync::Parker::new().park_timeout(WAIT);
                }
                read => return Ok(read?),
            }
        }
        Ok(RunKey::read(&path)?)
    }

    /// Writes this node's addresses. First this, then [`Rendezvous::others`]: so of two nodes that
    /// come together at least one sees the other.
    pub(crate) fn enter(&self, addresses: &[String]) -> Result<(), JoinError> {
        let wrong = |error| JoinError::Rendezvous(self.folder.clone(), error);
        let beside = self.own.with_extension("new");
        fs::write(&beside, addresses.join("\n")).map_err(wrong)?;
        fs::rename(&beside, &self.own).map_err(wrong)
    }

    /// Removes the files of earlier starts of this node, which has joined.
    pub(crate) fn forget_earlier(&self) {
        let name = |path: &Path| Some(path.file_stem()?.to_str()?.rsplit_once('.')?.0.to_owned());
        let own = name(&self.own);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let is_node = path.extension().is_some_and(|ending| ending == ENDING);
            if is_node && path != self.own && name(&path) == own {
                // Somebody else may have done so.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The addresses of the other nodes, also of those that did not leave in order.
    pub(crate) fn others(&self) -> Result<Vec<String>, JoinError> {
        let wrong = |error| JoinError::Rendezvous(self.folder.clone(), error);
        let mut addresses = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path == self.own || path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            match fs::read_to_string(&path) {
                Ok(text) => addresses.extend(text.lines().map(str::to_owned)),
                // It has left meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(wrong(error)),
            }
        }
        Ok(addresses)
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        // Others that read it would try an address in vain: no harm.
        let _ = fs::remove_file(&self.own);
    }
}
