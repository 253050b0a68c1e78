//! Durable topics whose logs drop the oldest samples: who does not get them is told which.

use crate::durable::{Folder, with_one_that_is_slow};
use crate::nodes::{Net, waiting};
use motet_mesh::{Gap, LogConfig, Node, Qos, StartFrom, SubscribeConfig, Subscription, Topic};
use motet_testkit::Random;
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

/// What a subscriber has seen, and what it was told that it missed.
#[derive(Default)]
struct HeardNumbers {
    seen: Vec<u64>,
    told: BTreeSet<u64>,
}

impl HeardNumbers {
    fn take<T: Send + Sync + 'static>(&mut self, samples: &Subscription<T>, most: usize) {
        for sample in std::iter::from_fn(|| samples.port().test()).take(most) {
            if let Some(Gap { from, to }) = sample.gap {
                for number in from..=to {
                    assert!(self.told.insert(number), "{number} is told twice");
                }
            }
            self.seen.push(sample.number);
        }
    }

    /// The number behind the last.
    fn next(&self) -> u64 {
        self.seen.last().map_or(1, |last| last + 1)
    }

    /// Those from `first` to `last` were seen, in order, or told, each once.
    fn are_all(&self, first: u64, last: u64) {
        let is_in_order = self.seen.windows(2).all(|two| two[0] < two[1]);
        assert!(is_in_order, "{:?}", self.seen);
        let mut all: Vec<u64> = self.seen.iter().chain(&self.told).copied().collect();
        all.sort_unstable();
        let wanted: Vec<u64> = (first..=last).collect();
        assert_eq!(all, wanted, "seen {:?}, told {:?}", self.seen, self.told);
    }
}

/// The numbers that the publisher was told.
fn lost(topic: &Topic<u64>) -> Vec<u64> {
    let lost = std::iter::from_fn(|| topic.losses().test());
    lost.flat_map(|lost| lost.gap.from..=lost.gap.to).collect()
}

fn opened(node: &Node, log: &LogConfig) -> Topic<u64> {
    node.durable_topic("n", Qos::durable(4), log).unwrap()
}

fn from(from: StartFrom) -> SubscribeConfig {
    SubscribeConfig {
        from,
        ..SubscribeConfig::default()
    }
}

#[test]
fn sem_g559_one_that_is_behind_is_told_what_is_dropped_and_goes_on_with_the_oldest() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(1), Folder::in_memory());
        // There are more, and that is more than what is in memory.
        let log = folder.log().keeping_bytes(2 << 20).in_files_of(1 << 18);
        let (_nodes, topic, samples) = with_one_that_is_slow(&net, is_here, &log);
        let mut heard = HeardNumbers::default();
        while heard.next() <= 100 {
            let before = heard.next();
            heard.take(&samples, usize::MAX);
            assert!(heard.next() > before, "the next one does not come");
            net.replay.run();
        }
        heard.are_all(1, 100);
        let oldest = topic.log().unwrap().first;
        let (first, last) = (heard.told.first().copied(), heard.told.last().copied());
        assert!(first.is_some() && last == Some(oldest - 1), "{last:?}");
        assert_eq!(samples.missed(), heard.told.len() as u64);
        let lost = topic.losses().test().expect("the publisher is told, too");
        assert_eq!((Some(lost.gap.from), lost.gap.to), (first, oldest - 1));
        assert!(lost.why.contains("dropped"), "{}", lost.why);
        assert!(topic.losses().test().is_none());
    }
}

#[test]
fn sem_g559_a_number_that_was_dropped_is_a_gap_and_all_that_there_are_begin_with_the_oldest() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(2), Folder::in_memory());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let log = folder.log().keeping_bytes(500).in_files_of(200);
        let first = opened(&publisher, &log);
        for value in 1..=100 {
            first.publish(value).unwrap();
        }
        // Nothing is in memory any more.
        drop(first);
        net.replay.run();
        let topic = opened(&publisher, &log);
        let oldest = topic.log().unwrap().first;
        assert!(oldest > 50, "{oldest}");
        let places = [
            (StartFrom::All, oldest),
            (StartFrom::Number(1), 1),
            (StartFrom::Number(oldest - 5), oldest - 5),
            (StartFrom::Number(oldest), oldest),
            (StartFrom::Number(oldest + 2), oldest + 2),
            (StartFrom::New, 101),
            (StartFrom::Time(UNIX_EPOCH), oldest),
        ];
        let node = if is_here { &publisher } else { &subscriber };
        let subscribe = |(place, _): &(StartFrom, u64)| {
            let samples = node.subscribe::<u64>("*", &from(*place));
            samples.unwrap()
        };
        let all: Vec<_> = places.iter().map(subscribe).collect();
        net.replay.run();
        topic.publish(101).unwrap();
        net.replay.run();
        for (samples, (place, first)) in all.iter().zip(places) {
            let mut heard = HeardNumbers::default();
            heard.take(samples, usize::MAX);
            heard.are_all(first, 101);
            let told = oldest.saturating_sub(first);
            assert_eq!(heard.told.len() as u64, told, "{place:?}");
            assert_eq!(samples.missed(), told, "{place:?}");
        }
        let mut lost = lost(&topic);
        lost.sort_unstable();
        let mut gaps: Vec<u64> = (1..oldest).chain(oldest - 5..oldest).collect();
        gaps.sort_unstable();
        assert_eq!(lost, gaps);
    }
}

#[test]
fn sem_g558_a_topic_at_rest_drops_what_is_old_and_who_asks_for_it_is_told_the_gap() {
    let (net, folder) = (Net::new(5), Folder::in_memory());
    let node = net.node("a", 1);
    let log = folder.log().keeping_for(Duration::from_secs(10));
    let topic = opened(&node, &log);
    for value in 1..=3 {
        topic.publish(value).unwrap();
    }
    net.replay.run_for(Duration::from_secs(10));
    assert_eq!(topic.log().unwrap().first, 1);
    net.replay.run_for(Duration::from_secs(1));
    let info = topic.log().unwrap();
    assert_eq!((info.first, info.last), (4, 3));
    // Nothing is in memory any more.
    drop(topic);
    let topic = opened(&node, &log);
    let samples = node.subscribe::<u64>("n", &from(StartFrom::Number(1)));
    let samples = samples.unwrap();
    net.replay.run_for(Duration::from_secs(1));
    topic.publish(4).unwrap();
    net.replay.run_for(Duration::from_secs(1));
    let mut heard = HeardNumbers::default();
    heard.take(&samples, usize::MAX);
    assert_eq!(heard.seen, [4]);
    heard.are_all(1, 4);
    assert_eq!(lost(&topic), [1, 2, 3]);
}

#[test]
fn sem_g554_what_waits_for_a_subscriber_is_told_with_what_cannot_be_read() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(3), Folder::in_memory());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let first = opened(&publisher, &folder.log());
        for value in 1..=8 {
            first.publish(value).unwrap();
        }
        drop(first);
        net.replay.run();
        let topic = opened(&publisher, &folder.log());
        // Each record has 33 bytes: that of number 6 is damaged.
        let mut bytes = fs::read(folder.file()).unwrap();
        let damaged = bytes.len() - 2 * 33 - 1;
        bytes[damaged] ^= 1;
        fs::write(folder.file(), &bytes).unwrap();
        let node = if is_here { &publisher } else { &subscriber };
        let config = SubscribeConfig {
            from: StartFrom::All,
            ..waiting(1, 1)
        };
        let samples = node.subscribe::<u64>("n", &config).unwrap();
        let mut heard = HeardNumbers::default();
        for _ in 0..20 {
            net.replay.run();
            heard.take(&samples, usize::MAX);
        }
        // Those before it came, or waited when it was read.
        heard.told.extend(lost(&topic));
        heard.are_all(1, 8);
        assert!(heard.seen.contains(&1) && heard.told.contains(&6));
    }
}

#[test]
fn sem_g554_damage_in_an_older_file_ends_a_flow_before_it_and_who_begins_behind_it_gets_the_rest() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(4), Folder::in_memory());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        // Two samples in each file: its head has 44 bytes, and each record 33.
        let log = folder.log().in_files_of(100);
        let first = opened(&publisher, &log);
        for value in 1..=8 {
            first.publish(value).unwrap();
        }
        drop(first);
        net.replay.run();
        let older = folder.0.join(format!("samples-{:020}.log", 3));
        let mut bytes = fs::read(&older).unwrap();
        bytes[44 + 33 - 1] ^= 1;
        fs::write(&older, bytes).unwrap();
        let topic = opened(&publisher, &log);
        let node = if is_here { &publisher } else { &subscriber };
        let subscribe = |place| node.subscribe::<u64>("n", &from(place)).unwrap();
        let all = subscribe(StartFrom::All);
        let behind = subscribe(StartFrom::Number(5));
        net.replay.run();
        let mut heard = HeardNumbers::default();
        heard.take(&all, usize::MAX);
        heard.told.extend(lost(&topic));
        heard.are_all(1, 8);
        assert!(heard.told.contains(&3));
        topic.publish(9).unwrap();
        net.replay.run();
        let mut heard = HeardNumbers::default();
        heard.take(&behind, usize::MAX);
        assert_eq!(heard.seen, [5, 6, 7, 8, 9]);
        assert!(all.port().test().is_none());
    }
}

/// What is random about a log and its subscriber.
fn log(random: &mut Random, folder: &Folder, seed: u64) -> LogConfig {
    let log = folder.log().in_files_of(1 + random.below(200) as u64);
    match seed % 2 {
        0 => log.keeping_bytes(1 + random.below(400) as u64),
        _ => log.keeping_for(Duration::from_micros(random.below(20_000) as u64)),
    }
}

/// A publisher that is started again, links that break, and a slow subscriber, which is started
/// again where `is_killed`. How many numbers it was told as missed.
fn program(seed: u64, is_killed: bool) -> usize {
    let (net, folder, mut random) = (Net::new(seed), Folder::in_memory(), Random::new(seed));
    let log = log(&mut random, &folder, seed);
    let (mut publisher, mut subscriber) = (net.node("a", 1), net.node("b", 1));
    let mut topic = opened(&publisher, &log);
    let places = [StartFrom::New, StartFrom::All, StartFrom::Number(1)];
    let mut config = SubscribeConfig {
        from: places[random.below(3)],
        ..waiting(1 + random.below(4), 1 + random.below(6) as u32)
    };
    let mut samples = subscriber.subscribe::<u64>("n", &config).unwrap();
    net.replay.run();
    let (mut next, mut life, mut is_cut) = (1, 1, false);
    let (mut heard, mut told) = (HeardNumbers::default(), BTreeSet::new());
    for _ in 0..80 {
        match random.below(12) {
            0 => {
                is_cut = !is_cut;
                match is_cut {
                    true => net.network.cut("a", "b"),
                    false => net.network.mend("a", "b"),
                }
            }
            1 => {
                told.extend(lost(&topic));
                net.network.kill("a");
                drop((topic, publisher));
                life += 1;
                publisher = net.node("a", life);
                topic = opened(&publisher, &log);
            }
            2 if is_killed => {
                net.network.kill("b");
                drop((samples, subscriber));
                life += 1;
                subscriber = net.node("b", life);
                config.from = StartFrom::Number(heard.next());
                samples = subscriber.subscribe::<u64>("n", &config).unwrap();
            }
            3 | 4 => heard.take(&samples, 1 + random.below(4)),
            _ => {
                assert_eq!(topic.publish(next).unwrap().number, next);
                next += 1;
            }
        }
        let pause = Duration::from_micros(random.below(3000) as u64);
        net.replay.run_for(pause);
    }
    net.network.mend("a", "b");
    net.replay.run();
    // The last one tells of what was missed before it.
    topic.publish(next).unwrap();
    while heard.next() <= next {
        net.replay.run();
        let before = heard.next();
        heard.take(&samples, usize::MAX);
        let comes = heard.next() > before;
        assert!(comes, "seed {seed}: the last sample does not come");
    }
    heard.are_all(1, next);
    told.extend(lost(&topic));
    let is_told = heard.told.is_subset(&told);
    assert!(is_told, "seed {seed}: {:?}, {told:?}", heard.told);
    heard.told.len()
}

#[test]
fn sem_g559_seen_and_told_are_together_what_was_published_where_logs_drop_the_oldest() {
    for is_killed in [false, true] {
        let told = (0..100).map(|seed| program(seed, is_killed));
        let with_gaps = told.filter(|told| *told > 0).count();
        assert!(with_gaps >= 10, "{with_gaps}");
    }
}
