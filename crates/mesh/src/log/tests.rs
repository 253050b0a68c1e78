//! A log whose file is cut, damaged, full, or opened twice.

mod kept;
mod opened;

use super::writer::LogRequest;
use super::{LogConfig, LogError, LogWriter, SampleLog};
use motet_dispatch::Clock;
use motet_ports::{reply, wait_blocking};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("motet-log-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // An earlier process of this number may have left one.
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn open(&self) -> Result<SampleLog, LogError> {
        self.open_limited(u64::MAX)
    }

    fn open_limited(&self, limit: u64) -> Result<SampleLog, LogError> {
        self.open_as(&self.config().limited_to(limit))
    }

    fn config(&self) -> LogConfig {
        LogConfig::in_directory(&self.0)
    }

    fn open_as(&self, config: &LogConfig) -> Result<SampleLog, LogError> {
        SampleLog::open(config, ("n", "u32"), || 7)
    }

    fn file(&self) -> PathBuf {
        self.0.join("samples.log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(log: &SampleLog, from: u64, most: usize) -> Vec<Arc<[u8]>> {
    let read = log.read(from, most).unwrap();
    assert_eq!(read.first, from);
    read.samples
}

fn all(log: &SampleLog) -> Vec<Vec<u8>> {
    let samples = read(log, 1, usize::MAX);
    samples.iter().map(|sample| sample.to_vec()).collect()
}

/// A log of three records: of one, two and one samples. Its bytes, and where each record ends.
fn three_records(folder: &Folder) -> (Vec<u8>, [u64; 4]) {
    let log = folder.open().unwrap();
    let mut ends = [log.info().bytes; 4];
    for (at, samples) in [&[&b"one"[..]][..], &[b"two", b"three"], &[b""]]
        .into_iter()
        .enumerate()
    {
        log.append(samples, at as u64).unwrap();
        ends[at + 1] = log.info().bytes;
    }
    (fs::read(folder.file()).unwrap(), ends)
}

#[test]
fn sem_g553_what_was_written_is_there_again_with_its_numbers() {
    let folder = Folder::new();
    let (_, ends) = three_records(&folder);
    let log = folder.open().unwrap();
    let info = log.info();
    assert_eq!((info.last, info.cut_off, info.bytes), (4, 0, ends[3]));
    assert_eq!(all(&log), [&b"one"[..], b"two", b"three", b""]);
    assert_eq!(*read(&log, 3, 1)[0], *b"three");
    assert!(read(&log, 5, 9).is_empty());
    assert_eq!(log.append(&[b"five"], 0).unwrap(), 5);
    assert_eq!(*read(&log, 5, 9)[0], *b"five");
}

#[test]
fn sem_g554_a_log_that_is_cut_off_anywhere_has_its_whole_records() {
    let folder = Folder::new();
    let (bytes, ends) = three_records(&folder);
    let counts = [0, 1, 3, 4];
    for cut in ends[0]..=ends[3] {
        fs::write(folder.file(), &bytes[..cut as usize]).unwrap();
        let log = folder.open().unwrap();
        let whole = ends.iter().rposition(|end| *end <= cut).unwrap();
        assert_eq!(log.last(), counts[whole], "cut at {cut}");
        assert_eq!(log.info().cut_off, cut - ends[whole]);
        assert_eq!(log.append(&[b"more"], 9).unwrap(), counts[whole] + 1);
        assert_eq!(all(&log).len() as u64, counts[whole] + 1);
    }
    // The head was there before the file had its name.
    for cut in 0..ends[0] {
        fs::write(folder.file(), &bytes[..cut as usize]).unwrap();
        let error = folder.open().unwrap_err();
        assert!(
            matches!(error, LogError::NoLog { .. } | LogError::Damaged { .. }),
            "{error}"
        );
        assert_eq!(fs::read(folder.file()).unwrap(), &bytes[..cut as usize]);
    }
}

#[test]
fn sem_g554_what_is_damaged_before_the_last_record_is_refused_and_nothing_is_changed() {
    let folder = Folder::new();
    let (bytes, ends) = three_records(&folder);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(folder.file(), &damaged).unwrap();
        let opened = folder.open();
        if at as u64 >= ends[2] {
            // As if it had not been written to its end.
            let log = opened.unwrap();
            assert_eq!((log.last(), log.info().cut_off), (3, ends[3] - ends[2]));
            continue;
        }
        let error = opened.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("samples.log"), "{text}");
        if let LogError::Damaged { offset, .. } = error {
            let begin = ends.iter().rev().find(|end| **end <= at as u64);
            assert_eq!(offset, begin.copied().unwrap_or(8), "damage at {at}");
            assert!(text.contains(&format!("byte {offset}")), "{text}");
        } else {
            assert!(at < 8, "{text}");
        }
        assert_eq!(fs::read(folder.file()).unwrap(), damaged);
    }
}

#[test]
fn sem_g554_a_tail_of_other_bytes_is_cut_off_unless_it_is_longer_than_a_record() {
    let folder = Folder::new();
    let (bytes, ends) = three_records(&folder);
    for tail in [vec![0; 5000], vec![255; 5000], bytes.clone()] {
        let with_tail = [&bytes[..], &tail].concat();
        fs::write(folder.file(), &with_tail).unwrap();
        let log = folder.open().unwrap();
        assert_eq!((log.last(), log.info().cut_off), (4, tail.len() as u64));
    }
    let with_tail = [&bytes[..], &vec![0; super::record::MAX_RECORD + 100]].concat();
    fs::write(folder.file(), with_tail).unwrap();
    let error = folder.open().unwrap_err();
    assert!(
        matches!(error, LogError::Damaged { offset, .. } if offset == ends[3]),
        "{error}"
    );
}

/// Bytes that begin a record of this number again and again, each up to the end of all.
fn heads(number: u64, bytes: usize) -> Vec<u8> {
    let mut heads = Vec::new();
    while let Some(length) = (bytes - heads.len()).checked_sub(8).filter(|it| *it > 64) {
        heads.extend_from_slice(&(length as u32).to_le_bytes());
        heads.extend_from_slice(&[7; 4]);
        heads.extend_from_slice(&number.to_le_bytes());
        heads.extend_from_slice(&[0; 8]);
        heads.extend_from_slice(&1_u32.to_le_bytes());
    }
    heads.resize(bytes, 0);
    heads
}

#[test]
fn sem_g554_a_tail_of_which_too_much_looks_like_a_record_is_not_cut_off() {
    let folder = Folder::new();
    let (bytes, ends) = three_records(&folder);
    let few = [&bytes[..], &heads(5, 8 << 10)].concat();
    fs::write(folder.file(), &few).unwrap();
    let log = folder.open().unwrap();
    assert_eq!((log.last(), log.info().cut_off), (4, 8 << 10));
    drop(log);
    let many = [&bytes[..], &heads(5, 256 << 10)].concat();
    fs::write(folder.file(), &many).unwrap();
    let error = folder.open().unwrap_err();
    assert!(
        matches!(error, LogError::Damaged { offset, .. } if offset == ends[3]),
        "{error}"
    );
    assert_eq!(fs::read(folder.file()).unwrap(), many);
}

#[test]
fn sem_g554_damage_while_the_log_is_open_is_told_to_who_reads() {
    let folder = Folder::new();
    let log = folder.open().unwrap();
    log.append(&[b"one"], 1).unwrap();
    let offset = log.info().bytes;
    log.append(&[b"two"], 2).unwrap();
    let mut bytes = fs::read(folder.file()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(folder.file(), bytes).unwrap();
    let error = log.read(2, 9).unwrap_err();
    assert!(
        matches!(error, LogError::Damaged { offset: at, .. } if at == offset),
        "{error}"
    );
    // What is before it is there.
    assert_eq!((read(&log, 1, 1).len(), read(&log, 1, 9).len()), (1, 1));
}

#[test]
fn sem_g555_a_second_publisher_and_another_topic_are_refused() {
    let folder = Folder::new();
    let log = folder.open().unwrap();
    let error = folder.open().unwrap_err();
    assert!(matches!(error, LogError::InUse { .. }), "{error}");
    log.close();
    assert_eq!(log.append(&[b"late"], 1), Err(LogError::Closed));
    let config = LogConfig::in_directory(&folder.0);
    for topic in [("m", "u32"), ("n", "u64")] {
        let error = SampleLog::open(&config, topic, || 8).unwrap_err();
        assert!(
            error.to_string().contains("\"n\" with samples of type u32"),
            "{error}"
        );
    }
    assert_eq!(folder.open().unwrap().id(), 7);
}

#[test]
fn sem_g552_a_time_finds_the_first_sample_that_is_not_older() {
    let folder = Folder::new();
    let log = folder.open().unwrap();
    assert_eq!(log.first_since(0), 1);
    let sample = vec![1; 300];
    for time in 1..=100 {
        log.append(&[&sample, &sample], 10 * time).unwrap();
    }
    for time in 0..=1010 {
        let record = u64::div_ceil(time, 10).max(1);
        assert_eq!(log.first_since(time), 2 * record - 1, "at {time}");
    }
    // The clock was set back: time does not go back in a log.
    log.append(&[&sample], 3).unwrap();
    assert_eq!((log.first_since(1000), log.first_since(1001)), (199, 202));
    for from in [1, 2, 57, 200, 201] {
        assert_eq!(read(&log, from, usize::MAX).len() as u64, 202 - from);
    }
}

/// What became of an append.
fn append(writer: &LogWriter, sample: &[u8]) -> Result<u64, LogError> {
    let (to, answer) = reply();
    let told = move |number| drop(to.post(number));
    writer.ask(LogRequest::Append(sample.into(), Box::new(told)));
    wait_blocking(answer).unwrap().unwrap()
}

#[test]
fn sem_g553_what_cannot_be_written_is_refused_and_has_no_number() {
    let folder = Folder::new();
    let log = folder.open().unwrap();
    log.append(&[b"one"], 1).unwrap();
    log.cannot_write();
    for _ in 0..2 {
        let error = log.append(&[b"two"], 2).unwrap_err();
        let is_told = error.to_string().contains("samples.log cannot be ");
        assert!(is_told && matches!(error, LogError::File { .. }), "{error}");
    }
    assert_eq!((log.last(), all(&log)), (1, vec![b"one".to_vec()]));
    drop(log);
    let log = folder.open().unwrap();
    assert_eq!(log.append(&[b"two"], 2), Ok(2));
}

#[test]
fn sem_g555_a_directory_is_made_and_a_file_in_its_place_is_refused() {
    let folder = Folder::new();
    let open =
        |directory: &Path| SampleLog::open(&LogConfig::in_directory(directory), ("n", "u32"), || 7);
    let deep = folder.0.join("some/where/else");
    assert_eq!(open(&deep).unwrap().append(&[b"one"], 1), Ok(1));
    let file = deep.join("samples.log");
    let error = open(&file).unwrap_err();
    assert!(matches!(error, LogError::File { .. }), "{error}");
    fs::write(folder.0.join("samples.log"), "hello, world").unwrap();
    let error = folder.open().unwrap_err();
    assert!(matches!(error, LogError::NoLog { .. }), "{error}");
}

#[test]
fn sem_g553_beyond_its_limit_a_log_takes_nothing_and_a_higher_limit_helps() {
    let folder = Folder::new();
    let writer = |limit| {
        let log = folder.open_limited(limit).unwrap();
        LogWriter::new(log, Clock::real()).unwrap()
    };
    let narrow = writer(300);
    let (mut last, mut error) = (0, None);
    for _ in 0..100 {
        match append(&narrow, b"some bytes") {
            Ok(number) => last = number,
            Err(why) => error = Some(why),
        }
    }
    let error = error.unwrap();
    assert!(
        matches!(error, LogError::Full { limit: 300, .. }),
        "{error}"
    );
    assert!(last > 1 && narrow.log().info().bytes <= 300);
    drop(narrow);
    assert_eq!(append(&writer(600), b"some bytes"), Ok(last + 1));
}

#[test]
fn sem_g553_samples_that_wait_together_are_one_record() {
    let folder = Folder::new();
    let writer = LogWriter::new(folder.open().unwrap(), Clock::real()).unwrap();
    let empty = writer.log().info().bytes;
    // The first one is told when all the others wait.
    let (go, goes) = reply::<()>();
    let (to, answer) = reply();
    let told = move |number| {
        wait_blocking(goes).unwrap().unwrap();
        drop(to.post(number));
    };
    writer.ask(LogRequest::Append((*b"0").into(), Box::new(told)));
    let mut answers = vec![answer];
    for _ in 0..100 {
        let (to, answer) = reply();
        let told = move |number| drop(to.post(number));
        writer.ask(LogRequest::Append((*b"0").into(), Box::new(told)));
        answers.push(answer);
    }
    go.post(()).unwrap();
    for (number, answer) in (1..).zip(answers) {
        assert_eq!(wait_blocking(answer).unwrap().unwrap(), Ok(number));
    }
    // Two records, 28 bytes each before the samples.
    let bytes = writer.log().info().bytes - empty - 101 * 5;
    assert!(bytes <= 2 * 28, "{bytes}");
}

#[test]
fn sem_g553_a_writer_that_is_closed_has_written_what_waits() {
    let folder = Folder::new();
    let writer = LogWriter::new(folder.open().unwrap(), Clock::real()).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    for number in 1..=50 {
        let told = Arc::clone(&told);
        let count = move |at| {
            assert_eq!(at, Ok(number));
            told.fetch_add(1, Ordering::Relaxed);
        };
        writer.ask(LogRequest::Append((*b"some").into(), Box::new(count)));
    }
    writer.close();
    assert_eq!(told.load(Ordering::Relaxed), 50);
    assert_eq!(append(&writer, b"late"), Err(LogError::Closed));
    assert_eq!(folder.open().unwrap().last(), 50);
    assert!(Path::new(&folder.0).join("lock").exists());
}
