//! The last file of a log is opened: what of it is whole, and what is behind that.

use super::LogError;
use super::index::{LogIndex, LogMark};
use super::record::{FIXED, MAX_RECORD, PREFIX, RecordHead, is_whole, length, numbered};
use crate::start_from::LogId;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// So many bytes are looked at together.
const CHUNK: u64 = 16 << 10;

/// So many bytes in all are read of what looks like a record, and is none.
const TRIES: usize = 4 * MAX_RECORD;

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
        let Some((head, _)) = numbered(&body, index.last + 1) else {
            break;
        };
        index.enter(head, PREFIX + body.len());
    }
    let rest = file_end - index.end;
    let next = index.last + 1;
    let numbers = next..next.saturating_add(MAX_RECORD as u64);
    // Where too much looks like a record one may be behind it, which is not to be cut off.
    let is_damaged = rest > (PREFIX + MAX_RECORD) as u64
        || !matches!(
            next_record((file, id), &(index.end..file_end), &numbers).map_err(failed)?,
            Found::Nothing
        );
    match is_damaged {
        false => Ok((index, rest)),
        true => Err(LogError::Damaged {
            file: path.to_owned(),
            offset: index.end,
        }),
    }
}

/// What is found where a record is looked for.
#[derive(Debug)]
pub(super) enum Found {
    Record(LogMark),
    Nothing,
    /// Too much looks like a record, and is none. There may be one behind that.
    TooMuch,
}

/// The first whole record that begins in a part of a file with one of these numbers.
pub(super) fn next_record(
    (file, id): (&mut File, LogId),
    part: &Range<u64>,
    numbers: &Range<u64>,
) -> io::Result<Found> {
    let (mut begin, mut tries) = (part.start, TRIES);
    let file_end = file.seek(SeekFrom::End(0))?;
    while begin < part.end {
        let starts = CHUNK.min(part.end - begin);
        let bytes = bytes_at(file, begin, starts as usize + PREFIX + FIXED - 1)?;
        for (at, window) in bytes.windows(PREFIX + FIXED).enumerate() {
            let offset = begin + at as u64;
            let Some(head) = RecordHead::of(&window[PREFIX..]) else {
                continue;
            };
            // Few other bytes look like that, unless somebody has published what does.
            let length = length(window).filter(|length| head.fits(*length));
            let is_likely = |length: &usize| {
                let end = offset + (PREFIX + length) as u64;
                numbers.contains(&head.first) && end <= file_end
            };
            let Some(length) = length.filter(is_likely) else {
                continue;
            };
            if whole_at(file, id, offset)?.is_some() {
                return Ok(Found::Record(LogMark::of(head, offset)));
            }
            let Some(rest) = tries.checked_sub(length) else {
                return Ok(Found::TooMuch);
            };
            tries = rest;
        }
        begin += starts;
    }
    Ok(Found::Nothing)
}
