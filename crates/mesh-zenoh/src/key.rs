//! The key of a mesh: 32 bytes that all its nodes have.

use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The largest file that is read as a key: digits, and a few blanks round them.
const MAX_FILE: u64 = 256;

/// The key of a mesh. Who has it is a member; certificates and the keys of links are derived from
/// it.
///
/// In a file it is 64 hexadecimal digits, and nobody but the owner may read the file.
#[derive(Clone, PartialEq, Eq)]
pub struct RunKey([u8; 32]);

/// Why there is no key.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file is there already.
    Exists(PathBuf),
    /// The file cannot be read or written.
    File(PathBuf, io::Error),
    /// Others than its owner may read or write the file: its mode.
    Open(PathBuf, u32),
    /// The file does not hold 64 hexadecimal digits.
    Content(PathBuf),
    /// The system gives no random bytes.
    NoRandom,
}

impl RunKey {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyFileError::NoRandom`].
    pub fn random() -> Result<Self, KeyFileError> {
        random().map(RunKey).ok_or(KeyFileError::NoRandom)
    }

    /// Makes a new key and the file for it, with mode 0600.
    ///
    /// # Errors
    /// [`KeyFileError`]: the file is there, or cannot be written.
    pub fn make(path: &Path) -> Result<Self, KeyFileError> {
        let key = RunKey::random()?;
        make_file(path, |file| writeln!(file, "{}", key.digits()))?;
        Ok(key)
    }

    /// Reads the key of a file.
    ///
    /// # Errors
    /// [`KeyFileError`]: the file is missing, others may read it, or it holds no key.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let wrong = |error| KeyFileError::File(path.to_owned(), error);
        let file = File::open(path).map_err(wrong)?;
        if let Some(mode) = open_to_others(&file).map_err(wrong)? {
            return Err(KeyFileError::Open(path.to_owned(), mode));
        }
        let mut text = String::new();
        let content = || KeyFileError::Content(path.to_owned());
        file.take(MAX_FILE)
            .read_to_string(&mut text)
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => content(),
                _ => KeyFileError::File(path.to_owned(), error),
            })?;
        RunKey::of_digits(text.trim()).ok_or_else(content)
    }

    fn of_digits(digits: &str) -> Option<Self> {
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; 32];
        for (byte, at) in key.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
        }
        Some(RunKey(key))
    }

    fn digits(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// 32 bytes for one purpose (HKDF with SHA-256).
    pub(crate) fn derive(&self, purpose: &[&[u8]]) -> [u8; 32] {
        derive(&self.0, purpose)
    }
}

/// 32 bytes for one purpose, from 32 secret ones.
pub(crate) fn derive(secret: &[u8; 32], purpose: &[&[u8]]) -> [u8; 32] {
    let mut derived = [0; 32];
    let key = Salt::new(HKDF_SHA256, b"motet mesh 1").extract(secret);
    key.expand(purpose, HKDF_SHA256)
        .and_then(|bytes| bytes.fill(&mut derived))
        .expect("HKDF with SHA-256 gives 32 bytes");
    derived
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Makes a file that its owner alone may read. When it cannot be filled there is none: a part of a
/// key would keep all others from making one.
fn make_file(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), KeyFileError> {
    let wrong = |error| KeyFileError::File(path.to_owned(), error);
    let mut file = new_file(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
        _ => wrong(error),
    })?;
    // Over a quota, or on another machine, a system may say only at the sync that there is no room.
    let filled = fill(&mut file).and_then(|()| file.sync_all());
    filled.map_err(|error| {
        // The first error is the one to tell.
        let _ = fs::remove_file(path);
        wrong(error)
    })
}

/// A new file that its owner alone may read.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The mode of a file that others than its owner may use.
fn open_to_others(file: &File) -> io::Result<Option<u32>> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o777;
        Ok((mode & 0o077 != 0).then_some(mode))
    }
    #[cfg(not(unix))]
    {
        file.metadata().map(|_| None)
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKey(…)")
    }
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyFileError::Exists(path) => {
                let path = path.display();
                write!(
                    f,
                    "{path} is there already; a new key needs a file of its own"
                )
            }
            KeyFileError::File(path, error) => write!(f, "{}: {error}", path.display()),
            KeyFileError::Open(path, mode) => write!(
                f,
                "{path}: others may use this key (mode {mode:o}); run `chmod 600 {path}`, and make a new key if \
                 somebody may have read it",
                path = path.display()
            ),
            KeyFileError::Content(path) => write!(
                f,
                "{} holds no key: it needs 64 hexadecimal digits, as `motet mesh keys new` writes them",
                path.display()
            ),
            KeyFileError::NoRandom => f.write_str("the system gives no random bytes for a key"),
        }
    }
}

impl std::error::Error for KeyFileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g250_a_key_that_cannot_be_written_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let failed = make_file(&path, |file| {
            file.write_all(b"0123")?;
            Err(io::Error::other("the disk is full"))
        });
        let told = failed.expect_err("it cannot be written").to_string();
        assert!(told.contains("the disk is full"), "{told}");
        assert!(!path.exists());
        let key = RunKey::make(&path).expect("there is none yet");
        assert!(RunKey::read(&path).expect("its own file") == key);
    }
}
