//! Topics whose samples lie on the disk: from where a subscription begins, and publishers and
//! subscribers that are started again.

use crate::nodes::{Net, waiting};
use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
use motet_mesh::{
    Ack, Gap, LogConfig, LogError, MeshError, Node, PeerChange, PublishRefusal, Qos, Sample,
    StartFrom, SubscribeConfig, Subscription, Topic,
};
use motet_ports::{Port, wait_blocking};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{Log, patience, within};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// A directory that goes with its test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder::within(&std::env::temp_dir())
    }

    /// In memory, where a system has such a directory: for tests that sync thousands of times, and
    /// kill no process.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Folder::within(memory),
            false => Folder::new(),
        }
    }

    fn within(directory: &Path) -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("motet-durable-{}-{number}", std::process::id());
        let path = directory.join(name);
        // An earlier process of this number may have left one.
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    pub(crate) fn log(&self) -> LogConfig {
        LogConfig::in_directory(&self.0)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("samples.log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn topic(node: &Node, folder: &Folder) -> Topic<u64> {
    let qos = Qos::durable(4);
    node.durable_topic("n", qos, &folder.log()).unwrap()
}

pub(crate) fn from(from: StartFrom) -> SubscribeConfig {
    SubscribeConfig {
        from,
        ..SubscribeConfig::default()
    }
}

pub(crate) fn publish(topic: &Topic<u64>, values: impl IntoIterator<Item = u64>) {
    for value in values {
        assert_eq!(topic.publish(value).unwrap().number, value);
    }
}

/// The numbers that have come, none of them told as missed.
pub(crate) fn numbers(samples: &Subscription<u64>) -> Vec<u64> {
    let number = |sample: Sample<u64>| {
        assert_eq!((*sample.value, sample.gap), (sample.number, None));
        sample.number
    };
    std::iter::from_fn(|| samples.port().test())
        .map(number)
        .collect()
}

#[test]
fn sem_g552_a_subscription_gets_what_the_log_has_from_where_it_wants_and_then_what_comes() {
    // The log was opened in virtual time 0.
    let at = |seconds| StartFrom::Time(UNIX_EPOCH + Duration::from_secs(seconds));
    let places = [
        (StartFrom::New, 21),
        (StartFrom::All, 1),
        (StartFrom::Number(0), 1),
        (StartFrom::Number(17), 17),
        (StartFrom::Number(21), 21),
        (StartFrom::Number(23), 23),
        (at(0), 1),
        (at(9), 10),
        (at(19), 20),
        (at(1000), 21),
    ];
    for is_here in [false, true] {
        let (net, folder) = (Net::new(1), Folder::new());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let topic = topic(&publisher, &folder);
        for value in 1..=20 {
            publish(&topic, [value]);
            net.replay.run_for(Duration::from_secs(1));
        }
        let node = if is_here { &publisher } else { &subscriber };
        let subscribe = |(place, _): &(StartFrom, u64)| {
            let samples = node.subscribe::<u64>("*", &from(*place));
            samples.unwrap()
        };
        let all: Vec<_> = places.iter().map(subscribe).collect();
        net.replay.run();
        publish(&topic, 21..=29);
        net.replay.run();
        for (samples, (place, first)) in all.iter().zip(places) {
            let came: Vec<_> = std::iter::from_fn(|| samples.port().test()).collect();
            let numbers: Vec<_> = came.iter().map(|sample| sample.number).collect();
            assert_eq!(numbers, (first..=29).collect::<Vec<_>>(), "{place:?}");
            let is_as_published = |s: &Sample<u64>| *s.value == s.number && s.gap.is_none();
            assert!(came.iter().all(is_as_published), "{place:?}");
            assert!(
                came.iter().all(|s| s.retained == (s.number <= 20)),
                "{place:?}"
            );
            assert_eq!(samples.missed(), 0);
        }
        assert!(topic.losses().test().is_none());
    }
}

#[test]
fn sem_g552_new_ones_come_behind_those_that_the_topic_retains() {
    let (net, folder) = (Net::new(2), Folder::new());
    let node = net.node("a", 1);
    let qos = Qos::durable(8).retaining(3);
    let topic = node.durable_topic::<u64>("n", qos, &folder.log()).unwrap();
    publish(&topic, 1..=9);
    let samples = node.subscribe::<u64>("n", &from(StartFrom::New)).unwrap();
    net.replay.run();
    publish(&topic, [10]);
    net.replay.run();
    assert_eq!(numbers(&samples), [7, 8, 9, 10]);
}

/// A topic that has 100 samples of 50,000 bytes, more than what is in memory, and a subscriber, of
/// the topic's node or of another one, that has accepted one of them. The nodes are first.
pub(crate) fn with_one_that_is_slow(
    net: &Net,
    is_here: bool,
    log: &LogConfig,
) -> ([Node; 2], Topic<Vec<u8>>, Subscription<Vec<u8>>) {
    let nodes = [net.node("a", 1), net.node("b", 1)];
    let [publisher, other] = &nodes;
    let topic = publisher.durable_topic::<Vec<u8>>("n", Qos::durable(4), log);
    let topic = topic.unwrap();
    let node = if is_here { publisher } else { other };
    let samples = node.subscribe::<Vec<u8>>("n", &waiting(1, 2)).unwrap();
    net.replay.run();
    for _ in 0..100 {
        topic.publish(vec![0; 50_000]).unwrap();
        net.replay.run();
    }
    (nodes, topic, samples)
}

#[test]
fn sem_g552_a_slow_subscriber_is_behind_and_the_publisher_is_not_held_back() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(3), Folder::new());
        let (_nodes, topic, samples) = with_one_that_is_slow(&net, is_here, &folder.log());
        let of = &topic.subscribers()[0];
        assert_eq!(of.waiting + of.in_flight, 99, "one was accepted");
        assert!(of.in_flight <= 4);
        let mut came = Vec::new();
        while let Some(sample) = samples.port().test() {
            assert_eq!((sample.len(), sample.gap), (50_000, None));
            came.push(sample.number);
            net.replay.run();
        }
        assert_eq!(came, (1..=100).collect::<Vec<_>>());
    }
}

#[test]
fn sem_g552_a_subscriber_that_is_started_again_goes_on_at_the_number_that_it_names() {
    let (net, folder) = (Net::new(4), Folder::new());
    let publisher = net.node("a", 1);
    let topic = topic(&publisher, &folder);
    let (mut last, mut came) = (0, Vec::new());
    for life in 1..=5 {
        let node = net.node("b", life);
        let config = SubscribeConfig {
            ack: Ack::Handled,
            from: StartFrom::Number(last + 1),
            ..SubscribeConfig::default()
        };
        let samples = node.subscribe::<u64>("n", &config).unwrap();
        let next = topic.log().unwrap().last + 1;
        publish(&topic, next..next + 10);
        net.replay.run();
        // It handles some, and is killed.
        for _ in 0..7 {
            let sample = samples.port().test().unwrap();
            assert_eq!(sample.gap, None);
            last = sample.number;
            came.push(last);
            drop(sample);
            net.replay.run();
        }
        net.network.kill("b");
    }
    assert_eq!(came, (1..=35).collect::<Vec<_>>());
    net.replay.run();
    assert!(
        topic.losses().test().is_none(),
        "the log has what was not accepted"
    );
}

/// A publisher that is started again with its directory.
fn restarts(seed: u64, is_cut: bool, from: StartFrom) {
    let (net, folder) = (Net::new(seed), Folder::new());
    let subscriber = net.node("b", 1);
    let config = SubscribeConfig {
        from,
        ..waiting(3, 2)
    };
    let samples = subscriber.subscribe::<u64>("n", &config).unwrap();
    let (mut next, mut came) = (1, Vec::new());
    for life in 1..=4 {
        let publisher = net.node("a", life);
        let topic = topic(&publisher, &folder);
        assert_eq!(topic.log().unwrap().last, next - 1);
        if life == 1 {
            net.replay.run();
        }
        for _ in 0..10 {
            publish(&topic, [next]);
            next += 1;
            net.replay.run_for(Duration::from_micros(100));
            came.extend(numbers(&samples));
        }
        match is_cut {
            true => net.network.cut("a", "b"),
            false => net.network.kill("a"),
        }
        assert!(topic.losses().test().is_none());
        drop((topic, publisher));
        if is_cut {
            net.network.mend("a", "b");
        }
    }
    let publisher = net.node("a", 9);
    let topic = topic(&publisher, &folder);
    publish(&topic, [next]);
    for _ in 0..50 {
        net.replay.run_for(Duration::from_millis(10));
        came.extend(numbers(&samples));
    }
    assert_eq!(came, (1..=next).collect::<Vec<_>>(), "seed {seed}");
    assert_eq!((samples.missed(), samples.publisher_count()), (0, 1));
    let of = &topic.subscribers()[0];
    assert_eq!((of.waiting, of.in_flight), (0, 0));
}

#[test]
fn sem_g556_subscribers_miss_nothing_and_get_nothing_twice_when_the_publisher_restarts() {
    for seed in 0..20 {
        let places = [StartFrom::New, StartFrom::All, StartFrom::Number(1)];
        let from = places[seed as usize % 3];
        restarts(seed, false, from);
        restarts(seed, true, from);
    }
}

#[test]
fn sem_g556_a_subscriber_that_has_more_than_the_log_is_told_to_the_publisher() {
    for (is_here, is_asked) in [(false, true), (false, false), (true, true), (true, false)] {
        let (net, folder) = (Net::new(5), Folder::new());
        let (subscriber, publisher) = (net.node("b", 1), net.node("a", 1));
        let node = if is_here { &publisher } else { &subscriber };
        let samples = node.subscribe::<u64>("n", &from(StartFrom::All)).unwrap();
        let first = topic(&publisher, &folder);
        publish(&first, 1..=5);
        let bytes = fs::read(folder.file()).unwrap();
        publish(&first, 6..=8);
        net.replay.run();
        drop(first);
        net.replay.run();
        // Somebody brings an old copy back.
        fs::write(folder.file(), bytes).unwrap();
        let again = topic(&publisher, &folder);
        // Also when the log has the numbers again before the subscriber has said what it has had.
        if is_asked {
            net.replay.run();
        }
        publish(&again, 6..=9);
        net.replay.run();
        let lost = again.losses().test().expect("it is told");
        assert_eq!(lost.gap, Gap { from: 6, to: 8 });
        assert_eq!(numbers(&samples), (1..=9).collect::<Vec<_>>());
        assert!(again.losses().test().is_none());
        drop(again);
        net.replay.run();
        assert!(publisher.topics().is_empty());
    }
}

#[test]
fn sem_g556_a_log_may_move_to_a_topic_of_another_node() {
    let (net, folder) = (Net::new(5), Folder::new());
    let subscriber = net.node("b", 1);
    let samples = subscriber
        .subscribe::<u64>("n", &from(StartFrom::All))
        .unwrap();
    for (number, name) in (1..).zip(["a", "c", "b", "a"]) {
        let other = net.node("other", number);
        let node = if name == "b" {
            subscriber.clone()
        } else {
            net.node(name, number)
        };
        net.replay.run();
        let topic = topic(&node, &folder);
        publish(&topic, [number]);
        net.replay.run();
        let sample = samples.port().test().unwrap();
        assert_eq!((sample.number, sample.publisher().as_str()), (number, name));
        assert_eq!(samples.publishers(), [node.name().clone()]);
        drop(topic);
        net.replay.run();
        assert_eq!((numbers(&samples), samples.publisher_count()), (vec![], 0));
        drop(other);
    }
}

#[test]
fn sem_g555_a_second_publisher_and_wrong_ways_to_open_a_log_are_refused() {
    let (net, folder) = (Net::new(6), Folder::new());
    let (one, other) = (net.node("a", 1), net.node("b", 1));
    let topic = topic(&one, &folder);
    let open = |node: &Node, key, qos| node.durable_topic::<u64>(key, qos, &folder.log());
    let refused = |result: Result<Topic<u64>, MeshError>| match result.unwrap_err() {
        MeshError::Log(error) => error,
        error => panic!("{error}"),
    };
    for node in [&one, &other] {
        let error = refused(open(node, "n", Qos::durable(1)));
        assert!(matches!(&error, LogError::InUse { .. }), "{error}");
    }
    let error = refused(open(&other, "n", Qos::reliable(1)));
    assert_eq!(error, LogError::NotDurable);
    assert_eq!(
        refused(other.topic("n", Qos::durable(1))),
        LogError::NoDirectory
    );
    drop(topic);
    let error = refused(open(&other, "m", Qos::durable(1)));
    assert!(matches!(&error, LogError::OtherTopic { .. }), "{error}");
    assert!(open(&other, "n", Qos::durable(1)).is_ok());
}

#[test]
fn sem_g554_a_torn_record_is_cut_off_and_told_and_damage_is_refused() {
    let (net, folder) = (Net::new(7), Folder::new());
    let node = net.node("a", 1);
    let first = topic(&node, &folder);
    publish(&first, 1..=5);
    drop(first);
    let bytes = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), &bytes[..bytes.len() - 2]).unwrap();
    let again = topic(&node, &folder);
    let log = node.topics()[0].log.clone().unwrap();
    assert_eq!(
        (log.last, log.bytes + log.cut_off),
        (4, bytes.len() as u64 - 2)
    );
    assert!(log.cut_off > 0);
    publish(&again, [5]);
    drop(again);
    let mut bytes = fs::read(folder.file()).unwrap();
    let middle = bytes.len() - 60;
    bytes[middle] ^= 1;
    fs::write(folder.file(), &bytes).unwrap();
    let error = node.durable_topic::<u64>("n", Qos::durable(1), &folder.log());
    let text = error.unwrap_err().to_string();
    assert!(text.contains("samples.log is damaged at byte "), "{text}");
    assert_eq!(fs::read(folder.file()).unwrap(), bytes);
}

/// What the node was told that keeps samples of a topic away: whose topic it is, and why.
pub(crate) fn mismatches(changes: &Port<PeerChange>) -> Vec<(String, String)> {
    let mismatch = |change: PeerChange| match change {
        PeerChange::Mismatch(peer, key, why) if key == "n" => Some((peer.to_string(), why)),
        _ => None,
    };
    std::iter::from_fn(|| changes.test())
        .filter_map(mismatch)
        .collect()
}

#[test]
fn sem_g554_what_cannot_be_read_ends_the_flow_and_is_told() {
    for is_here in [true, false] {
        let (net, folder) = (Net::new(8), Folder::new());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let first = topic(&publisher, &folder);
        publish(&first, 1..=5);
        drop(first);
        let again = topic(&publisher, &folder);
        let mut bytes = fs::read(folder.file()).unwrap();
        let middle = bytes.len() - 60;
        bytes[middle] ^= 1;
        fs::write(folder.file(), &bytes).unwrap();
        let node = if is_here { &publisher } else { &subscriber };
        let changes = node.peer_changes();
        let samples = node.subscribe::<u64>("n", &from(StartFrom::All)).unwrap();
        net.replay.run();
        let lost = again.losses().test().expect("it is told");
        assert_eq!((lost.gap.to, lost.why.contains("damaged")), (5, true));
        let came = numbers(&samples);
        assert!(came.len() < 5 && lost.gap.from <= 5, "{came:?} {lost:?}");
        // The subscriber, too.
        let told = mismatches(&changes);
        let [(of, why)] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(of == "a" && why.contains("nothing more comes"), "{told:?}");
        assert!(why.contains("damaged"), "{why}");
        assert_eq!(samples.publisher_count(), 0);
    }
}

#[test]
fn sem_g555_a_topic_with_a_copy_of_a_log_waits_until_the_first_one_is_gone() {
    for is_killed in [false, true] {
        let (net, folder, copied) = (Net::new(6), Folder::new(), Folder::new());
        let (one, other) = (net.node("a", 1), net.node("c", 1));
        let subscriber = net.node("b", 1);
        let changes = subscriber.peer_changes();
        let samples = subscriber.subscribe::<u64>("n", &from(StartFrom::All));
        let samples = samples.unwrap();
        let first = topic(&one, &folder);
        publish(&first, 1..=2);
        net.replay.run();
        fs::create_dir(&copied.0).unwrap();
        fs::copy(folder.file(), copied.file()).unwrap();
        let copy = topic(&other, &copied);
        publish(&copy, 3..=4);
        net.replay.run();
        publish(&first, [3]);
        net.replay.run();
        assert_eq!(numbers(&samples), [1, 2, 3]);
        assert_eq!(samples.publishers(), [one.name().clone()]);
        let told = mismatches(&changes);
        let [(of, why)] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(of == "c" && why.contains("a topic of a has"), "{told:?}");
        match is_killed {
            true => net.network.kill("a"),
            false => drop(first),
        }
        net.replay.run();
        publish(&copy, [5]);
        net.replay.run();
        // What has come of the first one comes no second time.
        assert_eq!(numbers(&samples), [4, 5], "killed: {is_killed}");
        assert_eq!(samples.publishers(), [other.name().clone()]);
        assert!(mismatches(&changes).is_empty());
    }
}

#[test]
fn sem_g553_beyond_the_limit_a_publication_is_refused_and_hands_its_value_back() {
    let (net, folder) = (Net::new(9), Folder::new());
    let node = net.node("a", 1);
    let log = folder.log().limited_to(1000);
    let topic = node
        .durable_topic::<Vec<u8>>("n", Qos::durable(4), &log)
        .unwrap();
    let samples = node
        .subscribe::<Vec<u8>>("n", &from(StartFrom::All))
        .unwrap();
    topic.publish(vec![1; 500]).unwrap();
    let error = topic.publish(vec![2; 500]).unwrap_err();
    assert_eq!(error.value, [2; 500]);
    assert!(matches!(
        error.reason,
        PublishRefusal::Log(LogError::Full { limit: 1000, .. })
    ));
    assert!(
        error.to_string().contains("its limit of 1000 bytes"),
        "{error}"
    );
    assert_eq!(topic.publish(vec![3]).unwrap().number, 2, "it fits");
    net.replay.run();
    let came: Vec<_> = std::iter::from_fn(|| samples.port().test())
        .map(|s| s[0])
        .collect();
    assert_eq!(came, [1, 3]);
    let too_long = topic.publish(vec![1; motet_mesh::MAX_FRAME]).unwrap_err();
    assert!(matches!(too_long.reason, PublishRefusal::NotWritable(_)));
}

#[test]
fn sem_g552_a_topic_whose_last_handle_is_gone_sends_what_the_log_has_and_ends() {
    let (net, folder) = (Net::new(10), Folder::new());
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let topic = topic(&publisher, &folder);
    publish(&topic, 1..=50);
    let config = SubscribeConfig {
        from: StartFrom::All,
        ..waiting(1, 1)
    };
    let samples = subscriber.subscribe::<u64>("n", &config).unwrap();
    net.replay.run();
    drop(topic);
    let mut came = Vec::new();
    for _ in 0..100 {
        net.replay.run();
        came.extend(numbers(&samples));
    }
    assert_eq!(came, (1..=50).collect::<Vec<_>>());
    assert_eq!(
        (samples.publisher_count(), publisher.topics().len()),
        (0, 0)
    );
    assert!(
        publisher
            .durable_topic::<u64>("n", Qos::durable(4), &folder.log())
            .is_ok()
    );
}

#[test]
fn sem_g553_publications_that_wait_together_come_in_the_order_of_their_numbers() {
    within(patience(), || {
        let (dispatcher, folder) = (Dispatcher::new(2), Folder::new());
        let queue: Arc<dyn Enqueue> = Arc::new(dispatcher.queue(QueueConfig::named("a")));
        let node = Node::alone("a", Arc::clone(&queue));
        let topic = topic(&node, &folder);
        let samples = node.subscribe::<u64>("n", &from(StartFrom::All)).unwrap();
        let told = Log::new();
        for value in 0..200 {
            let (topic, told) = (topic.clone(), told.clone());
            spawn(&queue, async move {
                // Within a task nobody waits for the disk.
                let error = topic.publish(value).unwrap_err();
                assert_eq!(error.reason, PublishRefusal::WouldWait);
                let published = topic.publish_wait(value).await.unwrap();
                told.push((published.number, value));
            })
            .unwrap();
        }
        let mut came = Vec::new();
        for number in 1..=200 {
            let sample = samples.port().recv_blocking().unwrap();
            assert_eq!(sample.number, number);
            came.push((number, *sample.value));
        }
        let mut all = Vec::new();
        while all.len() < 200 {
            all.extend(told.take());
            motet_sync::thread::yield_now();
        }
        all.sort_unstable();
        assert_eq!(all, came);
        assert_eq!(topic.publish(7).unwrap().number, 201);
        node.leave();
        let late = wait_blocking(topic.publish_wait(8)).unwrap().unwrap_err();
        assert_eq!((late.reason, late.value), (PublishRefusal::Left, 8));
    });
}
