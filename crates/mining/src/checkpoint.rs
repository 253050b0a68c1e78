//! What a long run keeps on disk, so that it can go on after an end that nobody wanted.
//!
//! A file is written whole: under another name, flushed to the disk, then renamed. So whenever the
//! program ends, the file is the last whole one, or there is none.

use crate::{MiningError, Points};
use motet_comm::Communicator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a file begins with.
const MAGIC: &[u8; 16] = b"motet checkpoint";

/// Where runs keep what they have, and how often.
///
/// A run that finds the checkpoint of an earlier one with the same data and options goes on from
/// there. Its result has the same bits as that of a run without interruption, on any number of
/// ranks. A checkpoint of other data, options or versions is refused. Rank 0 reads and writes; the
/// folder need not be there for the others.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Checkpoints, Control, Mixture, Points};
///
/// let points = Points::new((0..100).map(|i| f64::from(i * i % 37)).collect(), 1)?;
/// let folder = std::env::temp_dir().join(format!("motet-checkpoint-{}", std::process::id()));
/// let kept = Checkpoints::new(&folder, "mixture");
/// let method = Mixture::default();
/// let fit = || {
///     let world = World::threads(2);
///     world.run(async |comm| method.fit_kept(&comm, &points, &Control::default(), &kept).await)
/// };
/// let first = fit().unwrap();
/// // The second run begins where the first has ended.
/// assert_eq!(fit().unwrap(), first);
/// kept.clear().unwrap();
/// # std::fs::remove_dir(folder).unwrap();
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    name: String,
    every: Duration,
}

impl Checkpoints {
    /// The file `name.checkpoint` in `folder`, written every ten seconds at most.
    pub fn new(folder: impl Into<PathBuf>, name: &str) -> Checkpoints {
        Checkpoints {
            folder: folder.into(),
            name: name.to_owned(),
            every: Duration::from_secs(10),
        }
    }

    /// Writes when so much time has gone since the last one, at the next end of a step.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Checkpoints {
        self.every = every;
        self
    }

    /// The same folder and times, another name.
    #[must_use]
    pub fn named(&self, name: &str) -> Checkpoints {
        Checkpoints {
            name: format!("{}-{name}", self.name),
            ..self.clone()
        }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.checkpoint", self.name))
    }

    /// Removes the file and its parts, if they are there.
    ///
    /// # Errors
    ///
    /// [`MiningError::Checkpoint`] if one cannot be removed.
    pub fn clear(&self) -> Result<(), MiningError> {
        let parts = (0..).take_while(|number| self.part(*number).path().exists());
        // From the last to the first: what is left after an end on the way has no gap. The one
        // behind the last may be half written.
        for number in (0..=parts.count()).rev() {
            self.part(number).remove()?;
        }
        self.remove()
    }

    fn remove(&self) -> Result<(), MiningError> {
        for path in [self.path(), self.beside()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(self.problem(&error.to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The file while it is written.
    fn beside(&self) -> PathBuf {
        self.path().with_extension("checkpoint-new")
    }

    /// One of the parts of a state that grows.
    fn part(&self, number: usize) -> Checkpoints {
        Checkpoints {
            name: format!("{}.{number}", self.name),
            ..self.clone()
        }
    }

    fn problem(&self, what: &str) -> MiningError {
        MiningError::Checkpoint {
            path: self.path().display().to_string(),
            problem: what.to_owned(),
        }
    }

    /// The bytes of the state, if there is a file and it belongs to this run.
    fn read(&self, run: u64) -> Result<Option<Vec<u8>>, String> {
        let bytes = match fs::read(self.path()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&error)),
        };
        let damaged = || "it is damaged: remove it to begin anew".to_owned();
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (head, state) = rest.split_at_checked(16).ok_or_else(damaged)?;
        let number = |at: usize| head[at..].first_chunk().map(|b| u64::from_le_bytes(*b));
        if number(8) != Some(Digest::of_bytes(state)) {
            return Err(damaged());
        }
        match number(0) == Some(run) {
            true => Ok(Some(state.to_vec())),
            false => Err(
                "it is of other data, other options or another version of motet: give \
                          what it was made with, or remove it to begin anew"
                    .to_owned(),
            ),
        }
    }

    /// Writes the file whole.
    fn write(&self, run: u64, state: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let beside = self.beside();
        let written = write_to(&beside, run, state);
        let renamed = written.and_then(|()| fs::rename(&beside, self.path()));
        if renamed.is_err() {
            // Half a file has no use, and takes room where there may be none.
            let _ = fs::remove_file(&beside);
        }
        renamed.and_then(|()| sync_folder(&self.folder))
    }
}

/// Why a file is not read, and what to do.
fn unreadable(error: &std::io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::InvalidInput => "name another folder",
        ErrorKind::IsADirectory => "remove it",
        _ => "make it readable or remove it",
    };
    format!("{error}: {advice}")
}

/// Why a file is not written, and what to do.
fn unwritable(error: &std::io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room, or name another folder",
        _ => "name another folder",
    };
    format!("{error}: {advice}")
}

fn write_to(path: &Path, run: u64, state: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(MAGIC)?;
    file.write_all(&run.to_le_bytes())?;
    file.write_all(&Digest::of_bytes(state).to_le_bytes())?;
    file.write_all(state)?;
    file.sync_all()
}

/// A rename is on the disk when its folder is. The empty path is the working directory.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}

/// The checkpoints of one run.
pub(crate) struct CheckpointKeeper<'a> {
    comm: &'a Communicator,
    kept: Option<&'a Checkpoints>,
    run: u64,
    last: Instant,
}

impl<'a> CheckpointKeeper<'a> {
    /// A run with these options, of data with this digest. Rank 0 alone works out the digest.
    pub(crate) fn new(
        comm: &'a Communicator,
        kept: Option<&'a Checkpoints>,
        options: &dyn Debug,
        data: impl FnOnce(&mut Digest),
    ) -> CheckpointKeeper<'a> {
        let mut digest = Digest::new();
        if kept.is_some() && comm.rank() == 0 {
            digest.text(env!("CARGO_PKG_VERSION"));
            digest.text(&format!("{options:?}"));
            data(&mut digest);
        }
        CheckpointKeeper {
            comm,
            kept,
            run: digest.0,
            last: Instant::now(),
        }
    }

    /// What is wrong with the checkpoint, as an error.
    pub(crate) fn problem(&self, what: &str) -> MiningError {
        let path = self.kept.map(|kept| kept.path().display().to_string());
        MiningError::Checkpoint {
            path: path.unwrap_or_default(),
            problem: what.to_owned(),
        }
    }

    /// Whether states are kept.
    pub(crate) fn is_on(&self) -> bool {
        self.kept.is_some()
    }

    /// The state that an earlier run has kept, on all ranks.
    pub(crate) async fn load<T: DeserializeOwned>(&self) -> Result<Option<T>, MiningError> {
        let Some(kept) = self.kept else {
            return Ok(None);
        };
        let own = (self.comm.rank() == 0).then(|| kept.read(self.run));
        let state = self.comm.broadcast(0, own).await?;
        let state = state.map_err(|what| kept.problem(&what))?;
        let state = state.map(|bytes| postcard::from_bytes(&bytes)).transpose();
        state.map_err(|error| kept.problem(&format!("{error}: remove it to begin anew")))
    }

    /// Whether a state is to be kept, since it is time or `now`; the same on all ranks.
    pub(crate) async fn is_time(&self, now: bool) -> Result<bool, MiningError> {
        if self.kept.is_none() {
            return Ok(false);
        }
        let own = (self.comm.rank() == 0).then(|| now || self.is_due());
        Ok(self.comm.broadcast(0, own).await?)
    }

    /// Keeps a state that is the same on all ranks, if it is time or `now`.
    pub(crate) async fn save(
        &mut self,
        now: bool,
        state: &impl Serialize,
    ) -> Result<(), MiningError> {
        let Some(kept) = self.kept else {
            return Ok(());
        };
        let mut problem = None;
        if self.comm.rank() == 0 && (now || self.last.elapsed() >= kept.every) {
            let written = match postcard::to_stdvec(state) {
                Ok(bytes) => kept
                    .write(self.run, &bytes)
                    .map_err(|error| unwritable(&error)),
                Err(error) => Err(error.to_string()),
            };
            problem = written.err();
            self.last = Instant::now();
        }
        let own = (self.comm.rank() == 0).then_some(problem);
        match self.comm.broadcast(0, own).await? {
            Some(what) => Err(kept.problem(&what)),
            None => Ok(()),
        }
    }
}

/// A state that grows at its end is kept in parts: each is written once. Rank 0 alone calls these.
impl CheckpointKeeper<'_> {
    /// The parts that an earlier run has kept, in their order.
    pub(crate) fn parts<T: DeserializeOwned>(&self) -> Result<Vec<T>, MiningError> {
        let mut parts = Vec::new();
        let Some(kept) = self.kept else {
            return Ok(parts);
        };
        loop {
            let part = kept.part(parts.len());
            match part.read(self.run).map_err(|what| part.problem(&what))? {
                Some(bytes) => {
                    parts.push(postcard::from_bytes(&bytes).map_err(|error| {
                        part.problem(&format!("{error}: remove it to begin anew"))
                    })?)
                }
                None => return Ok(parts),
            }
        }
    }

    /// Whether it is time for the next part.
    pub(crate) fn is_due(&self) -> bool {
        self.kept
            .is_some_and(|kept| self.last.elapsed() >= kept.every)
    }

    /// Keeps a part.
    pub(crate) fn save_part(
        &mut self,
        number: usize,
        part: &impl Serialize,
    ) -> Result<(), MiningError> {
        let Some(kept) = self.kept.map(|kept| kept.part(number)) else {
            return Ok(());
        };
        self.last = Instant::now();
        let bytes = postcard::to_stdvec(part).map_err(|error| kept.problem(&error.to_string()))?;
        kept.write(self.run, &bytes)
            .map_err(|error| kept.problem(&unwritable(&error)))
    }
}

/// A number that stands for data and options (FNV-1a over words).
pub(crate) struct Digest(u64);

impl Digest {
    fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.word(numbers.len() as u64);
        numbers
            .iter()
            .for_each(|number| self.word(number.to_bits()));
    }

    pub(crate) fn points(&mut self, points: &Points) {
        self.word(points.dim() as u64);
        self.numbers(points.values());
        if let Some(weights) = points.weights() {
            self.numbers(weights);
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words
            .iter()
            .for_each(|word| self.word(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.word(u64::from(*byte)));
    }

    fn of_bytes(bytes: &[u8]) -> u64 {
        let mut digest = Digest::new();
        digest.bytes(bytes);
        digest.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_written_files_go_too() {
        let folder = tempfile::tempdir().unwrap();
        let left = || fs::read_dir(folder.path()).unwrap().count();
        let kept = Checkpoints::new(folder.path(), "run");
        kept.write(1, b"state").unwrap();
        kept.part(0).write(1, b"part").unwrap();
        assert_eq!(left(), 2);
        // As a program leaves them that is killed while it writes.
        fs::write(kept.beside(), "mot").unwrap();
        fs::write(kept.part(1).beside(), "mot").unwrap();
        kept.clear().unwrap();
        assert_eq!(left(), 0);
        // A folder that is not empty is where the file should be.
        fs::create_dir_all(kept.path().join("full")).unwrap();
        assert!(kept.write(1, b"state").is_err());
        assert_eq!(left(), 1);
    }

    #[test]
    fn a_folder_that_is_a_file_is_no_matter_of_rights_or_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "no folder").unwrap();
        let kept = Checkpoints::new(&file, "run");
        let said = kept.read(1).unwrap_err();
        assert!(said.ends_with(": name another folder"), "{said}");
        let said = unwritable(&kept.write(1, b"state").unwrap_err());
        assert!(said.ends_with(": name another folder"), "{said}");
        let full = unwritable(&ErrorKind::StorageFull.into());
        assert!(
            full.ends_with(": make room, or name another folder"),
            "{full}"
        );
    }

    #[test]
    fn the_working_directory_may_be_named_by_nothing() {
        sync_folder(Path::new("")).unwrap();
    }
}
