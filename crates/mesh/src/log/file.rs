//! The file of a log: it grows at its end, and is read from a number on.

use super::index::{LogIndex, LogMark};
use super::record::{self, FIXED, LENGTH, MAGIC, PREFIX, RecordHead, file_head, samples, topic_of};
use super::scan::{bytes_at, scan, whole_at};
use super::{LogConfig, LogError, LogInfo};
use crate::start_from::LogId;
use motet_sync::Mutex;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The samples, in the directory of the log.
const SAMPLES: &str = "samples.log";
/// The file that a publisher locks.
const LOCK: &str = "lock";

/// How many bytes are read at most for a flow, and the record that they end in.
const READ: u64 = 1 << 20;

/// A log that this process may write.
#[derive(Debug)]
pub(crate) struct SampleLog {
    path: PathBuf,
    id: LogId,
    limit: u64,
    cut_off: u64,
    index: Mutex<LogIndex>,
    /// Who has none can write no more: it was closed, or the disk has failed, and why.
    writes: Mutex<Result<File, LogError>>,
    reads: Mutex<File>,
    /// Locked.
    lock: Mutex<Option<File>>,
}

impl SampleLog {
    /// Opens the log of a topic, or makes one with this id.
    pub(crate) fn open(
        config: &LogConfig,
        (key, type_name): (&str, &str),
        new_id: impl FnOnce() -> LogId,
    ) -> Result<Self, LogError> {
        let directory = &config.directory;
        make_directory(directory).map_err(|why| LogError::file(directory, "made", &why))?;
        let path = directory.join(SAMPLES);
        let lock = locked(&directory.join(LOCK), &path)?;
        if !fs::exists(&path).map_err(|why| LogError::file(&path, "read", &why))? {
            make(directory, &path, &file_head(new_id(), key, type_name))?;
        }
        let failed = |why| LogError::file(&path, "opened", &why);
        let mut reads = File::open(&path).map_err(failed)?;
        let writes = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        let (id, begin) = head_of(&path, &mut reads, (key, type_name))?;
        let (index, cut_off) = scan((&path, &mut reads), id, begin)?;
        if cut_off > 0 {
            let cut = writes.set_len(index.end);
            cut.map_err(|why| LogError::file(&path, "cut off behind its last record", &why))?;
        }
        // Whoever wrote it last may have been killed before that was on the disk.
        let synced = writes.sync_all();
        let synced = synced.and_then(|()| File::open(directory)?.sync_all());
        synced.map_err(|why| LogError::file(&path, "brought to the disk", &why))?;
        Ok(SampleLog {
            path,
            id,
            limit: config.limit,
            cut_off,
            index: Mutex::new(index),
            writes: Mutex::new(Ok(writes)),
            reads: Mutex::new(reads),
            lock: Mutex::new(Some(lock)),
        })
    }

    pub(crate) fn id(&self) -> LogId {
        self.id
    }

    /// The number of the last sample.
    pub(crate) fn last(&self) -> u64 {
        self.index.lock().last
    }

    pub(crate) fn info(&self) -> LogInfo {
        let index = self.index.lock();
        LogInfo {
            file: self.path.clone(),
            last: index.last,
            bytes: index.end,
            limit: self.limit,
            cut_off: self.cut_off,
        }
    }

    /// How many of these samples, the first ones, may be the next record.
    pub(super) fn fit(&self, samples: &[impl AsRef<[u8]>]) -> usize {
        let begin = self.index.lock().end;
        let mut length = (PREFIX + FIXED) as u64;
        let mut fits = |sample: &[u8]| {
            length += (LENGTH + sample.len()) as u64;
            begin.saturating_add(length) <= self.limit
        };
        samples
            .iter()
            .take_while(|sample| fits(sample.as_ref()))
            .count()
    }

    pub(super) fn full(&self) -> LogError {
        LogError::Full {
            file: self.path.clone(),
            limit: self.limit,
        }
    }

    /// Writes samples behind the others, all or none, and returns when they are on the disk: the
    /// number of the first. There is at least one.
    pub(super) fn append(&self, samples: &[impl AsRef<[u8]>], time: u64) -> Result<u64, LogError> {
        let mut writes = self.writes.lock();
        let file = match &mut *writes {
            Ok(file) => file,
            Err(why) => return Err(why.clone()),
        };
        let (head, end) = {
            let index = self.index.lock();
            let head = RecordHead {
                first: index.last + 1,
                time: time.max(index.time),
                count: samples.len() as u32,
            };
            (head, index.end)
        };
        let bytes = record::record(self.id, end, head, samples);
        let written = file
            .seek(SeekFrom::Start(end))
            .and_then(|_| file.write_all(&bytes));
        if let Err(why) = written {
            let error = LogError::file(&self.path, "written", &why);
            // Room may come again. What was written of the record is no whole one.
            if let Err(why) = file.set_len(end) {
                *writes = Err(LogError::file(&self.path, "cut off", &why));
            }
            return Err(error);
        }
        if let Err(why) = file.sync_data() {
            // What the disk has now nobody knows before the file is read again.
            let error = LogError::file(&self.path, "brought to the disk", &why);
            let _ = file.set_len(end);
            *writes = Err(error.clone());
            return Err(error);
        }
        self.index.lock().enter(head, bytes.len());
        Ok(head.first)
    }

    /// Samples from this number on, in order: those that are on the disk, at most so many, and not
    /// many more than [`READ`] bytes.
    pub(super) fn read(&self, from: u64, most: usize) -> Result<Vec<Arc<[u8]>>, LogError> {
        let (mut offset, end) = {
            let index = self.index.lock();
            if from > index.last {
                return Ok(Vec::new());
            }
            let begin = index.begin(|mark| mark.first <= from);
            (begin.map_or(index.end, |mark| mark.offset), index.end)
        };
        let mut file = self.reads.lock();
        let (mut found, begin) = (Vec::<Arc<[u8]>>::new(), offset);
        while offset < end && found.len() < most && offset - begin < READ {
            let failed = |why| LogError::file(&self.path, "read", &why);
            let body = whole_at(&mut file, self.id, offset).map_err(failed)?;
            let record = body.as_ref().and_then(|body| {
                let head = RecordHead::of(body)?;
                Some((head, samples(body)?))
            });
            let (Some((head, samples)), Some(body)) = (record, &body) else {
                return Err(LogError::Damaged {
                    file: self.path.clone(),
                    offset,
                });
            };
            let skipped = from.saturating_sub(head.first);
            let wanted = samples.into_iter().skip(skipped as usize);
            found.extend(wanted.take(most - found.len()).map(Arc::from));
            offset += (PREFIX + body.len()) as u64;
        }
        Ok(found)
    }

    /// The number of the first sample that was written at this time or later: that of the next one,
    /// if there is none. Few bytes are read.
    pub(crate) fn first_since(&self, time: u64) -> u64 {
        let (begin, end) = {
            let index = self.index.lock();
            (index.begin(|mark| mark.time < time), index.end)
        };
        let Some(LogMark { first, offset, .. }) = begin else {
            return 1;
        };
        let (mut next, mut offset) = (first, offset);
        // Not the one that flows are read from, which takes longer.
        let Ok(mut file) = File::open(&self.path) else {
            return next;
        };
        while offset < end {
            let head = bytes_at(&mut file, offset, PREFIX + FIXED).ok();
            let known = head.as_ref().and_then(|bytes| {
                let (prefix, head) = bytes.split_at_checked(PREFIX)?;
                Some((RecordHead::of(head)?, record::length(prefix)?))
            });
            // Who reads what cannot be read is told.
            let Some((head, length)) = known.filter(|(head, _)| head.time < time) else {
                break;
            };
            next = head.end();
            offset += (PREFIX + length) as u64;
        }
        next
    }

    /// When the last record was written.
    pub(super) fn time(&self) -> u64 {
        self.index.lock().time
    }

    /// The disk fails from now on.
    #[cfg(test)]
    pub(super) fn cannot_write(&self) {
        // It is only read.
        *self.writes.lock() = Ok(File::open(&self.path).unwrap());
    }

    /// Takes no samples any more. Another publisher may have the log.
    pub(super) fn close(&self) {
        *self.writes.lock() = Err(LogError::Closed);
        if let Some(lock) = self.lock.lock().take() {
            // A process that is being started has it, too, until its program runs.
            let _ = lock.unlock();
        }
    }
}

/// Makes a directory, and those above it. The names of new ones are on the disk then.
fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = directory
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new("."));
    make_directory(above)?;
    match fs::create_dir(directory) {
        // Somebody else has made it meanwhile.
        Err(_) if directory.is_dir() => {}
        made => made?,
    }
    File::open(above)?.sync_all()
}

/// A new file is its owner's alone: who can open the lock can hold it, too.
fn owners(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The lock of a directory, if no other publisher has it.
fn locked(lock: &Path, samples: &Path) -> Result<File, LogError> {
    let file = owners(OpenOptions::new().create(true).append(true)).open(lock);
    let file = file.map_err(|why| LogError::file(lock, "opened", &why))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse {
            file: samples.to_owned(),
        }),
        Err(TryLockError::Error(why)) => Err(LogError::file(lock, "locked", &why)),
    }
}

/// Makes a log without samples. It has its name when its head is on the disk.
fn make(directory: &Path, path: &Path, head: &[u8]) -> Result<(), LogError> {
    let draft = path.with_extension("new");
    let make = || {
        let mut file =
            owners(OpenOptions::new().write(true).create(true).truncate(true)).open(&draft)?;
        file.write_all(head)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // The name, too.
        File::open(directory)?.sync_all()
    };
    make().map_err(|why| LogError::file(path, "made", &why))
}

/// The id of a log, and where its records begin.
fn head_of(
    path: &Path,
    file: &mut File,
    (key, type_name): (&str, &str),
) -> Result<(LogId, u64), LogError> {
    let failed = |why| LogError::file(path, "read", &why);
    let begin = MAGIC.len() as u64;
    let magic = bytes_at(file, 0, MAGIC.len()).map_err(failed)?;
    if magic != MAGIC {
        return Err(LogError::NoLog {
            file: path.to_owned(),
        });
    }
    let body = whole_at(file, 0, begin).map_err(failed)?;
    let topic = body.as_ref().and_then(|body| topic_of(body));
    let (Some((id, its_key, its_type)), Some(body)) = (topic, &body) else {
        return Err(LogError::Damaged {
            file: path.to_owned(),
            offset: begin,
        });
    };
    if (its_key.as_str(), its_type.as_str()) != (key, type_name) {
        return Err(LogError::OtherTopic {
            file: path.to_owned(),
            key: its_key,
            type_name: its_type,
        });
    }
    Ok((id, begin + (PREFIX + body.len()) as u64))
}
