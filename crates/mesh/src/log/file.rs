//! The samples of a log: they grow at the end of its last file, and are read from a number on.

use super::directory::{file_of, files, locked, make, make_directory, remove, synced};
use super::found::FoundSegment;
use super::index::{LogIndex, LogMark, MARKED};
use super::record::{self, FIXED, LENGTH, PREFIX, RecordHead, file_head, numbered};
use super::scan::whole_at;
use super::search::{self, nearest};
use super::segment::{LogSegment, LogSegments, ReadPlace};
use super::{LogConfig, LogError, LogInfo};
use crate::start_from::LogId;
use motet_sync::Mutex;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many bytes are read at most for a flow, and the record that they end in.
const READ: u64 = 1 << 20;

/// A log that this process may write. Lock order: `writes`, `reads`, `segments`.
#[derive(Debug)]
pub(crate) struct SampleLog {
    config: LogConfig,
    id: LogId,
    /// What each file begins with.
    head: Vec<u8>,
    cut_off: u64,
    segments: Mutex<LogSegments>,
    /// Who has none can write no more: it was closed, or the disk has failed, and why.
    writes: Mutex<Result<File, LogError>>,
    /// The file that was read last, by the number of its first sample. Who holds it keeps all files
    /// where they are.
    reads: Mutex<Option<(u64, File)>>,
    /// Locked.
    lock: Mutex<Option<File>>,
}

/// Samples that were read.
#[derive(Debug)]
pub(crate) struct LogSamples {
    /// The number of the first, and of the next one to ask for where there is none.
    pub(crate) first: u64,
    pub(crate) samples: Vec<Arc<[u8]>>,
}

impl SampleLog {
    /// Opens the log of a topic, or makes one with this id.
    pub(crate) fn open(
        config: &LogConfig,
        topic: (&str, &str),
        new_id: impl FnOnce() -> LogId,
    ) -> Result<Self, LogError> {
        config.has_room()?;
        let directory = &config.directory;
        make_directory(directory).map_err(|why| LogError::file(directory, "made", &why))?;
        let lock = locked(directory)?;
        let found = files(directory).map_err(|why| LogError::file(directory, "read", &why))?;
        let behind = found.iter().skip(1).map(|(first, _)| Some(*first));
        let behind: Vec<_> = behind.chain([None]).collect();
        let mut found = found.into_iter().zip(behind);
        let oldest = match found.next() {
            Some(oldest) => oldest,
            None => {
                let path = file_of(directory, 1);
                make(directory, &path, &file_head(new_id(), topic.0, topic.1))?;
                ((1, path), None)
            }
        };
        let mut last = FoundSegment::read(oldest, topic, None)?;
        let mut older = VecDeque::new();
        for file in found {
            let next = FoundSegment::read(file, topic, Some(&last))?;
            older.push_back(std::mem::replace(&mut last, next).segment);
        }
        let (id, cut_off, written) = (last.id, last.rest, last.segment);
        let writes = written_to(&written.path)?;
        if cut_off > 0 {
            let cut = writes.set_len(written.index.end);
            let what = "cut off behind its last record";
            cut.map_err(|why| LogError::file(&written.path, what, &why))?;
        }
        // Whoever wrote it last may have been killed before that was on the disk.
        let brought = writes.sync_all().and_then(|()| synced(directory));
        brought.map_err(|why| LogError::file(&written.path, "brought to the disk", &why))?;
        Ok(SampleLog {
            config: config.clone(),
            id,
            head: file_head(id, topic.0, topic.1),
            cut_off,
            segments: Mutex::new(LogSegments::new(older, written)),
            writes: Mutex::new(Ok(writes)),
            reads: Mutex::new(None),
            lock: Mutex::new(Some(lock)),
        })
    }

    pub(crate) fn id(&self) -> LogId {
        self.id
    }

    /// The number of the oldest sample that is there: that of the next one, if there is none.
    pub(crate) fn first(&self) -> u64 {
        self.segments.lock().first()
    }

    /// The number of the last sample.
    pub(crate) fn last(&self) -> u64 {
        self.segments.lock().last()
    }

    pub(crate) fn info(&self) -> LogInfo {
        let segments = self.segments.lock();
        LogInfo {
            file: segments.written.path.clone(),
            first: segments.first(),
            last: segments.last(),
            bytes: segments.bytes(),
            limit: self.config.limit,
            cut_off: self.cut_off,
        }
    }

    /// The file that is written.
    fn path(&self) -> PathBuf {
        self.segments.lock().written.path.clone()
    }

    /// How many of these samples, the first ones, may be the next record.
    pub(super) fn fit(&self, samples: &[impl AsRef<[u8]>]) -> usize {
        let begin = self.segments.lock().bytes();
        let mut length = (PREFIX + FIXED) as u64;
        let mut fits = |sample: &[u8]| {
            length += (LENGTH + sample.len()) as u64;
            begin.saturating_add(length) <= self.config.limit
        };
        samples
            .iter()
            .take_while(|sample| fits(sample.as_ref()))
            .count()
    }

    pub(super) fn full(&self) -> LogError {
        LogError::Full {
            file: self.path(),
            limit: self.config.limit,
        }
    }

    /// When the oldest file is older than what is kept, if nothing is dropped before.
    pub(super) fn outdated_at(&self) -> Option<u64> {
        let age = self.config.keep_nanoseconds()?;
        let ends = self.segments.lock().oldest_ends()?;
        Some(ends.saturating_add(age).saturating_add(1))
    }

    /// Before a record is written at this time, or when files are outdated: begins another file,
    /// where the one that is written has its length or its age, and drops files that are kept no
    /// longer.
    pub(super) fn keep(&self, now: u64) -> Result<(), LogError> {
        let mut writes = self.writes.lock();
        let file = match &*writes {
            Ok(file) => file,
            Err(why) => return Err(why.clone()),
        };
        let (now, is_over) = {
            let segments = self.segments.lock();
            let now = now.max(segments.written.index.time);
            (now, segments.written.is_over(&self.config, now))
        };
        // Before another file is made: the disk may have no room for that, and has it then.
        self.drop_outdated(now);
        if is_over {
            // What was cut off it is off the disk, too: nothing is behind its last record.
            let synced = file.sync_all();
            synced.map_err(|why| LogError::file(&self.path(), "brought to the disk", &why))?;
            *writes = Ok(self.go_on_in_another()?);
        }
        // Before the log is closed: somebody else may have it then.
        self.drop_outdated(now);
        drop(writes);
        Ok(())
    }

    /// Makes the file that is written from now on. All that was written before is on the disk.
    fn go_on_in_another(&self) -> Result<File, LogError> {
        let (last, time) = {
            let segments = self.segments.lock();
            (segments.last(), segments.written.index.time)
        };
        let (directory, first) = (&self.config.directory, last + 1);
        let path = file_of(directory, first);
        make(directory, &path, &self.head)?;
        let file = written_to(&path)?;
        let index = LogIndex::beginning_at(self.head.len() as u64, last, time);
        let next = LogSegment { first, path, index };
        self.segments.lock().go_on_in(next);
        Ok(file)
    }

    /// Removes files that are kept no longer, the oldest first. One that cannot be removed stays,
    /// with all behind it, and the next record tries again.
    fn drop_outdated(&self, now: u64) {
        let mut reads = self.reads.lock();
        loop {
            let Some(oldest) = self.segments.lock().outdated(&self.config, now) else {
                return;
            };
            *reads = None;
            if remove(&self.config.directory, &oldest).is_err() {
                return;
            }
            self.segments.lock().drop_oldest();
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
            let segments = self.segments.lock();
            let index = &segments.written.index;
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
            let error = LogError::file(&self.path(), "written", &why);
            // Room may come again. What was written of the record is no whole one.
            if let Err(why) = file.set_len(end) {
                *writes = Err(LogError::file(&self.path(), "cut off", &why));
            }
            return Err(error);
        }
        if let Err(why) = file.sync_data() {
            // What the disk has now nobody knows before the file is read again.
            let error = LogError::file(&self.path(), "brought to the disk", &why);
            let _ = file.set_len(end);
            *writes = Err(error.clone());
            return Err(error);
        }
        let mut segments = self.segments.lock();
        segments.written.index.enter(head, bytes.len());
        Ok(head.first)
    }

    /// Samples from this number on, in order, or from the oldest on if that is behind it: those
    /// that are on the disk, at most so many, and not many more than [`READ`] bytes. They end
    /// before one that cannot be read. Who asks for that one gets the error.
    pub(super) fn read(&self, from: u64, most: usize) -> Result<LogSamples, LogError> {
        let mut reads = self.reads.lock();
        let first = from.max(self.first());
        let (mut found, mut next, mut length) = (Vec::new(), first, 0);
        while found.len() < most && length < READ {
            let Some(place) = self.segments.lock().place(next) else {
                break;
            };
            let into = (&mut found, &mut length);
            match self.read_file(&mut reads, &place, (first, most), into) {
                Err(_) if !found.is_empty() => break,
                read => read?,
            }
            next = place.next;
        }
        let samples = found;
        Ok(LogSamples { first, samples })
    }

    /// Reads a file from this place on: samples from `first` on, until there are `most`. Each
    /// record is to go on behind the one before it, up to the number that the next file begins
    /// with.
    fn read_file(
        &self,
        reads: &mut Option<(u64, File)>,
        place: &ReadPlace,
        (first, most): (u64, usize),
        (found, length): (&mut Vec<Arc<[u8]>>, &mut u64),
    ) -> Result<(), LogError> {
        let file = opened(reads, place);
        let file = file.map_err(|why| LogError::file(&place.path, "opened", &why))?;
        let failed = |why: io::Error| LogError::file(&place.path, "read", &why);
        let wanted = first.max(place.segment);
        let mark = nearest((&mut *file, self.id), place, |mark| mark.first <= wanted);
        let mark = mark.map_err(failed)?;
        let (mut next, mut offset, mut marks) = (mark.first, mark.offset, vec![mark]);
        while next < place.next && found.len() < most && *length < READ {
            let body = whole_at(file, self.id, offset).map_err(failed)?;
            let record = body.as_ref().and_then(|body| numbered(body, next));
            let (Some((head, samples)), Some(body)) = (record, &body) else {
                return Err(LogError::Damaged {
                    file: place.path.clone(),
                    offset,
                });
            };
            let skipped = first.saturating_sub(head.first);
            let wanted = samples.into_iter().skip(skipped as usize);
            let room = most - found.len();
            found.extend(wanted.take(room).map(Arc::from));
            let is_far = |last: &LogMark| offset - last.offset >= MARKED;
            if marks.last().is_some_and(is_far) {
                marks.push(LogMark::of(head, offset));
            }
            let bytes = (PREFIX + body.len()) as u64;
            (next, offset) = (head.end(), offset + bytes);
            if next > first {
                *length += bytes;
            }
        }
        self.segments.lock().note(place.segment, &marks);
        Ok(())
    }

    /// The number of the first sample that was written at this time or later: that of the next one,
    /// if there is none. Few bytes are read.
    pub(crate) fn first_since(&self, time: u64) -> u64 {
        let place = {
            let segments = self.segments.lock();
            let place = segments.place_of_time(time);
            place.ok_or(segments.last() + 1)
        };
        let place = match place {
            Ok(place) => place,
            Err(next) => return next,
        };
        // Not the one that flows are read from, which takes longer.
        let file = File::open(&place.path);
        let found =
            file.and_then(|mut file| search::first_since((&mut file, self.id), &place, time));
        // Who reads what cannot be read is told.
        found.unwrap_or(place.mark.first)
    }

    /// When the last record was written.
    pub(super) fn time(&self) -> u64 {
        self.segments.lock().written.index.time
    }

    /// The disk fails from now on.
    #[cfg(test)]
    pub(super) fn cannot_write(&self) {
        // It is only read.
        *self.writes.lock() = Ok(File::open(self.path()).unwrap());
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

/// The file of this place, which stays open.
fn opened<'a>(reads: &'a mut Option<(u64, File)>, place: &ReadPlace) -> io::Result<&'a mut File> {
    let file = match reads.take() {
        Some((segment, file)) if segment == place.segment => file,
        _ => File::open(&place.path)?,
    };
    let (_, file) = reads.insert((place.segment, file));
    Ok(file)
}

/// A file that is there, for who writes it.
fn written_to(path: &Path) -> Result<File, LogError> {
    let file = OpenOptions::new().write(true).open(path);
    file.map_err(|why| LogError::file(path, "opened", &why))
}
