//! The file of a node: its addresses, one on each line, and which system knows by the lock of the
//! node's name whether the node is there.

use crate::config::is_address;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::OnceLock;

/// How the file of a node ends.
const ENDING: &str = "node";

/// What the line of the system begins with: no address does.
const SYSTEM: char = '#';

/// The largest file that is read.
const MAX_FILE: u64 = 64 << 10;

/// What a node has written of itself.
pub(super) struct NodeFile {
    pub(super) addresses: Vec<String>,
    /// The system on which the node has the lock of its name, as long as it is there.
    system: Option<String>,
}

impl NodeFile {
    /// Of this process, which has the lock of the name, or has none.
    pub(super) fn of_here(addresses: &[String], has_lock: bool) -> Self {
        NodeFile {
            addresses: addresses.to_vec(),
            system: this_system().filter(|_| has_lock).map(str::to_owned),
        }
    }

    /// What the file says; none: there is none any more.
    ///
    /// # Errors
    /// It cannot be read, or is no file of a node.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match read_text(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(text) => NodeFile::of_text(&text).map(Some),
        }
    }

    fn of_text(text: &str) -> io::Result<Self> {
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let (mut addresses, mut system) = (Vec::new(), None);
        for line in text.lines() {
            match line.strip_prefix(SYSTEM) {
                Some(of) => system = Some(of.to_owned()),
                None if is_address(line) => addresses.push(line.to_owned()),
                None => return Err(wrong(format!("{line:?} is no address"))),
            }
        }
        match addresses.is_empty() {
            true => Err(wrong("it holds no address".to_owned())),
            false => Ok(NodeFile { addresses, system }),
        }
    }

    pub(super) fn write(&self, file: &mut File) -> io::Result<()> {
        let mut text = self.addresses.join("\n");
        if let Some(system) = &self.system {
            text.extend(['\n', SYSTEM]);
            text.push_str(system);
        }
        file.write_all(text.as_bytes())
    }

    /// Whether who holds the lock of the node's name knows that the node is gone.
    pub(super) fn is_of_here(&self) -> bool {
        self.system.is_some() && self.system.as_deref() == this_system()
    }
}

pub(super) fn is_node(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// The name of the file of a node.
pub(super) fn file_name(node: &str, incarnation: u64) -> String {
    format!("{node}.{incarnation:016x}.{ENDING}")
}

/// The name of the node whose file this is.
pub(super) fn node_of(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.rsplit_once('.')?.0.to_owned())
}

/// Which start of the node it was.
pub(super) fn start_of(path: &Path) -> Option<u64> {
    let (_, incarnation) = path.file_stem()?.to_str()?.rsplit_once('.')?;
    u64::from_str_radix(incarnation, 16).ok()
}

fn read_text(path: &Path) -> io::Result<String> {
    // To open a pipe would wait for who writes to it.
    if !fs::metadata(path)?.is_file() {
        let why = "it is no ordinary file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}

/// This start of the system, which no other one has; none: it does not say.
fn this_system() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let boot = BOOT.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(boot.trim().to_owned()).filter(|boot| !boot.is_empty())
    });
    boot.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_was_written_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(file_name("a.b", 0xab));
        let (node, start) = (node_of(&path), start_of(&path));
        assert!(is_node(&path) && node.as_deref() == Some("a.b") && start == Some(0xab));
        let addresses = ["127.0.0.1:7450".to_owned(), "[::1]:7451".to_owned()];
        for has_lock in [false, true] {
            let mut file = File::create(&path).expect("a file");
            let written = NodeFile::of_here(&addresses, has_lock);
            written.write(&mut file).expect("it has room");
            let read = NodeFile::read(&path).expect("a file of a node");
            let read = read.expect("it is there");
            assert_eq!(read.addresses, addresses);
            assert_eq!(read.is_of_here(), has_lock && this_system().is_some());
        }
        fs::remove_file(&path).expect("it is there");
        assert!(NodeFile::read(&path).expect("no error").is_none());
    }

    #[test]
    fn sem_g591_what_is_no_file_of_a_node_is_an_error() {
        for text in ["", "\n", "#1", "here", "127.0.0.1:7450\n\"]", "a b:1"] {
            assert!(NodeFile::of_text(text).is_err(), "{text:?}");
        }
    }
}
