//! Publishers of durable topics that are killed in the middle of their publications.

use crate::durable::Folder;
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
use motet_mesh::{LogConfig, Node, Qos, StartFrom, SubscribeConfig, Subscription, Topic};
use motet_ports::wait_blocking;
use motet_testkit::{patience, within};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Where the process that is going to be killed has its log; without it the test below does
/// nothing.
const DIRECTORY: &str = "MOTET_TEST_KILL_LOG";
/// Is set where that log drops its oldest files.
const DROPS: &str = "MOTET_TEST_KILL_DROPS";
/// So many publish at the same time.
const WRITERS: u64 = 3;

fn node(dispatcher: &Dispatcher) -> (Node, Arc<dyn Enqueue>) {
    let queue: Arc<dyn Enqueue> = Arc::new(dispatcher.queue(QueueConfig::named("a")));
    (Node::alone("a", Arc::clone(&queue)), queue)
}

/// A log that keeps all, or one of short files that keeps few of them.
fn log_in(directory: &Path, drops: bool) -> LogConfig {
    let log = LogConfig::in_directory(directory);
    match drops {
        true => log.keeping_bytes(1000).in_files_of(250),
        false => log,
    }
}

fn topic(node: &Node, log: &LogConfig) -> Topic<(u64, u64)> {
    node.durable_topic("n", Qos::durable(16), log).unwrap()
}

/// The process that is killed: publishes for ever, and says each number that is accepted.
#[test]
fn publishes_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let dispatcher = Dispatcher::new(2);
    let (node, queue) = node(&dispatcher);
    let drops = std::env::var_os(DROPS).is_some();
    let topic = topic(&node, &log_in(Path::new(&directory), drops));
    for writer in 0..WRITERS {
        let topic = topic.clone();
        let publishes = async move {
            for count in 0.. {
                let published = topic.publish_wait((writer, count)).await.unwrap();
                say(&format!("accepted {} {writer} {count}", published.number));
            }
        };
        spawn(&queue, publishes).unwrap();
    }
    let _ = motet_sync::Parker::new().park_timeout(Duration::from_secs(60));
}

/// One whole line.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listens may have gone.
    drop(writeln!(out, "\n{line}").and_then(|()| out.flush()));
}

fn started(directory: &Path, drops: bool) -> Child {
    let program = std::env::current_exe().unwrap();
    let drops = drops.then_some((DROPS, "1"));
    Command::new(program)
        .envs(drops)
        .args([
            "--exact",
            "kills::publishes_until_it_is_killed",
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a process when it has said so many numbers: what it said was accepted, by number.
fn killed(directory: &Path, drops: bool, after: u32) -> BTreeMap<u64, (u64, u64)> {
    let mut child = started(directory, drops);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut accepted = BTreeMap::new();
    for line in lines.map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let ["accepted", number, writer, count] = words[..] else {
            continue;
        };
        // The last line may be cut off.
        let numbers = (number.parse(), writer.parse(), count.parse());
        let (Ok(number), Ok(writer), Ok(count)) = numbers else {
            continue;
        };
        accepted.insert(number, (writer, count));
        if accepted.len() == after as usize {
            // What it has said meanwhile counts as well.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    accepted
}

/// All up to `last` comes, with the numbers that follow each other.
fn next_ones(
    samples: &Subscription<(u64, u64)>,
    before: u64,
    last: u64,
) -> BTreeMap<u64, (u64, u64)> {
    let mut came = BTreeMap::new();
    for number in before + 1..=last {
        let sample = samples.port().recv_blocking().unwrap();
        assert_eq!((sample.number, sample.gap), (number, None));
        came.insert(number, *sample.value);
    }
    assert!(samples.port().test().is_none());
    came
}

/// Kills so many processes one after the other, each at another time. A subscriber lives through
/// all of it.
fn kill_and_look(kills: u32) {
    let folder = Folder::new();
    let dispatcher = Dispatcher::new(2);
    let (node, _queue) = node(&dispatcher);
    let config = SubscribeConfig {
        from: StartFrom::All,
        ..SubscribeConfig::default()
    };
    let samples = node.subscribe("n", &config).unwrap();
    let mut last = 0;
    for kill in 0..kills {
        let accepted = killed(&folder.log().directory, false, 1 + kill * 7 % 29);
        assert!(!accepted.is_empty(), "it began to publish");
        let topic = topic(&node, &folder.log());
        let log = topic.log().unwrap();
        let came = next_ones(&samples, last, log.last);
        for (number, value) in &accepted {
            assert_eq!(came.get(number), Some(value), "after {kill} kills: {log:?}");
        }
        // Of each writer one may be there that was not accepted yet.
        let unsaid = came.keys().filter(|number| !accepted.contains_key(number));
        assert!(unsaid.count() as u64 <= WRITERS, "{came:?} {accepted:?}");
        last = wait_blocking(topic.publish_wait((9, 9)))
            .unwrap()
            .unwrap()
            .number;
        assert_eq!(last, log.last + 1);
        next_ones(&samples, log.last, last);
        drop(topic);
        // It ends when the last sample is accepted.
        while !node.topics().is_empty() {
            motet_sync::thread::yield_now();
        }
    }
}

#[test]
fn sem_g553_what_was_accepted_is_there_after_20_kills() {
    within(patience(), || kill_and_look(20));
}

/// Kills so many processes whose logs drop their oldest files: the newest are there.
fn kill_and_look_at_what_is_kept(kills: u32) {
    let folder = Folder::new();
    let log = log_in(&folder.log().directory, true);
    let dispatcher = Dispatcher::new(2);
    let (node, _queue) = node(&dispatcher);
    let mut first = 1;
    for kill in 0..kills {
        let accepted = killed(&log.directory, true, 10 + kill * 7 % 29);
        let topic = topic(&node, &log);
        let info = topic.log().unwrap();
        let is_kept = info.bytes >= 1000 || info.first == 1;
        assert!(is_kept && info.first >= first, "{info:?}");
        first = info.first;
        let config = SubscribeConfig {
            from: StartFrom::All,
            ..SubscribeConfig::default()
        };
        let samples = node.subscribe("n", &config).unwrap();
        let came = next_ones(&samples, first - 1, info.last);
        for (number, value) in accepted.range(first..) {
            assert_eq!(
                came.get(number),
                Some(value),
                "after {kill} kills: {info:?}"
            );
        }
        drop(topic);
        // It ends when the last sample is accepted.
        while !node.topics().is_empty() {
            motet_sync::thread::yield_now();
        }
    }
    assert!(first > 1, "files were dropped");
}

#[test]
fn sem_g558_what_is_kept_is_there_after_20_kills() {
    within(patience(), || kill_and_look_at_what_is_kept(20));
}

#[test]
#[ignore = "takes minutes: cargo xtask deep"]
fn deep_sem_g553_what_was_accepted_is_there_after_1000_kills() {
    kill_and_look(1000);
}
