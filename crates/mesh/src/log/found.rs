//! The files of a log as they are found when it is opened.

use super::LogError;
use super::index::LogIndex;
use super::record::{MAGIC, PREFIX, topic_of};
use super::scan::{bytes_at, scan, whole_at};
use super::search::last_record;
use super::segment::LogSegment;
use crate::start_from::LogId;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file that was read.
pub(super) struct FoundSegment {
    pub(super) id: LogId,
    pub(super) segment: LogSegment,
    /// How many bytes are behind its last whole record.
    pub(super) rest: u64,
}

impl FoundSegment {
    /// Reads a file, which is to go on behind the one before it. Of one that another one follows,
    /// which begins with the number `behind`, the head and the last record are read. If that is not
    /// the one before `behind`, all is read, as of the last file.
    pub(super) fn read(
        ((first, path), behind): ((u64, PathBuf), Option<u64>),
        topic: (&str, &str),
        before: Option<&FoundSegment>,
    ) -> Result<Self, LogError> {
        let file = File::open(&path);
        let mut file = file.map_err(|why| LogError::file(&path, "opened", &why))?;
        let (id, begin) = head_of(&path, &mut file, topic)?;
        let time = match before {
            Some(before) => before.is_followed_by(id, first, &path)?,
            None => 0,
        };
        let known = match behind {
            Some(behind) => index_by_last((&mut file, id), begin, &(first..behind))
                .map_err(|why| LogError::file(&path, "read", &why))?,
            None => None,
        };
        let (index, rest) = match known {
            Some(index) => (index, 0),
            None => {
                let index = LogIndex::beginning_at(begin, first.saturating_sub(1), time);
                scan((&path, &mut file), id, index)?
            }
        };
        let segment = LogSegment { first, path, index };
        Ok(FoundSegment { id, segment, rest })
    }

    /// When the last record was written, if a file of this id and number goes on behind it.
    fn is_followed_by(&self, id: LogId, first: u64, file: &Path) -> Result<u64, LogError> {
        let index = &self.segment.index;
        if self.rest > 0 {
            // Another file was begun when all records of this one were on the disk.
            return Err(LogError::Damaged {
                file: self.segment.path.clone(),
                offset: index.end,
            });
        }
        if (self.id, index.last + 1) != (id, first) {
            return Err(LogError::Apart {
                file: file.to_owned(),
                last: index.last,
            });
        }
        Ok(index.time)
    }
}

/// What is known of a file whose records begin here and have these numbers, if its last record has
/// the last of them.
fn index_by_last(
    (file, id): (&mut File, LogId),
    begin: u64,
    numbers: &Range<u64>,
) -> io::Result<Option<LogIndex>> {
    let part = begin..file.seek(SeekFrom::End(0))?;
    let last = last_record((file, id), &part, numbers)?;
    Ok(last.map(|last| LogIndex::of_last(&part, numbers, last)))
}

/// The id of a log, and where the records of a file begin.
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
