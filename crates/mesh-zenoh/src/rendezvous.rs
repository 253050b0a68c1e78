//! A folder where nodes of one user meet: a file with the addresses of each, and the key of those
//! that have none.

use crate::error::MeshJoinError;
use crate::key::{KeyFileError, RunKey};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the file of a node ends.
const ENDING: &str = "node";

/// The file of the key.
const KEY: &str = "mesh.key";

/// The file that says that the run is on several machines.
pub(crate) const MACHINES: &str = "machines";

/// How long a key is waited for that another node is writing.
const WAIT: Duration = Duration::from_millis(2);

/// How often a key that another node is writing is looked at again.
const TRIES: u32 = 100;

/// What lies in a folder where nodes meet, seen without joining: who listens where, and the key.
#[derive(Debug)]
#[non_exhaustive]
pub struct RendezvousFolder {
    /// The file of the key.
    pub key: PathBuf,
    /// Whether the key is there and may be used; none: the first node makes it.
    pub key_state: Option<Result<(), KeyFileError>>,
    /// Each node that has not left in order, by its name, with its addresses.
    pub nodes: Vec<(String, Vec<String>)>,
    /// Whether each node listens on an address that other machines reach.
    pub is_wide: bool,
}

impl RendezvousFolder {
    /// What lies in the folder now; nothing where there is none.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let meeting = motet_mesh_zenoh::RendezvousFolder::look(folder.path())?;
    /// assert!(meeting.key_state.is_none() && meeting.nodes.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The folder, or a file in it, cannot be read.
    pub fn look(folder: &Path) -> io::Result<Self> {
        let key = folder.join(KEY);
        let key_state = key.exists().then(|| RunKey::read(&key).map(drop));
        let mut nodes = Vec::new();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries?),
        };
        for entry in entries.into_iter().flatten() {
            let path = entry?.path();
            if let (true, Some(name)) = (is_node(&path), node_of(&path)) {
                let text = match fs::read_to_string(&path) {
                    // It has left meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    text => text?,
                };
                nodes.push((name, text.lines().map(str::to_owned).collect()));
            }
        }
        nodes.sort();
        Ok(RendezvousFolder {
            key,
            key_state,
            nodes,
            is_wide: folder.join(MACHINES).exists(),
        })
    }
}

fn is_node(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// The name of the node whose file this is.
fn node_of(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.rsplit_once('.')?.0.to_owned())
}

/// The folder, and what this node has written there.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    folder: PathBuf,
    own: PathBuf,
}

impl Rendezvous {
    /// Opens the folder, or makes it with mode 0700.
    pub(crate) fn open(folder: &Path, name: &str, incarnation: u64) -> Result<Self, MeshJoinError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let wrong = |error| MeshJoinError::Rendezvous(folder.to_owned(), error);
        builder.create(folder).map_err(wrong)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let found = fs::metadata(folder).map_err(wrong)?;
            let me = nix::unistd::geteuid().as_raw();
            if found.uid() != me {
                let owner = found.uid();
                return Err(MeshJoinError::RendezvousOwner(folder.to_owned(), owner, me));
            }
            let mode = found.mode() & 0o777;
            if mode & 0o022 != 0 {
                return Err(MeshJoinError::RendezvousOpen(folder.to_owned(), mode));
            }
        }
        let own = folder.join(format!("{name}.{incarnation:016x}.{ENDING}"));
        Ok(Rendezvous {
            folder: folder.to_owned(),
            own,
        })
    }

    /// The key of this folder. The first node makes it.
    pub(crate) fn key(&self) -> Result<RunKey, MeshJoinError> {
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
    pub(crate) fn enter(&self, addresses: &[String]) -> Result<(), MeshJoinError> {
        let wrong = |error| MeshJoinError::Rendezvous(self.folder.clone(), error);
        let beside = self.own.with_extension("new");
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(addresses.join("\n").as_bytes())?;
            file.sync_all()
        });
        let entered = written.and_then(|()| fs::rename(&beside, &self.own));
        entered.map_err(|error| {
            // Nobody else knows its name. The first error is the one to tell.
            let _ = fs::remove_file(&beside);
            wrong(error)
        })
    }

    /// Removes the files of earlier starts of this node, which has joined.
    pub(crate) fn forget_earlier(&self) {
        let own = node_of(&self.own);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if is_node(&path) && path != self.own && node_of(&path) == own {
                // Somebody else may have done so.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The addresses of the other nodes, also of those that did not leave in order.
    pub(crate) fn others(&self) -> Result<Vec<String>, MeshJoinError> {
        let wrong = |error| MeshJoinError::Rendezvous(self.folder.clone(), error);
        let mut addresses = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path == self.own || !is_node(&path) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_cannot_enter_leaves_nothing_in_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = Rendezvous::open(folder.path(), "a", 1).expect("its own folder");
        // A folder cannot be replaced by a file.
        fs::create_dir(&node.own).expect("the name is free");
        let entered = node.enter(&["127.0.0.1:7450".to_owned()]);
        assert!(entered.is_err());
        let left = fs::read_dir(folder.path()).expect("it is there");
        assert_eq!(left.count(), 1, "the folder in the way");
    }
}
