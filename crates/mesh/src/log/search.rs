//! A record is looked for in a file of which not all records are known: few bytes are read.

use super::index::{LogMark, MARKED};
use super::record::{EndSum, FIXED, MAX_RECORD, PREFIX, RecordHead, length};
use super::scan::{Found, bytes_at, next_record};
use super::segment::ReadPlace;
use crate::start_from::LogId;
use std::fs::File;
use std::io;
use std::ops::Range;

/// So many bytes at the end of a file are looked at first for its last record.
const TAIL: u64 = 16 << 10;

/// The last record of a part of a file, which ends with it. It is whole, and begins with one of
/// these numbers and ends with the last of them. None: what is there is something else.
pub(super) fn last_record(
    (file, id): (&mut File, LogId),
    part: &Range<u64>,
    numbers: &Range<u64>,
) -> io::Result<Option<LogMark>> {
    let longest = (PREFIX + MAX_RECORD) as u64;
    let mut tail = TAIL;
    loop {
        let begin = part.end.saturating_sub(tail).max(part.start);
        let bytes = bytes_at(file, begin, part.end.saturating_sub(begin) as usize)?;
        let windows = bytes.windows(PREFIX + FIXED).enumerate();
        let mut until_end = EndSum::new(id, &bytes);
        for (at, window) in windows.rev() {
            let offset = begin + at as u64;
            let ends = length(window).map(|length| offset + (PREFIX + length) as u64);
            if ends != Some(part.end) {
                continue;
            }
            let is_it = |head: &RecordHead| {
                numbers.contains(&head.first) && head.count > 0 && head.end() == numbers.end
            };
            let head = RecordHead::of(&window[PREFIX..]).filter(is_it);
            if let Some(head) = head
                && until_end.is_whole(at, offset)
            {
                return Ok(Some(LogMark::of(head, offset)));
            }
        }
        if begin == part.start || tail == longest {
            return Ok(None);
        }
        tail = longest.min(tail * 4);
    }
}

/// Where to begin to read, where it is far from the place to the record that is wanted: of those
/// that are before that a near one. Records that are damaged are passed over.
pub(super) fn nearest(
    (file, id): (&mut File, LogId),
    place: &ReadPlace,
    is_before: impl Fn(&LogMark) -> bool,
) -> io::Result<LogMark> {
    let (mut mark, mut until, mut step) = (place.mark, place.until, MARKED);
    while until - mark.offset > MARKED {
        let prefix = bytes_at(file, mark.offset, PREFIX)?;
        let behind = length(&prefix).map(|length| mark.offset + (PREFIX + length) as u64);
        // The record says how long it is, unless that is damaged.
        let begin = behind.filter(|behind| *behind <= until);
        let begin = begin.unwrap_or(mark.offset + 1);
        if until - begin <= MARKED {
            break;
        }
        // Who goes on where he was looks at few bytes.
        let middle = begin + step.min((until - begin) / 2);
        let numbers = place.segment..place.next;
        match next_record((&mut *file, id), &(middle..until), &numbers)? {
            Found::Record(found) if is_before(&found) => {
                mark = found;
                step = step.saturating_mul(4);
            }
            Found::Record(_) | Found::Nothing => until = middle,
            // Who reads from there on finds it.
            Found::TooMuch => break,
        }
    }
    Ok(mark)
}

/// The number of the first sample of this time or later, from a place on.
pub(super) fn first_since(
    (file, id): (&mut File, LogId),
    place: &ReadPlace,
    time: u64,
) -> io::Result<u64> {
    let mark = nearest((&mut *file, id), place, |mark| mark.time < time)?;
    let (mut next, mut offset) = (mark.first, mark.offset);
    while next < place.next {
        let bytes = bytes_at(file, offset, PREFIX + FIXED)?;
        let known = bytes.split_at_checked(PREFIX).and_then(|(prefix, head)| {
            let head = RecordHead::of(head)?;
            Some((head, length(prefix)?))
        });
        // Who reads what cannot be read is told.
        let is_before = |head: &RecordHead| head.first == next && head.time < time;
        let Some((head, length)) = known.filter(|(head, _)| is_before(head)) else {
            break;
        };
        next = head.end();
        offset += (PREFIX + length) as u64;
    }
    Ok(next)
}
