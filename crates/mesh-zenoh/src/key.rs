//! The key of a mesh: 32 bytes that all its nodes have.

use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The largest file that is read as a key: digits, and a few blanks round them.
const MAX_FILE: u64 = 256;

/// A hundred years: what is to last longer lasts as long as this. The form of certificates has no
/// year of five digits.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The key of a mesh. Who has it is a member that may do all, and lets others in: the authority
/// that signs their certificates and grants is derived from it.
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
    /// A folder is there, and no file.
    Folder(PathBuf),
    /// Others than its owner may read or write the file: its mode.
    Open(PathBuf, u32),
    /// The file does not hold 64 hexadecimal digits.
    Content(PathBuf),
    /// The file does not hold a pass.
    NoPass(PathBuf),
    /// A pass cannot be made, and why.
    Grant(String),
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
        make_file(path, |file| writeln!(file, "{}", digits(&key.0)))?;
        Ok(key)
    }

    /// Reads the key of a file.
    ///
    /// # Errors
    /// [`KeyFileError`]: the file is missing, others may read it, or it holds no key.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let content = || KeyFileError::Content(path.to_owned());
        let text = read_closed(path, MAX_FILE, content)?;
        bytes_of(text.trim()).map(RunKey).ok_or_else(content)
    }

    #[cfg(test)]
    pub(crate) fn of_byte(byte: u8) -> Self {
        RunKey([byte; 32])
    }

    /// 32 bytes for one purpose (HKDF with SHA-256).
    pub(crate) fn derive(&self, purpose: &[&[u8]]) -> [u8; 32] {
        derive(&self.0, purpose)
    }
}

/// What a file holds that its owner alone may read; `no_text`: it is none.
pub(crate) fn read_closed(
    path: &Path,
    most: u64,
    no_text: impl FnOnce() -> KeyFileError,
) -> Result<String, KeyFileError> {
    let wrong = |error| KeyFileError::File(path.to_owned(), error);
    let file = File::open(path).map_err(wrong)?;
    if file.metadata().map_err(wrong)?.is_dir() {
        return Err(KeyFileError::Folder(path.to_owned()));
    }
    if let Some(mode) = open_to_others(&file).map_err(wrong)? {
        return Err(KeyFileError::Open(path.to_owned(), mode));
    }
    let mut text = String::new();
    match file.take(most).read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(no_text()),
        Err(error) => Err(wrong(error)),
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// So many bytes of hexadecimal digits, and nothing else.
pub(crate) fn bytes_of<const N: usize>(digits: &str) -> Option<[u8; N]> {
    if digits.len() != 2 * N || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..2 * N).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Seconds since 1970, by the clock of the wall. When that is set back it goes on from where the
/// process first asked: what has ended does not begin again.
pub(crate) fn wall() -> u64 {
    static FIRST: OnceLock<(u64, Instant)> = OnceLock::new();
    let now = by_the_clock();
    let (first, at) = FIRST.get_or_init(|| (now, Instant::now()));
    not_before(now, *first, at.elapsed())
}

/// The time now, or `first` and what has passed since then if that is later.
fn not_before(now: u64, first: u64, passed: Duration) -> u64 {
    now.max(first.saturating_add(passed.as_secs()))
}

fn by_the_clock() -> u64 {
    since_1970().as_secs()
}

fn since_1970() -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "certificates and passes end by the clock of the wall, and starts are in its order"
    )]
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO)
}

/// How much earlier than this node another one of its name has started that listens by now: in the
/// numbers of starts, which are microseconds and 12 bits more.
pub(crate) const EARLIER: u64 = 60_000_000 << 12;

/// The number of a start of a node: no other has it, and that of a later one is larger, unless the
/// clock of the wall was set back. Microseconds, and 12 bits at random.
pub(crate) fn new_start() -> Option<u64> {
    let more = u64::from(u16::from_le_bytes(random()?)) % (1 << 12);
    Some(((since_1970().as_micros() as u64) << 12) | more)
}

/// When something ends that begins now, in seconds since 1970.
pub(crate) fn end_after(lasts: Option<Duration>) -> Option<u64> {
    lasts.map(|lasts| wall().saturating_add(lasts.min(LONGEST).as_secs()))
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
pub(crate) fn make_file(
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
                    "{path} is there already; what is new needs a file of its own"
                )
            }
            KeyFileError::File(path, error) => write!(f, "{}: {error}", path.display()),
            KeyFileError::Folder(path) => write!(
                f,
                "{} is a folder; name the file in it that holds the key or the pass",
                path.display()
            ),
            KeyFileError::Open(path, mode) => write!(
                f,
                "{path}: others may use this file (mode {mode:o}); run `chmod 600 {path}`, and make a new key or \
                 pass if somebody may have read it",
                path = path.display()
            ),
            KeyFileError::Content(path) => write!(
                f,
                "{} holds no key: it needs 64 hexadecimal digits, as `motet mesh keys new` writes them",
                path.display()
            ),
            KeyFileError::NoPass(path) => write!(
                f,
                "{} holds no pass, or one that was changed; make one with `motet mesh keys pass`",
                path.display()
            ),
            KeyFileError::Grant(why) => write!(f, "the pass cannot be made: {why}"),
            KeyFileError::NoRandom => f.write_str("the system gives no random bytes for a key"),
        }
    }
}

impl std::error::Error for KeyFileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g564_a_clock_that_is_set_back_begins_nothing_again() {
        let passed = Duration::from_secs(60);
        assert_eq!(not_before(1_060, 1_000, passed), 1_060);
        assert_eq!(not_before(500, 1_000, passed), 1_060);
        assert_eq!(not_before(2_000, 1_000, passed), 2_000);
        assert_eq!(not_before(0, u64::MAX, passed), u64::MAX);
    }

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
