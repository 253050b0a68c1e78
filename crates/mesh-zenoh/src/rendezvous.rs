//! A folder where nodes of one user meet: a file with the addresses of each, the lock of its name,
//! and the key of those that have none.

mod name_lock;
mod node_file;

use self::name_lock::NameLock;
use self::node_file::{NodeFile, file_name, is_node, node_of, start_of};
use crate::claim::LOOK;
use crate::error::MeshJoinError;
use crate::key::{EARLIER, KeyFileError, RunKey};
use motet_sync::Parker;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file of the key.
const KEY: &str = "mesh.key";

/// The file that says that the run is on several machines.
pub(crate) const MACHINES: &str = "machines";

/// How long a key is waited for that another node is writing.
const WAIT: Duration = Duration::from_millis(2);

/// How often a key that another node is writing is looked at again.
const TRIES: u32 = 100;

/// How long an address may take to answer.
const ANSWER: Duration = Duration::from_millis(200);

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
    /// What has the name of a file of a node and is none, or cannot be read, and why.
    pub unreadable: Vec<(PathBuf, io::Error)>,
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
    /// The folder cannot be read.
    pub fn look(folder: &Path) -> io::Result<Self> {
        let key = folder.join(KEY);
        let key_state = key.exists().then(|| RunKey::read(&key).map(drop));
        let files = match files_of_nodes(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            files => files?,
        };
        let (mut nodes, mut unreadable) = (Vec::new(), Vec::new());
        for (path, name) in files {
            match NodeFile::read(&path) {
                Ok(Some(node)) => nodes.push((name, node.addresses)),
                // It has left meanwhile.
                Ok(None) => {}
                Err(error) => unreadable.push((path, error)),
            }
        }
        nodes.sort();
        Ok(RendezvousFolder {
            key,
            key_state,
            nodes,
            unreadable,
            is_wide: folder.join(MACHINES).exists(),
        })
    }
}

/// What has the name of a file of a node, and the name of the node.
fn files_of_nodes(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let (true, Some(name)) = (is_node(&path), node_of(&path)) {
            files.push((path, name));
        }
    }
    Ok(files)
}

/// The folder, and what this node has there.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    folder: PathBuf,
    name: String,
    incarnation: u64,
    own: PathBuf,
    /// Behind the file: others see that the name is free when that has gone.
    lock: Option<NameLock>,
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
        Ok(Rendezvous {
            folder: folder.to_owned(),
            name: name.to_owned(),
            incarnation,
            own: folder.join(file_name(name, incarnation)),
            lock: None,
        })
    }

    /// Takes the name of this node, before it writes its addresses: of all nodes that meet here,
    /// and start at whatever time, one has it. One that is leaving is waited for.
    pub(crate) fn take_name(&mut self, silence: Duration) -> Result<(), MeshJoinError> {
        let until = Instant::now() + silence;
        loop {
            match NameLock::take(&self.folder, &self.name) {
                Ok(lock) => self.lock = Some(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    let _ = Parker::new().park_timeout(LOOK);
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(MeshJoinError::Taken(self.name.clone()));
                }
                // A file system without locks: nodes of one name see each other's claims.
                Err(TryLockError::Error(_)) => {}
            }
            return Ok(());
        }
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
                    let _ = Parker::new().park_timeout(WAIT);
                }
                read => return Ok(read?),
            }
        }
        Ok(RunKey::read(&path)?)
    }

    /// Writes this node's addresses. First this, then [`Rendezvous::others`]: so of two nodes that
    /// come together at least one sees the other.
    pub(crate) fn enter(&self, addresses: &[String]) -> Result<(), MeshJoinError> {
        let beside = self.own.with_extension("new");
        let node = NodeFile::of_here(addresses, self.lock.is_some());
        let written = File::create(&beside).and_then(|mut file| {
            node.write(&mut file)?;
            file.sync_all()
        });
        let entered = written.and_then(|()| fs::rename(&beside, &self.own));
        entered.map_err(|error| {
            // Nobody else knows its name. The first error is the one to tell.
            let _ = fs::remove_file(&beside);
            self.wrong(error)
        })
    }

    fn wrong(&self, error: io::Error) -> MeshJoinError {
        MeshJoinError::Rendezvous(self.folder.clone(), error)
    }

    /// Removes the files of earlier starts of this node, which has joined.
    pub(crate) fn forget_earlier(&self) {
        let files = files_of_nodes(&self.folder).unwrap_or_default();
        for (path, name) in files {
            if name != self.name || path == self.own {
                continue;
            }
            let Ok(Some(node)) = NodeFile::read(&path) else {
                continue;
            };
            // By the lock of the name, where it counts for both. One of another system may be about
            // to listen.
            let is_known = self.lock.is_some() && node.is_of_here();
            let is_earlier = start_of(&path)
                .is_some_and(|start| start.saturating_add(EARLIER) < self.incarnation);
            let is_silent = || !node.addresses.iter().any(|address| answers(address));
            if is_known || (is_earlier && is_silent()) {
                // Somebody else may have done so.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The addresses of the other nodes, also of those that did not leave in order. The files of
    /// those whose process has ended on this system are removed.
    pub(crate) fn others(&self) -> Result<Vec<String>, MeshJoinError> {
        let files = files_of_nodes(&self.folder).map_err(|error| self.wrong(error))?;
        let mut addresses = Vec::new();
        for (path, name) in files {
            if path == self.own {
                continue;
            }
            // What is none is told by `unreadable`, and what has left is nobody.
            let Ok(Some(node)) = NodeFile::read(&path) else {
                continue;
            };
            // Who has the lock of a name, or gets it, knows that no other start of it is there.
            let is_gone = node.is_of_here()
                && match name == self.name {
                    true => self.lock.is_some(),
                    false => NameLock::take(&self.folder, &name).is_ok(),
                };
            if is_gone {
                // Somebody else may have done so.
                let _ = fs::remove_file(path);
            } else {
                addresses.extend(node.addresses);
            }
        }
        Ok(addresses)
    }

    /// What has the name of a file of a node and is none, or cannot be read: its path, and why.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        let files = files_of_nodes(&self.folder).unwrap_or_default();
        let wrong = files.into_iter().filter_map(|(path, _)| {
            let why = NodeFile::read(&path).err()?;
            let path = path.display();
            Some(format!(
                "{path} is no file of a node, and is not used: {why}"
            ))
        });
        wrong.collect()
    }
}

/// Whether somebody takes connections at an address.
fn answers(address: &str) -> bool {
    let sockets = address.to_socket_addrs().into_iter().flatten();
    let mut open = sockets.map(|socket| TcpStream::connect_timeout(&socket, ANSWER));
    open.any(|stream| stream.is_ok())
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

    /// A node in its folder, with its name.
    fn node(folder: &Path, name: &str, incarnation: u64) -> Rendezvous {
        let mut node = Rendezvous::open(folder, name, incarnation).expect("its own folder");
        node.take_name(Duration::ZERO).expect("the name is free");
        node
    }

    fn at(port: u16) -> Vec<String> {
        vec![format!("127.0.0.1:{port}")]
    }

    #[test]
    fn sem_g589_a_name_that_a_node_has_in_the_folder_is_refused_until_that_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = node(folder.path(), "a", 2);
        first.enter(&at(1)).expect("there is room");
        // Whichever of them has the larger number.
        for incarnation in [1, 3] {
            let mut other = Rendezvous::open(folder.path(), "a", incarnation).expect("a folder");
            let refused = other.take_name(Duration::from_millis(20));
            assert!(matches!(refused, Err(MeshJoinError::Taken(name)) if name == "a"));
        }
        assert!(first.own.exists(), "it is still found");
        let b = node(folder.path(), "b", 4);
        assert_eq!(b.others().expect("a folder"), at(1));
        drop(first);
        drop(node(folder.path(), "a", 5));
        drop(b);
        let left = fs::read_dir(folder.path()).expect("it is there");
        assert_eq!(left.count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sem_g591_files_of_processes_that_have_ended_here_go_and_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str, start| folder.path().join(file_name(name, start));
        let write = |name: &str, start, file: &NodeFile| {
            let mut to = File::create(path(name, start)).expect("a file");
            file.write(&mut to).expect("there is room");
        };
        let (b, c) = (node(folder.path(), "b", 20), node(folder.path(), "c", 30));
        b.enter(&at(2)).expect("there is room");
        // A start of c and one of d were killed. One of e says nothing of its system.
        write("c", 3, &NodeFile::of_here(&at(3), true));
        write("d", 4, &NodeFile::of_here(&at(4), true));
        write("e", 5, &NodeFile::of_here(&at(5), false));
        fs::write(path("f", 6), "127.0.0.1:6\n#of another system").expect("a file");
        let mut others = c.others().expect("a folder");
        others.sort();
        assert_eq!(others, [at(2), at(5), at(6)].concat());
        let is_there = [("c", 3), ("d", 4), ("e", 5), ("f", 6)];
        let is_there = is_there.map(|(name, start)| path(name, start).exists());
        assert_eq!(is_there, [false, false, true, true]);
        assert!(b.own.exists());
    }

    #[test]
    fn sem_g591_an_earlier_start_is_removed_that_does_not_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let listens = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let open = listens.local_addr().expect("an address").port();
        // Nobody listens at the first port.
        let silent = 1;
        let now = 10 * EARLIER;
        let path = |start| folder.path().join(file_name("a", start));
        let starts = [(1, silent), (2, open), (now - 1, silent), (now + 1, silent)];
        for (start, port) in starts {
            let text = format!("127.0.0.1:{port}\n#of another system");
            fs::write(path(start), text).expect("a file");
        }
        node(folder.path(), "a", now).forget_earlier();
        let is_there = starts.map(|(start, _)| path(start).exists());
        assert_eq!(is_there, [false, true, true, true]);
    }

    #[test]
    fn sem_g591_what_is_no_file_of_a_node_is_named_and_the_others_are_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(file_name(name, 1));
        fs::write(path("bytes"), [0xff; 9]).expect("a file");
        fs::write(path("text"), "no address").expect("a file");
        fs::create_dir(path("folder")).expect("a folder");
        let (a, b) = (node(folder.path(), "a", 2), node(folder.path(), "b", 3));
        a.enter(&at(7)).expect("there is room");
        assert_eq!(b.others().expect("the folder is read"), at(7));
        let told = b.unreadable();
        let seen = RendezvousFolder::look(folder.path()).expect("the folder is read");
        assert_eq!((told.len(), seen.unreadable.len()), (3, 3), "{told:?}");
        for name in ["bytes", "text", "folder"] {
            let path = path(name);
            let names = |why: &String| why.contains(&path.display().to_string());
            assert!(told.iter().any(names), "{told:?}");
        }
        assert_eq!(seen.nodes, [("a".to_owned(), at(7))]);
    }
}
