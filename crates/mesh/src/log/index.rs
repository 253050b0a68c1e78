//! What of a file of a log is on the disk, and where to look for a number or a time.

use super::record::RecordHead;

/// How many bytes are read at most to find one.
const MARKED: u64 = 4 << 10;

/// Where records begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogMark {
    pub(super) first: u64,
    pub(super) time: u64,
    pub(super) offset: u64,
}

/// What is on the disk.
#[derive(Debug)]
pub(super) struct LogIndex {
    /// One for [`MARKED`] bytes, in order.
    marks: Vec<LogMark>,
    /// Where the next record will begin.
    pub(super) end: u64,
    /// The last number.
    pub(super) last: u64,
    /// When the last record was written.
    pub(super) time: u64,
}

impl LogIndex {
    /// Of no records: where the first begins, and the number and the time before it.
    pub(super) fn beginning_at(end: u64, last: u64, time: u64) -> Self {
        LogIndex {
            marks: Vec::new(),
            end,
            last,
            time,
        }
    }

    /// When the first record was written; none: there is none.
    pub(super) fn begun(&self) -> Option<u64> {
        self.marks.first().map(|mark| mark.time)
    }

    /// The bytes of the records.
    pub(super) fn recorded(&self) -> u64 {
        self.marks.first().map_or(0, |mark| self.end - mark.offset)
    }

    /// The next record, of so many bytes.
    pub(super) fn enter(&mut self, head: RecordHead, bytes: usize) {
        let last = self.marks.last();
        if last.is_none_or(|last| self.end - last.offset >= MARKED) {
            self.marks.push(LogMark {
                first: head.first,
                time: head.time,
                offset: self.end,
            });
        }
        self.end += bytes as u64;
        self.last = head.end() - 1;
        self.time = head.time;
    }

    /// Where to look for a record: at the last mark that is not behind it. None: there are none.
    pub(super) fn begin(&self, is_before: impl Fn(&LogMark) -> bool) -> Option<LogMark> {
        let behind = self.marks.partition_point(is_before);
        self.marks.get(behind.saturating_sub(1)).copied()
    }
}
