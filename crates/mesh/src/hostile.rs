//! A peer whose frames are made up: the node it speaks to neither panics nor grows.

mod logs;
mod memory;
mod told;

use crate::core::MAX_WINDOW;
use crate::frame::{FORM, Frame};
use crate::start_from::{LogId, LogPlace};
use crate::{
    Carrier, Deed, FramePriority, Key, LinkConfig, LogConfig, MAX_ENTRIES, MeshRights, Node,
    PeerName, Qos, Request, SimulatedNetwork, StartFrom, SubscribeConfig,
};
use motet_dispatch::{QueueConfig, Replay};
use motet_ports::{Overflow, Port, PortConfig};
use motet_testkit::Random;
use std::sync::Arc;
use std::time::Duration;

const KEYS: [&str; 6] = ["a", "a/b", "a/**", "*", "", "no key at all/\u{7f}"];

/// Where a subscription begins, by one of five numbers.
fn place(far: u64, which: usize) -> LogPlace {
    match which {
        0 => LogPlace::All,
        1 => LogPlace::Number(far),
        2 => LogPlace::Time(far),
        3 => LogPlace::Observe,
        _ => LogPlace::New,
    }
}

/// A frame of any kind, with small numbers, so that it often meets something.
fn frame(random: &mut Random) -> Frame {
    let small = random.below(6) as u32;
    let topics = [6, 4 * MAX_ENTRIES][random.below(2)];
    let (topic, subscription) = (random.below(topics) as u32, random.below(6) as u32);
    let key = KEYS[random.below(KEYS.len())].to_owned();
    let far = [0, 1, 2, 7, u64::MAX - 1, u64::MAX][random.below(6)];
    let bytes = (0..random.below(40)).map(|_| random.below(256) as u8);
    let bytes: Vec<u8> = bytes.collect();
    match random.below(15) {
        0 => Frame::Hello {
            form: FORM - u16::from(small == 0),
            incarnation: u64::from(small),
        },
        1 => Frame::Subscribe {
            subscription: random.below(2 * MAX_ENTRIES) as u32,
            pattern: key,
            type_name: ["u32", "alloc::vec::Vec<u8>"][random.below(2)].to_owned(),
            from: place(far, random.below(5)),
        },
        2 => Frame::Unsubscribe { subscription },
        3 => Frame::Open {
            topic,
            subscription,
            key,
            qos: Qos::reliable(small),
            first: far,
            log: [None, Some(LogId::from(small)), Some(LogId::from(far))][random.below(3)],
        },
        4 => Frame::Mismatch {
            subscription,
            key,
            why: "why not".to_owned(),
        },
        5 => Frame::Close {
            topic,
            subscription,
        },
        6 => Frame::Data {
            topic,
            subscription,
            number: far,
            retained: small == 0,
            payload: bytes,
        },
        7 => Frame::Accepted {
            topic,
            subscription,
            upto: far,
            window: [0, 1, u32::MAX][random.below(3)],
        },
        8 => Frame::Serve { server: small, key },
        9 => Frame::Unserve { server: small },
        10 => Frame::Call {
            call: far,
            server: small,
            payload: bytes,
            causalities: vec![key; random.below(4)],
        },
        11 => Frame::Cancel {
            call: far,
            why: key,
        },
        12 => not_allowed(topic, subscription, key),
        13 => named_data(topic, subscription, far, (bytes, random.below(3))),
        _ => Frame::Answer {
            call: far,
            answer: Ok(bytes),
        },
    }
}

fn named_data(topic: u32, subscription: u32, number: u64, some: (Vec<u8>, usize)) -> Frame {
    let names = match some {
        (bytes, 0) => bytes,
        (_, 1) => vec![1, 1, b'n'],
        _ => vec![b'n'; 2 << 10],
    };
    Frame::NamedData {
        topic,
        subscription,
        number,
        retained: number == 0,
        payload: vec![7],
        names,
    }
}

fn not_allowed(topic: u32, subscription: u32, key: String) -> Frame {
    let why = "why not".to_owned();
    Frame::NotAllowed {
        topic,
        subscription,
        key,
        why,
    }
}

/// As it is; with a byte changed, cut off or added; or no frame at all.
fn bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = frame(random).to_bytes().expect("a small frame");
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        2 => bytes.insert(at, random.below(256) as u8),
        3 => bytes
            .iter_mut()
            .for_each(|byte| *byte = random.below(256) as u8),
        _ => {}
    }
    bytes
}

/// A node with two topics, a subscription and a server hears so many frames of a hostile peer; then
/// it still serves a good one.
fn hear(seed: u64, frames: usize) {
    let replay = Replay::new(seed);
    let network = SimulatedNetwork::new(seed, LinkConfig::default(), replay.clock());
    let queue = |name| Arc::new(replay.queue(QueueConfig::named(name)));
    let victim = Node::join(&network.carrier("victim"), 1, queue("victim"));
    let topic = victim.topic::<u32>("a/b", Qos::latest(4)).expect("a topic");
    let name = format!("motet-hostile-{}-{seed}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let (log, depth) = (LogConfig::in_directory(&directory), Qos::durable(4));
    let durable = victim.durable_topic::<u32>("a/b", depth, &log);
    let durable = durable.expect("a durable topic");
    let mut config = SubscribeConfig::default();
    let samples = victim.subscribe::<u32>("a", &config).expect("a pattern");
    let asked: Port<Request<u32, u32>> = Port::new();
    let _server = victim.serve("a/b", &asked).expect("a server");
    let hostile: Arc<dyn Carrier> = network.carrier("hostile");
    let to = PeerName::new("victim");
    let mut random = Random::new(seed);
    let hello = Frame::Hello {
        form: FORM,
        incarnation: 1,
    };
    let hello = hello.to_bytes().expect("a small frame");
    for sent in 0..frames {
        let bytes = match sent {
            0 => hello.clone(),
            _ => bytes(&mut random),
        };
        let priority = [FramePriority::Urgent, FramePriority::Ordered][random.below(2)];
        hostile.send(&to, bytes, priority).expect("a link");
        if sent % 64 == 0 {
            let _ = topic.publish(sent as u32);
            durable.publish(sent as u32).expect("a sample on the disk");
            replay.run_for(Duration::from_millis(1));
            while hostile.events().test().is_some() {}
            while asked.test().is_some() {}
            while samples.port().test().is_some() {}
        }
    }
    let known = &victim.peers()[0];
    assert!(known.subscriptions.len() <= MAX_ENTRIES && known.servers.len() <= MAX_ENTRIES);
    for topic in victim.topics() {
        let subscribers = topic.subscribers.len();
        assert!(subscribers <= MAX_ENTRIES, "{subscribers}");
    }
    network.kill("hostile");
    let good = Node::join(&network.carrier("good"), 1, queue("good"));
    let own = good.topic::<u32>("a", Qos::reliable(4)).expect("a topic");
    replay.run();
    while samples.port().test().is_some() {}
    own.publish(7).expect("there is room");
    replay.run();
    let sample = samples.port().test().expect("the sample of the good node");
    assert_eq!((*sample.value, sample.publisher().as_str()), (7, "good"));
    config.from = StartFrom::All;
    let all = good.subscribe::<u32>("a/b", &config).expect("a pattern");
    replay.run();
    let numbers = std::iter::from_fn(|| all.port().test()).map(|sample| sample.number);
    assert!(numbers.eq(1..=frames.div_ceil(64) as u64));
    drop(victim);
    std::fs::remove_dir_all(directory).expect("a directory");
}

/// What a member does that may publish `a/**` and subscribe to `s/**`, and sends frames of its own.
struct Limited {
    replay: Replay,
    network: SimulatedNetwork,
    carrier: Arc<dyn Carrier>,
}

impl Limited {
    fn new(seed: u64, rights: MeshRights) -> Self {
        let replay = Replay::new(seed);
        let network = SimulatedNetwork::new(seed, LinkConfig::default(), replay.clock());
        let carrier = network.carrier_with("hostile", rights);
        Limited {
            replay,
            network,
            carrier,
        }
    }

    fn node(&self, name: &str) -> Node {
        let queue = Arc::new(self.replay.queue(QueueConfig::named(name)));
        Node::join(&self.network.carrier(name), 1, queue)
    }

    fn sends(&self, to: &str, frames: impl IntoIterator<Item = Frame>) {
        for frame in frames {
            let bytes = frame.to_bytes().expect("a small frame");
            let sent = self
                .carrier
                .send(&PeerName::new(to), bytes, FramePriority::Ordered);
            sent.expect("a link");
        }
        self.replay.run_for(Duration::from_secs(1));
    }
}

fn few_rights() -> MeshRights {
    let keys = |filter| vec![Key::new(filter).expect("a key")];
    MeshRights::only(keys("a/**"), keys("s/**"))
}

fn hello() -> Frame {
    Frame::Hello {
        form: FORM,
        incarnation: 1,
    }
}

fn open(topic: u32, key: &str, log: Option<LogId>) -> Frame {
    Frame::Open {
        topic,
        subscription: 1,
        key: key.to_owned(),
        qos: Qos::reliable(8),
        first: 1,
        log,
    }
}

fn data(topic: u32, number: u64) -> Frame {
    Frame::Data {
        topic,
        subscription: 1,
        number,
        retained: false,
        payload: vec![7],
    }
}

#[test]
fn sem_g562_frames_of_a_member_with_few_rights_do_nothing_beyond_them() {
    for seed in 0..8 {
        let limited = Limited::new(seed, few_rights());
        let victim = limited.node("victim");
        let topics = ["a/b", "b", "s/x"].map(|key| {
            let topic = victim.topic::<u32>(key, Qos::latest(4).retaining(4));
            topic.expect("a topic")
        });
        let config = SubscribeConfig::default();
        let samples = victim.subscribe::<u32>("**", &config).expect("a pattern");
        let others = victim.subscribe::<u32>("a", &config).expect("a pattern");
        let asked: Port<Request<u32, u32>> = Port::new();
        let keys = ["a/b", "s/x", "b"];
        let servers = keys.map(|key| victim.serve(key, &asked).expect("a server"));
        limited.sends("victim", [hello()]);
        let mut random = Random::new(seed);
        for turn in 0..400 {
            let frames: Vec<_> = (0..8).map(|_| frame(&mut random)).collect();
            limited.sends("victim", frames);
            for topic in &topics {
                let _ = topic.publish(turn);
            }
            let took = [&samples, &others].map(|it| std::iter::from_fn(|| it.port().test()));
            for sample in took.into_iter().flatten() {
                let may = few_rights().may(Deed::Publish, sample.key());
                let is_own = sample.publisher() == victim.name();
                assert!(is_own || may, "{}", sample.key());
            }
            assert!(asked.test().is_none());
        }
        let known = &victim.peers()[0];
        assert!(known.refused > 100, "{}", known.refused);
        assert!(known.servers.is_empty());
        let mut patterns = known.subscriptions.iter();
        assert!(patterns.all(|it| few_rights().may(Deed::Subscribe, it)));
        for topic in victim.topics() {
            let mut there = topic.subscribers.iter();
            let is_open = topic.key.as_str() == "s/x";
            assert!(is_open || there.all(|it| it.node == *victim.name()));
        }
        drop(servers);
    }
}

#[test]
fn sem_g562_who_has_the_log_of_another_key_holds_no_durable_topic_up() {
    let limited = Limited::new(5, few_rights());
    let victim = limited.node("victim");
    let name = format!("motet-hostile-log-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let log = crate::log::new_id(&limited.replay.clock(), &directory);
    let config = SubscribeConfig::default();
    let samples = victim.subscribe::<u32>("**", &config).expect("a pattern");
    limited.replay.run();
    limited.sends("victim", [hello(), open(1, "c/log", Some(log))]);
    assert_eq!(victim.peers()[0].refused, 1);
    // It may publish there, and says that its log is that of the other.
    let claims = [open(2, "a/x", Some(log)), data(2, 1), data(2, 2)];
    limited.sends("victim", claims);
    let publisher = limited.node("publisher");
    let (config, depth) = (LogConfig::in_directory(&directory), Qos::durable(4));
    let durable = publisher.durable_topic::<u32>("c/log", depth, &config);
    let durable = durable.expect("a durable topic");
    limited.replay.run_for(Duration::from_secs(1));
    for n in 1..=3 {
        durable.publish(n).expect("a sample on the disk");
        limited.replay.run_for(Duration::from_secs(1));
    }
    let came = std::iter::from_fn(|| samples.port().test());
    let came: Vec<_> = came
        .map(|sample| (sample.key().to_string(), sample.number, sample.gap))
        .collect();
    let of = |key: &str, number| (key.to_owned(), number, None);
    let (a, c) = ("a/x", "c/log");
    assert_eq!(came, [of(a, 1), of(a, 2), of(c, 1), of(c, 2), of(c, 3)]);
    drop((durable, publisher));
    std::fs::remove_dir_all(directory).expect("a directory");
}

#[test]
fn sem_g562_who_has_few_rights_takes_no_room_for_the_logs_of_others() {
    let limited = Limited::new(7, few_rights());
    let victim = limited.node("victim");
    let config = SubscribeConfig::default();
    let samples = victim.subscribe::<u32>("**", &config).expect("a pattern");
    limited.replay.run();
    // As many as a subscription knows, which end, and as many that do not.
    let opens =
        |from: u32| (from..from + 1024).map(|n| open(n, &format!("a/{n}"), Some(LogId::from(n))));
    limited.sends("victim", [hello()].into_iter().chain(opens(1)));
    assert_eq!(victim.subscriptions()[0].publishers, 64);
    let closes = (1..=1024).map(|topic| Frame::Close {
        topic,
        subscription: 1,
    });
    limited.sends("victim", closes);
    limited.sends("victim", opens(2000));
    assert_eq!(victim.subscriptions()[0].publishers, 64);
    limited.sends("victim", [data(2000, 1), data(2063, 1), data(2064, 1)]);
    let came = std::iter::from_fn(|| samples.port().test());
    assert_eq!(came.count(), 2);
}

#[test]
fn sem_g562_who_comes_back_with_fewer_rights_goes_on_with_no_flow_beyond_them() {
    let mut limited = Limited::new(6, MeshRights::all());
    let victim = limited.node("victim");
    let config = SubscribeConfig::default();
    let samples = victim.subscribe::<u32>("**", &config).expect("a pattern");
    let subscribe = Frame::Subscribe {
        subscription: 1,
        pattern: "b".to_owned(),
        type_name: "u32".to_owned(),
        from: LogPlace::New,
    };
    let topic = victim
        .topic::<u32>("b", Qos::acknowledged(4))
        .expect("a topic");
    limited.replay.run();
    let opens = [
        open(1, "c", None),
        open(2, "a/x", None),
        open(3, "d", Some(9)),
    ];
    limited.sends("victim", [hello(), subscribe].into_iter().chain(opens));
    let first = |n| [1, 2, 3].map(|topic| data(topic, n));
    limited.sends("victim", first(1));
    let count = || std::iter::from_fn(|| samples.port().test()).count();
    assert_eq!((count(), topic.subscribers().len()), (3, 2));
    limited.carrier = limited.network.carrier_with("hostile", few_rights());
    limited.replay.run_for(Duration::from_secs(1));
    limited.sends("victim", [hello()].into_iter().chain(first(2)));
    assert_eq!(count(), 1, "of a/x, which it still may publish");
    let there = topic.subscribers();
    assert!(
        there.iter().all(|it| it.node == *victim.name()),
        "{there:?}"
    );
}

#[test]
fn sem_g217_frames_that_are_made_up_neither_panic_nor_grow_and_others_are_served() {
    (0..8).for_each(|seed| hear(seed, 2_000));
}

#[test]
fn sem_g217_a_window_that_a_member_makes_up_is_no_larger_than_others() {
    let replay = Replay::new(1);
    let network = SimulatedNetwork::new(1, LinkConfig::default(), replay.clock());
    let queue = Arc::new(replay.queue(QueueConfig::named("victim")));
    let victim = Node::join(&network.carrier("victim"), 1, queue);
    let own = victim.topic::<u32>("a", Qos::latest(4)).expect("a topic");
    let hostile = network.carrier("hostile");
    let (topic, subscription, to) = (1, 1, PeerName::new("victim"));
    let frames = [
        Frame::Hello {
            form: FORM,
            incarnation: 1,
        },
        Frame::Subscribe {
            subscription,
            pattern: "a".to_owned(),
            type_name: "u32".to_owned(),
            from: LogPlace::New,
        },
        Frame::Accepted {
            topic,
            subscription,
            upto: 0,
            window: u32::MAX,
        },
    ];
    for frame in frames {
        let bytes = frame.to_bytes().expect("a small frame");
        let sent = hostile.send(&to, bytes, FramePriority::Ordered);
        sent.expect("a link");
    }
    replay.run_for(Duration::from_secs(1));
    for n in 0..MAX_WINDOW + 100 {
        own.publish(n).expect("the latest have room");
    }
    let in_flight = victim.topics()[0].subscribers[0].in_flight;
    assert_eq!(in_flight, MAX_WINDOW as usize);
}

#[test]
fn sem_g217_of_samples_that_nobody_asked_for_no_more_than_a_window_is_kept() {
    let replay = Replay::new(2);
    let network = SimulatedNetwork::new(2, LinkConfig::default(), replay.clock());
    let queue = Arc::new(replay.queue(QueueConfig::named("victim")));
    let victim = Node::join(&network.carrier("victim"), 1, queue);
    let port = PortConfig {
        capacity: 1.try_into().ok(),
        overflow: Overflow::Wait,
    };
    let config = SubscribeConfig {
        port,
        window: 4,
        ..SubscribeConfig::default()
    };
    let samples = victim.subscribe::<u32>("a", &config).expect("a pattern");
    let hostile = network.carrier("hostile");
    let (topic, subscription, to) = (1, 1, PeerName::new("victim"));
    let hello = Frame::Hello {
        form: FORM,
        incarnation: 1,
    };
    let open = Frame::Open {
        topic,
        subscription,
        key: "a".to_owned(),
        qos: Qos::reliable(8),
        first: 1,
        log: None,
    };
    let data = (1..=1000).map(|number| Frame::Data {
        topic,
        subscription,
        number,
        retained: false,
        payload: vec![7],
    });
    for frame in [hello, open].into_iter().chain(data) {
        let bytes = frame.to_bytes().expect("a small frame");
        let sent = hostile.send(&to, bytes, FramePriority::Ordered);
        sent.expect("a link");
    }
    replay.run_for(Duration::from_secs(1));
    assert_eq!(samples.port().item_count(), 1);
    // One is in the port, and as many wait for room as it was told.
    assert_eq!(victim.subscriptions()[0].came, 1 + 4);
}

#[test]
#[ignore = "takes a minute: cargo xtask deep"]
fn deep_sem_g217_a_million_frames_that_are_made_up() {
    (0..50).for_each(|seed| hear(1_000 + seed, 20_000));
}
