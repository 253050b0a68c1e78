//! What of a file of a log is on the disk, and where to look for a number or a time.

use super::record::RecordHead;
use std::ops::Range;

/// How many bytes are read to find one, about.
pub(super) const MARKED: u64 = 4 << 10;

/// Where a record begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogMark {
    pub(super) first: u64,
    pub(super) time: u64,
    pub(super) offset: u64,
}

/// What is on the disk.
#[derive(Debug)]
pub(super) struct LogIndex {
    /// One for [`MARKED`] bytes, in order. Of a file whose last record alone was read when the log
    /// was opened: the first one, with time 0, the last one, and those that were found since.
    marks: Vec<LogMark>,
    /// Where the first record begins.
    begin: u64,
    /// Where the next record will begin.
    pub(super) end: u64,
    /// The last number.
    pub(super) last: u64,
    /// When the last record was written.
    pub(super) time: u64,
}

impl LogMark {
    pub(super) fn of(head: RecordHead, offset: u64) -> Self {
        LogMark {
            first: head.first,
            time: head.time,
            offset,
        }
    }
}

impl LogIndex {
    /// Of no records: where the first begins, and the number and the time before it.
    pub(super) fn beginning_at(begin: u64, last: u64, time: u64) -> Self {
        LogIndex {
            marks: Vec::new(),
            begin,
            end: begin,
            last,
            time,
        }
    }

    /// Of a file whose records were not read but the last one: where they are, their numbers, and
    /// that one.
    pub(super) fn of_last(part: &Range<u64>, numbers: &Range<u64>, last: LogMark) -> Self {
        let mut marks = vec![LogMark {
            first: numbers.start,
            time: 0,
            offset: part.start,
        }];
        if last.offset > part.start {
            marks.push(last);
        }
        LogIndex {
            marks,
            begin: part.start,
            end: part.end,
            last: numbers.end - 1,
            time: last.time,
        }
    }

    /// When the first record of a file was written all of whose records are known; none: there is
    /// none.
    pub(super) fn begun(&self) -> Option<u64> {
        self.marks.first().map(|mark| mark.time)
    }

    /// The bytes of the records.
    pub(super) fn recorded(&self) -> u64 {
        self.end - self.begin
    }

    /// The next record, of so many bytes.
    pub(super) fn enter(&mut self, head: RecordHead, bytes: usize) {
        let last = self.marks.last();
        if last.is_none_or(|last| self.end - last.offset >= MARKED) {
            self.marks.push(LogMark::of(head, self.end));
        }
        self.end += bytes as u64;
        self.last = head.end() - 1;
        self.time = head.time;
    }

    /// A record was found. It is known from now on, unless one near it is.
    pub(super) fn note(&mut self, mark: LogMark) {
        let behind = self.marks.partition_point(|one| one.offset <= mark.offset);
        let before = behind.checked_sub(1).and_then(|at| self.marks.get(at));
        if before.is_some_and(|before| mark.offset - before.offset >= MARKED) {
            self.marks.insert(behind, mark);
        }
    }

    /// Where to look for a record: at the last mark that is not behind it, and where the next mark
    /// is, or the end. None: there are no records.
    pub(super) fn begin(&self, is_before: impl Fn(&LogMark) -> bool) -> Option<(LogMark, u64)> {
        let behind = self.marks.partition_point(is_before).max(1);
        let mark = self.marks.get(behind - 1)?;
        let until = self.marks.get(behind).map_or(self.end, |next| next.offset);
        Some((*mark, until))
    }
}
