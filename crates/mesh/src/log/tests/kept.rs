//! A log of several files, of which the oldest are dropped.

use super::{Folder, append, read};
use crate::log::directory::{file_of, files};
use crate::log::{LogConfig, LogError, LogWriter, SampleLog};
use motet_dispatch::{Clock, Replay};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(super) const SECOND: u64 = 1_000_000_000;
/// The bytes of a file without records.
pub(super) const HEAD: u64 = 44;

/// A sample whose record has 100 bytes.
fn sample(number: u64) -> Vec<u8> {
    let mut bytes = vec![0; 68];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn put_at(log: &SampleLog, number: u64, time: u64) {
    log.keep(time).unwrap();
    assert_eq!(log.append(&[sample(number)], time), Ok(number));
}

/// One sample a second.
pub(super) fn put(log: &SampleLog, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        put_at(log, number, number * SECOND);
    }
}

/// The numbers that are there, each with its sample.
pub(super) fn numbers(log: &SampleLog) -> Vec<u64> {
    let read = log.read(1, usize::MAX).unwrap();
    let numbered = (read.first..).zip(&read.samples);
    let number = |(number, bytes): (u64, &Arc<[u8]>)| {
        let bytes: &[u8] = bytes;
        assert_eq!(bytes, sample(number));
        number
    };
    numbered.map(number).collect()
}

/// The number that each file begins with.
fn firsts(folder: &Folder) -> Vec<u64> {
    let files = files(&folder.0).unwrap();
    files.into_iter().map(|(first, _)| first).collect()
}

fn contents(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let files = files(&folder.0).unwrap().into_iter();
    let content = |(_, path): (u64, PathBuf)| {
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    };
    files.map(content).collect()
}

impl Folder {
    /// Three samples in each file.
    pub(super) fn by_three(&self) -> LogConfig {
        self.config().in_files_of(300)
    }

    /// Files that begin with 1, 4, 7 and 10, of which the last has one sample.
    pub(super) fn with_four_files(&self) {
        put(&self.open_as(&self.by_three()).unwrap(), 1..=10);
        assert_eq!(firsts(self), [1, 4, 7, 10]);
    }
}

#[test]
fn sem_g558_a_log_goes_on_in_another_file_where_one_is_long() {
    let folder = Folder::new();
    folder.with_four_files();
    let log = folder.open_as(&folder.by_three()).unwrap();
    let info = log.info();
    assert_eq!((info.first, info.last, info.cut_off), (1, 10, 0));
    assert_eq!(info.bytes, 4 * HEAD + 10 * 100);
    assert_eq!(info.file, file_of(&folder.0, 10));
    assert_eq!(numbers(&log), (1..=10).collect::<Vec<_>>());
    for from in 1..=11_u64 {
        for most in 0..=10_usize {
            let count = most.min(11 - from as usize);
            assert_eq!(read(&log, from, most).len(), count);
        }
        assert_eq!(log.first_since(from * SECOND), from);
        assert_eq!(log.first_since((from - 1) * SECOND + 1), from);
    }
    drop(log);
    // The first file has the name that the only one had; with longer files the last one goes on.
    assert!(folder.file().exists());
    put(&folder.open().unwrap(), 11..=12);
    assert_eq!(firsts(&folder), [1, 4, 7, 10]);
    let log = folder.open_as(&folder.by_three()).unwrap();
    put(&log, 13..=14);
    assert_eq!(firsts(&folder), [1, 4, 7, 10, 13]);
    assert_eq!(numbers(&log), (1..=14).collect::<Vec<_>>());
}

#[test]
fn sem_g558_of_bytes_the_newest_are_kept_and_one_that_is_behind_is_told_where_they_begin() {
    let folder = Folder::new();
    let config = folder.by_three().keeping_bytes(1000);
    let log = folder.open_as(&config).unwrap();
    // One that reads all the time, and one that is behind.
    let (mut next, mut behind, mut seen, mut missed) = (1, 1, 0_u64, 0);
    for number in 1..=100_u64 {
        put(&log, [number]);
        let info = log.info();
        let heads = firsts(&folder).len() as u64 * HEAD;
        assert!(info.bytes < 1000 + heads + 300 + 100, "{info:?}");
        assert!(info.bytes >= 1000 + heads || info.first == 1, "{info:?}");
        assert_eq!(numbers(&log), (info.first..=number).collect::<Vec<_>>());
        assert_eq!(
            (firsts(&folder)[0], log.first_since(0)),
            (info.first, info.first)
        );
        assert_eq!(read(&log, next, 9).len(), 1);
        next += 1;
        if number % 7 == 0 {
            let read = log.read(behind, 2).unwrap();
            missed += read.first - behind;
            seen += read.samples.len() as u64;
            behind = read.first + read.samples.len() as u64;
        }
    }
    assert!(seen == 28 && missed > 0, "{seen} {missed}");
    assert_eq!(seen + missed, behind - 1);
    let info = log.info();
    drop(log);
    assert_eq!(folder.open_as(&config).unwrap().info(), info);
    assert_eq!(folder.open().unwrap().first(), info.first);
}

#[test]
fn sem_g558_samples_are_dropped_when_they_are_old() {
    let folder = Folder::new();
    let config = folder.config().keeping_for(Duration::from_secs(10));
    let log = folder.open_as(&config).unwrap();
    for number in 1..=100_u64 {
        put(&log, [number]);
        let first = log.first();
        assert!(first == 1 || first + 10 <= number, "{first} at {number}");
        assert!(number - first <= 20, "{first} at {number}");
        assert_eq!(numbers(&log), (first..=number).collect::<Vec<_>>());
    }
    // Nothing is published for a while. Then the clock is set back.
    put_at(&log, 101, 1000 * SECOND);
    put_at(&log, 102, 1);
    assert_eq!(
        (numbers(&log), firsts(&folder)),
        (vec![101, 102], vec![101])
    );
}

#[test]
fn sem_g558_samples_grow_old_also_where_the_clock_was_set_back() {
    let folder = Folder::new();
    let config = folder.config().keeping_for(Duration::from_nanos(1));
    let log = folder.open_as(&config).unwrap();
    let far_ahead = 8_000_000_000 * SECOND;
    put_at(&log, 1, far_ahead);
    let writer = LogWriter::new(log, Clock::real()).unwrap();
    for number in 2..=20 {
        assert_eq!(append(&writer, &sample(number)), Ok(number));
    }
    assert!(writer.log().first() > 1, "{:?}", writer.log().info());
    assert!(writer.log().time() > far_ahead);
}

#[test]
fn sem_g558_samples_are_dropped_when_they_are_old_while_nothing_is_published() {
    let (folder, replay) = (Folder::new(), Replay::new(1));
    let config = folder.by_three().keeping_for(Duration::from_secs(10));
    let log = folder.open_as(&config).unwrap();
    let writer = LogWriter::new(log, replay.clock()).unwrap();
    // One sample a second, the first one at 0.
    for number in 1..=4 {
        assert_eq!(append(&writer, &sample(number)), Ok(number));
        replay.run_for(Duration::from_secs(1));
    }
    replay.run_for(Duration::from_secs(8));
    assert_eq!(firsts(&folder), [1, 4]);
    replay.run_for(Duration::from_nanos(1));
    assert_eq!((firsts(&folder), numbers(writer.log())), (vec![4], vec![4]));
    assert_eq!(replay.timers(), 1);
    replay.run();
    assert_eq!(replay.elapsed(), Duration::from_nanos(13 * SECOND + 1));
    assert_eq!((firsts(&folder), replay.timers()), (vec![5], 0));
    let info = writer.log().info();
    assert_eq!((info.first, info.last, info.bytes), (5, 4, HEAD));
    // The numbers go on, also in a log without samples that is opened again.
    assert_eq!(append(&writer, &sample(5)), Ok(5));
    replay.run();
    drop(writer);
    assert_eq!(firsts(&folder), [6]);
    let writer = LogWriter::new(folder.open_as(&config).unwrap(), replay.clock()).unwrap();
    assert_eq!(append(&writer, &sample(6)), Ok(6));
    assert_eq!(replay.timers(), 1);
    drop(writer);
    assert_eq!(replay.timers(), 0);
}

#[test]
fn sem_g558_what_has_become_old_while_nobody_had_the_log_is_dropped_when_it_is_opened() {
    let folder = Folder::new();
    folder.with_four_files();
    // Nothing is old for who keeps all.
    drop(LogWriter::new(folder.open_as(&folder.by_three()).unwrap(), Clock::real()).unwrap());
    assert_eq!(firsts(&folder), [1, 4, 7, 10]);
    let config = folder.by_three().keeping_for(Duration::from_secs(1000));
    let writer = LogWriter::new(folder.open_as(&config).unwrap(), Clock::real()).unwrap();
    assert_eq!(firsts(&folder), [11]);
    assert_eq!(append(&writer, &sample(11)), Ok(11));
    assert_eq!(numbers(writer.log()), [11]);
}

#[test]
fn sem_g558_a_replay_ends_where_old_files_cannot_be_dropped_which_the_next_sample_does() {
    let (folder, replay) = (Folder::new(), Replay::new(1));
    let config = folder.by_three().keeping_for(Duration::from_secs(10));
    let log = folder.open_as(&config).unwrap();
    let writer = LogWriter::new(log, replay.clock()).unwrap();
    assert_eq!(append(&writer, &sample(1)), Ok(1));
    let draft = folder.0.join("samples.new");
    fs::create_dir(&draft).unwrap();
    replay.run();
    assert_eq!((firsts(&folder), replay.timers()), (vec![1], 0));
    fs::remove_dir(&draft).unwrap();
    assert_eq!(append(&writer, &sample(2)), Ok(2));
    assert_eq!(firsts(&folder), [2]);
}

#[test]
fn sem_g558_after_a_kill_at_any_step_the_log_has_all_from_some_number_on() {
    let folder = Folder::new();
    folder.with_four_files();
    let head = fs::read(folder.file()).unwrap()[..HEAD as usize].to_vec();
    // A file was being made.
    fs::write(folder.0.join("samples.new"), &head[..9]).unwrap();
    for first in [1, 4, 7, 10] {
        let log = folder.open_as(&folder.by_three()).unwrap();
        assert_eq!((log.first(), log.last()), (first, 10));
        assert_eq!(numbers(&log), (first..=10).collect::<Vec<_>>());
        drop(log);
        if first < 10 {
            fs::remove_file(file_of(&folder.0, first)).unwrap();
        }
    }
    // Another file was made, and no record was written to it.
    fs::write(file_of(&folder.0, 11), &head).unwrap();
    let log = folder.open().unwrap();
    assert_eq!((numbers(&log), log.first_since(u64::MAX)), (vec![10], 11));
    drop(log);
    fs::remove_file(file_of(&folder.0, 10)).unwrap();
    let log = folder.open().unwrap();
    assert_eq!((log.first(), log.last(), log.first_since(0)), (11, 10, 11));
    let read = log.read(3, 9).unwrap();
    assert_eq!((read.first, read.samples.len()), (11, 0));
    put(&log, 11..=12);
    assert_eq!(numbers(&log), [11, 12]);
}

#[test]
fn sem_g558_files_that_do_not_follow_each_other_are_refused_and_nothing_is_changed() {
    let (folder, other) = (Folder::new(), Folder::new());
    folder.with_four_files();
    let refused = || {
        let before = contents(&folder);
        let error = folder.open().unwrap_err();
        assert_eq!(contents(&folder), before);
        error
    };
    let second = file_of(&folder.0, 4);
    let bytes = fs::read(&second).unwrap();
    fs::remove_file(&second).unwrap();
    let error = refused();
    let text = error.to_string();
    assert!(text.contains("behind sample 3, with which"), "{text}");
    let file = file_of(&folder.0, 7);
    assert_eq!(error, LogError::Apart { file, last: 3 });
    // One of another log.
    let of_other = SampleLog::open(&other.by_three(), ("n", "u32"), || 8).unwrap();
    put(&of_other, 1..=10);
    fs::copy(file_of(&other.0, 4), &second).unwrap();
    let file = second.clone();
    assert_eq!(refused(), LogError::Apart { file, last: 3 });
    // Only the last file may end within a record.
    for cut in HEAD as usize..bytes.len() {
        fs::write(&second, &bytes[..cut]).unwrap();
        match refused() {
            LogError::Damaged { file, offset } => {
                assert_eq!(file, second);
                let end = HEAD + (cut as u64 - HEAD) / 100 * 100;
                assert_eq!(offset, end, "cut at {cut}");
            }
            LogError::Apart { file, last } => {
                assert_eq!(file, file_of(&folder.0, 7));
                assert_eq!((cut as u64 - HEAD) % 100, 0, "cut at {cut}");
                assert_eq!(last, 3 + (cut as u64 - HEAD) / 100);
            }
            error => panic!("{error}"),
        }
    }
    fs::write(&second, &bytes).unwrap();
    let last = file_of(&folder.0, 10);
    fs::write(&last, &fs::read(&last).unwrap()[..90]).unwrap();
    let log = folder.open().unwrap();
    assert_eq!((log.last(), log.info().cut_off), (9, 90 - HEAD));
}

#[test]
fn sem_g558_what_is_dropped_makes_room_below_the_limit() {
    let folder = Folder::new();
    let config = folder.by_three().keeping_bytes(1000);
    let error = folder
        .open_as(&config.clone().limited_to(1599))
        .unwrap_err();
    let (limit, needed) = (1599, 1600);
    assert_eq!(error, LogError::LimitTooLow { limit, needed });
    let log = folder.open_as(&config.limited_to(1600)).unwrap();
    let writer = LogWriter::new(log, Clock::real()).unwrap();
    for number in 1..=50 {
        assert_eq!(append(&writer, &sample(number)), Ok(number));
    }
    assert!(writer.log().first() > 30);
    drop(writer);
    // Also where it is the time that makes it.
    let folder = Folder::new();
    let config = folder.by_three().keeping_for(Duration::from_secs(10));
    let log = folder.open_as(&config.limited_to(700)).unwrap();
    put(&log, 1..=6);
    assert_eq!(log.fit(&[sample(7)]), 0);
    log.keep(100 * SECOND).unwrap();
    assert_eq!((log.fit(&[sample(7)]), firsts(&folder)), (1, vec![7]));
}

#[test]
fn sem_g558_the_newest_sample_is_there_until_another_one_is_written() {
    let folder = Folder::new();
    let config = folder.config().keeping_bytes(1);
    let log = folder.open_as(&config).unwrap();
    put(&log, 1..=3);
    // The file for the next one is there.
    log.keep(4 * SECOND).unwrap();
    assert_eq!(numbers(&log), [3]);
    assert_eq!(firsts(&folder), [3, 4]);
}

#[test]
fn sem_g558_at_the_lowest_limit_samples_are_not_refused_of_which_two_fill_a_file() {
    for keep in [300, 450, 1000] {
        let folder = Folder::new();
        let config = folder.by_three().keeping_bytes(keep);
        let error = folder.open_as(&config.clone().limited_to(0)).unwrap_err();
        let LogError::LimitTooLow { needed, .. } = error else {
            panic!("{error}");
        };
        let log = folder.open_as(&config.limited_to(needed)).unwrap();
        // Their records have 150 bytes.
        let long = [[0_u8; 118]];
        for number in 1..=50 {
            log.keep(number).unwrap();
            assert_eq!(log.fit(&long), 1, "{number}: {:?}", log.info());
            assert_eq!(log.append(&long, number), Ok(number));
        }
    }
}

#[test]
fn sem_g558_files_are_dropped_also_where_no_other_one_can_be_made() {
    let folder = Folder::new();
    let config = folder.by_three().keeping_bytes(300);
    let log = folder.open_as(&config).unwrap();
    put(&log, 1..=6);
    assert_eq!(firsts(&folder), [1, 4]);
    // As where the disk is full: what is dropped makes room on it.
    fs::create_dir(folder.0.join("samples.new")).unwrap();
    assert!(log.keep(7 * SECOND).is_err());
    assert_eq!((log.first(), firsts(&folder)), (4, vec![4]));
    assert_eq!(numbers(&log), [4, 5, 6]);
}

#[test]
fn sem_g558_a_file_that_cannot_be_made_refuses_samples_until_it_can() {
    let folder = Folder::new();
    let log = folder.open_as(&folder.by_three()).unwrap();
    put(&log, 1..=3);
    let draft = folder.0.join("samples.new");
    fs::create_dir(&draft).unwrap();
    for _ in 0..2 {
        let error = log.keep(SECOND).unwrap_err();
        assert!(error.to_string().contains("cannot be made"), "{error}");
    }
    assert_eq!((log.last(), firsts(&folder)), (3, vec![1]));
    fs::remove_dir(&draft).unwrap();
    put(&log, 4..=5);
    assert_eq!(
        (numbers(&log), firsts(&folder)),
        (vec![1, 2, 3, 4, 5], vec![1, 4])
    );
}
