//! A log of several files is opened: of those that are followed by others little is read.

use super::kept::{HEAD, SECOND, numbers, put};
use super::{Folder, heads, read};
use crate::log::directory::file_of;
use crate::log::{LogConfig, LogError, SampleLog};
use std::fs;
use std::path::Path;

/// The bytes of a record beside its one sample.
const BESIDE: usize = 32;

/// A sample whose record has so many bytes.
fn sample(number: u64, bytes: usize) -> Vec<u8> {
    vec![number as u8; bytes - BESIDE]
}

/// One sample a second, whose records have so many bytes.
fn put_of(log: &SampleLog, lengths: &[usize]) {
    for (number, bytes) in (1..).zip(lengths) {
        let time = number * SECOND;
        log.keep(time).unwrap();
        let written = log.append(&[sample(number, *bytes)], time);
        assert_eq!(written, Ok(number));
    }
}

fn damage(file: &Path, at: u64) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at as usize] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// Sample 101 is the first one of the second file. All records have 1000 bytes.
fn of_hundred(folder: &Folder) -> LogConfig {
    let config = folder.config().in_files_of(100_000);
    put_of(&folder.open_as(&config).unwrap(), &[1000; 103]);
    assert!(file_of(&folder.0, 101).exists());
    config
}

#[test]
fn sem_g552_every_number_and_time_is_found_in_a_file_that_was_not_read_when_it_was_opened() {
    let folder = Folder::new();
    let config = of_hundred(&folder);
    let forth: Vec<u64> = (1..=103).collect();
    let back: Vec<u64> = (1..=103).rev().collect();
    let across: Vec<u64> = (1..=103).map(|number| number * 40 % 103 + 1).collect();
    for order in [forth, back, across] {
        let log = folder.open_as(&config).unwrap();
        for number in order {
            let since = [number * SECOND, (number - 1) * SECOND + 1];
            assert_eq!(since.map(|time| log.first_since(time)), [number; 2]);
            for most in [1, 9] {
                let samples = read(&log, number, most);
                assert_eq!(samples.len() as u64, (104 - number).min(most as u64));
                for (number, bytes) in (number..).zip(samples) {
                    assert_eq!(bytes[..], sample(number, 1000));
                }
            }
        }
        assert_eq!(log.first_since(103 * SECOND + 1), 104);
        assert_eq!(read(&log, 1, usize::MAX).len(), 103);
    }
}

#[test]
fn sem_g552_records_of_all_lengths_are_found_in_files_that_were_not_read() {
    let folder = Folder::new();
    let config = folder.config().in_files_of(100_000);
    // The first two files end with long ones.
    let lengths = [
        70_000, 40, 9_000, 200_000, 40, 5_000, 2_000_000, 40, 40, 95_000, 40,
    ];
    put_of(&folder.open_as(&config).unwrap(), &lengths);
    assert!(file_of(&folder.0, 5).exists() && file_of(&folder.0, 8).exists());
    for number in 1..=lengths.len() as u64 {
        let log = folder.open_as(&config).unwrap();
        assert_eq!(
            log.info().bytes,
            3 * HEAD + lengths.iter().sum::<usize>() as u64
        );
        for (number, bytes) in (number..).zip(&lengths[number as usize - 1..]) {
            assert_eq!(log.first_since(number * SECOND), number);
            assert_eq!(read(&log, number, 1)[0][..], sample(number, *bytes));
        }
    }
}

#[test]
fn sem_g554_damage_in_an_older_file_is_told_to_who_reads_it_and_what_is_beside_it_is_there() {
    let folder = Folder::new();
    let config = of_hundred(&folder);
    let offset = HEAD + 49 * 1000;
    damage(&folder.file(), offset + 500);
    let log = folder.open_as(&config).unwrap();
    let told = |from| match log.read(from, 9).unwrap_err() {
        LogError::Damaged { file, offset } => (file, offset),
        error => panic!("{error}"),
    };
    // Also for one that comes first, and begins behind it.
    assert_eq!(read(&log, 80, usize::MAX).len(), 24);
    assert_eq!(log.first_since(90 * SECOND), 90);
    assert_eq!(read(&log, 1, usize::MAX).len(), 49);
    assert_eq!(told(50), (folder.file(), offset));
    assert_eq!(read(&log, 101, 9).len(), 3);
    assert_eq!(log.append(&[b"more"], 0), Ok(104));
    drop(log);
    // The first record, or how long it says it is.
    for at in [500, 1] {
        damage(&folder.file(), HEAD + at);
        let log = folder.open_as(&config).unwrap();
        assert_eq!(read(&log, 80, 9).len(), 9);
        let error = log.read(1, 9).unwrap_err();
        assert!(
            matches!(error, LogError::Damaged { offset: HEAD, .. }),
            "{error}"
        );
    }
}

#[test]
fn sem_g558_time_goes_on_where_the_last_file_has_no_samples() {
    let folder = Folder::new();
    folder.with_four_files();
    let head = fs::read(folder.file()).unwrap()[..HEAD as usize].to_vec();
    fs::write(file_of(&folder.0, 11), head).unwrap();
    let log = folder.open_as(&folder.by_three()).unwrap();
    assert_eq!(log.time(), 10 * SECOND);
    assert_eq!(log.first_since(10 * SECOND), 10);
    assert_eq!(log.first_since(10 * SECOND + 1), 11);
    put(&log, [11]);
    assert_eq!(numbers(&log), (1..=11).collect::<Vec<_>>());
}

#[test]
fn sem_g554_an_older_file_that_ends_early_while_the_log_is_open_is_told_to_who_reads_it() {
    let folder = Folder::new();
    folder.with_four_files();
    let log = folder.open_as(&folder.by_three()).unwrap();
    // Two whole records.
    let bytes = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), &bytes[..HEAD as usize + 200]).unwrap();
    assert_eq!(read(&log, 1, 9).len(), 2);
    let error = log.read(3, 9).unwrap_err();
    let end = HEAD + 200;
    assert!(
        matches!(error, LogError::Damaged { offset, .. } if offset == end),
        "{error}"
    );
    assert_eq!(read(&log, 4, 9).len(), 7);
}

#[test]
fn sem_g554_a_last_record_that_looks_like_many_is_found_in_an_older_file() {
    let folder = Folder::new();
    let config = folder.config().in_files_of(100_000);
    {
        let log = folder.open_as(&config).unwrap();
        // The second has 37,447 that end with the file, and with its last number.
        let samples = [sample(1, 1000), heads(2, 1 << 20), sample(3, 1000)];
        for (number, bytes) in (1..).zip(samples) {
            log.keep(number * SECOND).unwrap();
            assert_eq!(log.append(&[bytes], number * SECOND), Ok(number));
        }
    }
    assert!(file_of(&folder.0, 3).exists());
    let log = folder.open_as(&config).unwrap();
    for number in 1..=3 {
        assert_eq!(log.first_since(number * SECOND), number);
        assert_eq!(read(&log, number, 1).len(), 1);
    }
}

#[test]
fn sem_g552_numbers_and_times_are_found_beside_a_sample_that_looks_like_many_records() {
    let folder = Folder::new();
    let config = folder.config().in_files_of(400 << 10);
    {
        let log = folder.open_as(&config).unwrap();
        for number in 1..=150 {
            let bytes = match number {
                50 => heads(60, 256 << 10),
                _ => sample(number, 2000),
            };
            log.keep(number * SECOND).unwrap();
            let written = log.append(&[bytes], number * SECOND);
            assert_eq!(written, Ok(number));
        }
    }
    let log = folder.open_as(&config).unwrap();
    for number in [90, 60, 51, 50, 49, 2, 1] {
        let since = [number * SECOND, (number - 1) * SECOND + 1];
        assert_eq!(since.map(|time| log.first_since(time)), [number; 2]);
        assert_eq!(read(&log, number, 1).len(), 1);
    }
}
