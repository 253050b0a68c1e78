//! A file of a log is opened: what of it is whole, and what is behind that.

use super::LogError;
use super::index::LogIndex;
use super::record::{FIXED, MAX_RECORD, PREFIX, RecordHead, is_whole, length, samples};
use crate::start_from::LogId;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// So many bytes are looked at together.
const CHUNK: usize = 1 << 20;

/// The bytes at a place of a file, as many as there are.
pub(super) fn bytes_at(file: &mut File, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is at a place, behind its prefix; none: that is no whole record, or no head of a file.
pub(super) fn whole_at(file: &mut File, id: LogId, offset: u64) -> io::Result<Option<Vec<u8>>> {
    let prefix = bytes_at(file, offset, PREFIX)?;
    let Some(length) = (prefix.len() == PREFIX).then(|| length(&prefix)).flatten() else {
        return Ok(None);
    };
    let body = bytes_at(file, offset + PREFIX as u64, length)?;
    Ok((body.len() == length && is_whole(id, offset, &prefix, &body)).then_some(body))
}

/// Enters the records from the end of `index` on. What of the file is behind the last whole one: a
/// record that was not written to its end. It is an error if that is something else.
pub(super) fn scan(
    (path, file): (&Path, &mut File),
    id: LogId,
    mut index: LogIndex,
) -> Result<(LogIndex, u64), LogError> {
    let failed = |why: io::Error| LogError::file(path, "read", &why);
    let file_end = file.seek(SeekFrom::End(0)).map_err(failed)?;
    while index.end < file_end {
        let Some(body) = whole_at(file, id, index.end).map_err(failed)? else {
            break;
        };
        let follows = RecordHead::of(&body).filter(|head| {
            let is_next = head.first == index.last + 1 && head.count > 0;
            is_next && samples(&body).is_some()
        });
        let Some(head) = follows else {
            break;
        };
        index.enter(head, PREFIX + body.len());
    }
    let rest = file_end - index.end;
    let is_damaged = rest > (PREFIX + MAX_RECORD) as u64
        || has_record_behind(file, id, &index).map_err(failed)?;
    match is_damaged {
        false => Ok((index, rest)),
        true => Err(LogError::Damaged {
            file: path.to_owned(),
            offset: index.end,
        }),
    }
}

/// Whether a record begins somewhere behind the last whole one.
fn has_record_behind(file: &mut File, id: LogId, index: &LogIndex) -> io::Result<bool> {
    let mut begin = index.end;
    loop {
        let bytes = bytes_at(file, begin, CHUNK + PREFIX + FIXED)?;
        let heads = bytes.windows(PREFIX + FIXED).take(CHUNK);
        for (at, window) in heads.enumerate() {
            let offset = begin + at as u64;
            let Some(head) = RecordHead::of(&window[PREFIX..]) else {
                continue;
            };
            // Few other bytes look like that, so few are read as a record.
            let is_later = head.first > index.last && head.first - index.last <= MAX_RECORD as u64;
            let is_likely = is_later && head.count > 0 && length(window).is_some();
            if is_likely && whole_at(file, id, offset)?.is_some() {
                return Ok(true);
            }
        }
        if bytes.len() < CHUNK + PREFIX + FIXED {
            return Ok(false);
        }
        begin += CHUNK as u64;
    }
}
