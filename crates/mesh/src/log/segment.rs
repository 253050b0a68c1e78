//! The files of a log, in order: each has the samples from a number on.

use super::LogConfig;
use super::index::{LogIndex, LogMark};
use std::collections::VecDeque;
use std::path::PathBuf;

/// A file of a log.
#[derive(Debug)]
pub(super) struct LogSegment {
    /// The number of its first sample.
    pub(super) first: u64,
    pub(super) path: PathBuf,
    pub(super) index: LogIndex,
}

/// The files of a log.
#[derive(Debug)]
pub(super) struct LogSegments {
    /// In order. Each has samples, and nothing is written to it any more.
    older: VecDeque<LogSegment>,
    /// Their bytes, and those of their records: each record that is written asks for them.
    older_bytes: u64,
    older_recorded: u64,
    /// The last one.
    pub(super) written: LogSegment,
}

/// Where to read in a file.
#[derive(Debug)]
pub(super) struct ReadPlace {
    /// The number of the file's first sample.
    pub(super) segment: u64,
    pub(super) path: PathBuf,
    /// A record that is before the wanted one.
    pub(super) mark: LogMark,
    /// Where the next one is that is known, or the last one ends.
    pub(super) until: u64,
    /// The number behind the last one of the file.
    pub(super) next: u64,
}

impl LogSegment {
    /// Whether the next record begins another file.
    pub(super) fn is_over(&self, config: &LogConfig, now: u64) -> bool {
        let Some(begun) = self.index.begun() else {
            return false;
        };
        let age = config.keep_nanoseconds();
        let is_old = age.is_some_and(|age| begun.saturating_add(age) < now);
        is_old || self.index.end >= config.length_of_files()
    }

    /// Where to look for a record, as [`LogIndex::begin`].
    fn place(&self, is_before: impl Fn(&LogMark) -> bool) -> Option<ReadPlace> {
        let (mark, until) = self.index.begin(is_before)?;
        Some(ReadPlace {
            segment: self.first,
            path: self.path.clone(),
            mark,
            until,
            next: self.index.last + 1,
        })
    }
}

impl LogSegments {
    pub(super) fn new(older: VecDeque<LogSegment>, written: LogSegment) -> Self {
        LogSegments {
            older_bytes: older.iter().map(|segment| segment.index.end).sum(),
            older_recorded: older.iter().map(|segment| segment.index.recorded()).sum(),
            older,
            written,
        }
    }

    fn oldest(&self) -> &LogSegment {
        self.older.front().unwrap_or(&self.written)
    }

    /// The number of the oldest sample that is there: that of the next one, if there is none.
    pub(super) fn first(&self) -> u64 {
        self.oldest().first
    }

    /// The number of the last sample.
    pub(super) fn last(&self) -> u64 {
        self.written.index.last
    }

    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.older_bytes + self.written.index.end
    }

    /// Where to look for a sample that is there: none is, from this number on.
    pub(super) fn place(&self, number: u64) -> Option<ReadPlace> {
        if number > self.last() {
            return None;
        }
        let is_before = |segment: &LogSegment| segment.first <= number;
        let segment = match is_before(&self.written) {
            true => &self.written,
            false => {
                let behind = self.older.partition_point(is_before);
                self.older.get(behind.saturating_sub(1))?
            }
        };
        segment.place(|mark| mark.first <= number)
    }

    /// Where to look for the first sample of this time or later: in the first file that ends then.
    /// None: there are no such samples.
    pub(super) fn place_of_time(&self, time: u64) -> Option<ReadPlace> {
        let is_before = |segment: &LogSegment| segment.index.time < time;
        let behind = self.older.partition_point(is_before);
        let segment = self.older.get(behind).unwrap_or(&self.written);
        segment.place(|mark| mark.time < time)
    }

    /// Records were found in a file, if that is still there.
    pub(super) fn note(&mut self, segment: u64, marks: &[LogMark]) {
        let known = self
            .older
            .binary_search_by_key(&segment, |older| older.first);
        // All records of the last one are known.
        if let Some(older) = known.ok().and_then(|at| self.older.get_mut(at)) {
            marks.iter().for_each(|mark| older.index.note(*mark));
        }
    }

    /// Records go to this file from now on.
    pub(super) fn go_on_in(&mut self, next: LogSegment) {
        let before = std::mem::replace(&mut self.written, next);
        self.older_bytes += before.index.end;
        self.older_recorded += before.index.recorded();
        self.older.push_back(before);
    }

    /// The oldest file, if it is kept no longer.
    pub(super) fn outdated(&self, config: &LogConfig, now: u64) -> Option<PathBuf> {
        let oldest = self.older.front()?;
        // A file without records keeps nothing.
        let older = self.older_recorded - oldest.index.recorded();
        let behind = older + self.written.index.recorded();
        let is_beyond = config.keep_bytes.is_some_and(|bytes| behind >= bytes);
        let age = config.keep_nanoseconds();
        let is_old = age.is_some_and(|age| oldest.index.time.saturating_add(age) < now);
        (is_beyond || is_old).then(|| oldest.path.clone())
    }

    /// When the last record of the oldest file was written; none: there are no records.
    pub(super) fn oldest_ends(&self) -> Option<u64> {
        let index = &self.oldest().index;
        (index.recorded() > 0).then_some(index.time)
    }

    /// The oldest file is gone.
    pub(super) fn drop_oldest(&mut self) {
        if let Some(gone) = self.older.pop_front() {
            self.older_bytes -= gone.index.end;
            self.older_recorded -= gone.index.recorded();
        }
    }
}
