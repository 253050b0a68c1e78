//! What each delivery class promises.

use crate::nodes::{Net, waiting};
use motet_dispatch::{Dispatcher, Enqueue, Inline, QueueConfig, Task};
use motet_mesh::{Ack, Gap, MeshError, Node, PublishRefusal, Qos, Sample, SubscribeConfig};
use motet_ports::{JoinedReceive, Overflow, Port, PortConfig, Receive};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};
use std::sync::Arc;
use std::time::Duration;

fn values(port: &Port<Sample<u32>>) -> Vec<u32> {
    std::iter::from_fn(|| port.test())
        .map(|sample| *sample.value)
        .collect()
}

#[test]
fn sem_g210_a_slow_subscriber_of_the_latest_sees_the_newest_and_is_told_the_gap() {
    let net = Net::new(1);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let samples = subscriber.subscribe::<u32>("n", &waiting(1, 1)).unwrap();
    let topic = publisher.topic::<u32>("n", Qos::latest(2)).unwrap();
    net.replay.run();
    for n in 1..=10 {
        topic.publish(n).unwrap();
    }
    net.replay.run();
    let dropped: u64 = topic.subscribers().iter().map(|s| s.dropped).sum();
    let mut seen = Vec::new();
    let mut missed = 0;
    loop {
        while let Some(sample) = samples.port().test() {
            missed += sample.gap.map_or(0, |gap| gap.count());
            seen.push(*sample.value);
        }
        if net.replay.run() == 0 {
            break;
        }
    }
    assert_eq!(seen.last(), Some(&10));
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.len() as u64 + dropped, 10);
    assert_eq!((missed, samples.missed()), (dropped, dropped));
}

#[test]
fn sem_g211_a_reliable_topic_refuses_what_has_no_room_and_loses_nothing() {
    let net = Net::new(2);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let samples = subscriber.subscribe::<u32>("n", &waiting(1, 1)).unwrap();
    let topic = publisher.topic::<u32>("n", Qos::reliable(2)).unwrap();
    net.replay.run();
    let mut sent = Vec::new();
    for n in 1..=20 {
        match topic.publish(n) {
            Ok(_) => sent.push(n),
            Err(error) => {
                assert_eq!(error.value, n);
                let subscriber = subscriber.name().clone();
                assert_eq!(error.reason, PublishRefusal::Full { subscriber });
            }
        }
    }
    assert!(sent.len() < 20, "two wait and one is under way");
    let mut seen = Vec::new();
    loop {
        net.replay.run();
        let more = values(samples.port());
        if more.is_empty() {
            break;
        }
        seen.extend(more);
    }
    assert_eq!(seen, sent);
    assert_eq!(samples.missed(), 0);
}

#[test]
fn sem_g211_a_publisher_waits_for_the_slowest_subscriber() {
    let net = Net::new(3);
    let (publisher, slow) = (net.node("a", 1), net.node("slow", 1));
    let samples = slow.subscribe::<u32>("n", &waiting(1, 1)).unwrap();
    let topic = publisher.topic::<u32>("n", Qos::reliable(1)).unwrap();
    net.replay.run();
    let (log, queue) = (Log::new(), net.queue("publisher"));
    let told = log.clone();
    motet_dispatch::spawn(&queue, async move {
        for n in 1..=10 {
            topic.publish_wait(n).await.unwrap();
            told.push(n);
        }
    })
    .unwrap();
    net.replay.run();
    assert!(log.take().len() < 10, "the publisher waits");
    let mut seen = Vec::new();
    loop {
        let more = values(samples.port());
        seen.extend(more);
        if net.replay.run() == 0 {
            break;
        }
    }
    seen.extend(values(samples.port()));
    assert_eq!(seen, (1..=10).collect::<Vec<_>>());
}

#[test]
fn sem_g212_acknowledged_samples_come_once_over_a_broken_link() {
    for seed in 0..20 {
        let net = Net::new(seed);
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let samples = subscriber
            .subscribe::<u32>("n", &SubscribeConfig::default())
            .unwrap();
        let topic = publisher.topic::<u32>("n", Qos::acknowledged(100)).unwrap();
        net.replay.run();
        for n in 1..=60 {
            topic.publish(n).unwrap();
            net.replay.run_for(Duration::from_micros(20));
            match n {
                20 => net.network.cut("a", "b"),
                40 => net.network.mend("a", "b"),
                _ => {}
            }
        }
        net.replay.run();
        assert_eq!(
            values(samples.port()),
            (1..=60).collect::<Vec<_>>(),
            "seed {seed}"
        );
        assert_eq!(samples.missed(), 0);
        assert!(topic.losses().test().is_none());
    }
}

#[test]
fn sem_g212_an_acknowledged_subscriber_that_does_not_come_back_is_given_up_and_told() {
    let net = Net::new(5);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let _samples = subscriber
        .subscribe::<u32>("n", &SubscribeConfig::default())
        .unwrap();
    let qos = Qos::acknowledged(3).keeping(Duration::from_secs(5));
    let topic = publisher.topic::<u32>("n", qos).unwrap();
    net.replay.run();
    net.network.kill("b");
    let refused = (1..=10).filter(|n| topic.publish(*n).is_err()).count();
    assert_eq!(refused, 7, "three are kept");
    net.replay.run_for(Duration::from_secs(6));
    let lost = topic.losses().test().expect("the loss is told");
    assert_eq!(
        (lost.subscriber.as_str(), lost.gap),
        ("b", Gap { from: 1, to: 3 })
    );
    assert_eq!(topic.publish(11).unwrap().subscribers, 0);
}

#[test]
fn sem_g213_a_late_subscriber_gets_exactly_the_last_samples_first() {
    let net = Net::new(6);
    let (publisher, late) = (net.node("a", 1), net.node("b", 1));
    let topic = publisher
        .topic::<u32>("n", Qos::latest(8).retaining(3))
        .unwrap();
    for n in 1..=10 {
        topic.publish(n).unwrap();
    }
    let samples = late
        .subscribe::<u32>("*", &SubscribeConfig::default())
        .unwrap();
    let here = publisher
        .subscribe::<u32>("n", &SubscribeConfig::default())
        .unwrap();
    net.replay.run();
    topic.publish(11).unwrap();
    net.replay.run();
    for port in [samples.port(), here.port()] {
        let got: Vec<_> = std::iter::from_fn(|| port.test())
            .map(|s| (*s.value, s.retained))
            .collect();
        assert_eq!(got, [(8, true), (9, true), (10, true), (11, false)]);
    }
    assert_eq!((samples.missed(), here.missed()), (0, 0));
}

#[test]
fn sem_g214_samples_of_several_nodes_are_joined_all_or_none() {
    let net = Net::new(7);
    let (left, right, middle) = (
        net.node("left", 1),
        net.node("right", 1),
        net.node("middle", 1),
    );
    let lefts = middle
        .subscribe::<u32>("left", &SubscribeConfig::default())
        .unwrap();
    let rights = middle
        .subscribe::<u32>("right", &SubscribeConfig::default())
        .unwrap();
    let sums = Log::new();
    let told = sums.clone();
    let add = move |(l, r): (Sample<u32>, Sample<u32>)| told.push((l.number, *l.value + *r.value));
    let queue = net.replay.queue(motet_dispatch::QueueConfig::named("join"));
    JoinedReceive::persistent((lefts.port(), rights.port()), add)
        .activate(&queue)
        .unwrap();
    let one = left.topic::<u32>("left", Qos::reliable(8)).unwrap();
    let two = right.topic::<u32>("right", Qos::reliable(8)).unwrap();
    net.replay.run();
    for n in 1..=3 {
        one.publish(n).unwrap();
    }
    net.replay.run();
    assert!(sums.take().is_empty(), "nothing of the right node has come");
    assert_eq!(lefts.port().item_count(), 3);
    for n in 1..=2 {
        two.publish(10 * n).unwrap();
    }
    net.replay.run();
    assert_eq!(sums.take(), [(1, 11), (2, 22)]);
    assert_eq!(lefts.port().item_count(), 1);
}

#[test]
fn another_type_is_an_error_here_and_told_there() {
    let net = Net::new(8);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let topic = publisher.topic::<u32>("n", Qos::latest(1)).unwrap();
    let error = publisher
        .subscribe::<String>("*", &SubscribeConfig::default())
        .unwrap_err();
    assert!(matches!(error, MeshError::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("u32"), "{error}");
    let changes = subscriber.peer_changes();
    let wrong = subscriber
        .subscribe::<String>("n", &SubscribeConfig::default())
        .unwrap();
    net.replay.run();
    topic.publish(1).unwrap();
    net.replay.run();
    assert_eq!(wrong.port().item_count(), 0);
    let told: Vec<_> = std::iter::from_fn(|| changes.test())
        .map(|c| format!("{c:?}"))
        .collect();
    assert!(
        told.iter().any(|change| change.contains("Mismatch")),
        "{told:?}"
    );
}

#[test]
fn a_topic_whose_last_handle_is_gone_sends_what_waits_and_ends() {
    let net = Net::new(9);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let samples = subscriber.subscribe::<u32>("n", &waiting(1, 1)).unwrap();
    let topic = publisher.topic::<u32>("n", Qos::reliable(8)).unwrap();
    net.replay.run();
    for n in 1..=5 {
        topic.publish(n).unwrap();
    }
    drop(topic);
    let mut seen = Vec::new();
    while {
        net.replay.run();
        samples.port().item_count() > 0
    } {
        seen.extend(values(samples.port()));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert_eq!(samples.publisher_count(), 0);
}

#[test]
fn a_node_that_has_left_refuses() {
    let net = Net::new(10);
    let node: Node = net.node("a", 1);
    let topic = node.topic::<u32>("n", Qos::latest(1)).unwrap();
    node.leave();
    assert_eq!(
        node.topic::<u32>("m", Qos::latest(1)).unwrap_err(),
        MeshError::Left
    );
    assert_eq!(topic.publish(1).unwrap_err().reason, PublishRefusal::Left);
}

#[test]
fn sem_g222_with_handled_a_sample_is_accepted_when_its_handler_has_ended() {
    let net = Net::new(9);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let config = SubscribeConfig {
        window: 2,
        ack: Ack::Handled,
        ..SubscribeConfig::default()
    };
    let samples = subscriber.subscribe::<u32>("n", &config).unwrap();
    let topic = publisher.topic::<u32>("n", Qos::acknowledged(8)).unwrap();
    net.replay.run();
    for n in 1..=3 {
        topic.publish(n).unwrap();
    }
    net.replay.run();
    let counts = || {
        let of = &topic.subscribers()[0];
        (of.waiting, of.in_flight)
    };
    let (first, second) = (
        samples.port().test().unwrap(),
        samples.port().test().unwrap(),
    );
    assert_eq!(counts(), (1, 2), "both are being handled");
    let copy = first.clone();
    drop(second);
    drop(first);
    net.replay.run();
    assert_eq!(
        counts(),
        (1, 2),
        "the first still is, and acceptance is in order"
    );
    drop(copy);
    net.replay.run();
    assert_eq!(*samples.port().test().unwrap().value, 3);
    net.replay.run();
    assert_eq!(counts(), (0, 0));
}

/// A predicate of some port that publishes, against the rules, when it sees the item 1.
fn publishes_in_a_predicate(net: &Net, topic: &motet_mesh::Topic<u32>, value: u32) {
    let (other, publisher) = (Port::new(), topic.clone());
    Receive::persistent(&other, drop::<u32>)
        .when(move |_| publisher.publish(value).is_ok())
        .activate(&net.replay.queue(QueueConfig::named("other")))
        .unwrap();
    other.post(1).unwrap();
    assert_eq!(
        other.item_count(),
        1,
        "a predicate that panics wants nothing"
    );
}

#[test]
fn sem_g228_a_publication_that_panics_holds_no_later_one_up() {
    for subscribers in [1, 2] {
        let net = Net::new(subscribers);
        let node = net.node("a", 1);
        let config = SubscribeConfig::default();
        let all: Vec<_> = (0..subscribers)
            .map(|_| node.subscribe::<u32>("n", &config).unwrap())
            .collect();
        let topic = node.topic::<u32>("n", Qos::reliable(8)).unwrap();
        topic.publish(1).unwrap();
        publishes_in_a_predicate(&net, &topic, 2);
        for n in 3..=20 {
            topic.publish(n).unwrap();
            net.replay.run();
        }
        for samples in &all {
            let mut missed = Vec::new();
            let mut seen = Vec::new();
            while let Some(sample) = samples.port().test() {
                missed.extend(sample.gap);
                seen.push(*sample.value);
            }
            let told: u64 = missed.iter().map(Gap::count).sum();
            assert!(
                seen.iter()
                    .filter(|n| **n != 2)
                    .copied()
                    .eq([1].into_iter().chain(3..=20))
            );
            assert_eq!(told, samples.missed());
            assert_eq!(
                seen.len() as u64 + told,
                20,
                "{subscribers}: {seen:?} {missed:?}"
            );
        }
    }
}

#[test]
fn sem_g219_what_a_port_rejects_is_told_once_and_what_is_seen_is_not_told() {
    for seed in 0..40 {
        let net = Net::new(seed);
        let (publisher, subscriber) = (net.node("a", 1), net.together("b"));
        let port = PortConfig {
            capacity: 1.try_into().ok(),
            overflow: Overflow::Reject,
        };
        let config = SubscribeConfig {
            port,
            ..SubscribeConfig::default()
        };
        let samples = subscriber.subscribe::<u64>("n", &config).unwrap();
        let topic = publisher.topic::<u64>("n", Qos::reliable(64)).unwrap();
        net.replay.run();
        let (log, reads) = (Log::new(), samples.port().clone());
        let seen = log.clone();
        let reader = async move {
            while let Ok(sample) = reads.recv().or_closed().await {
                seen.push((sample.number, sample.gap));
            }
        };
        motet_dispatch::spawn(&net.queue("reader"), reader).unwrap();
        for n in 0..40 {
            topic.publish(n).unwrap();
        }
        net.replay.run_for(Duration::from_secs(1));
        // Nothing waits any more: the last one is seen, and tells the rest.
        topic.publish(40).unwrap();
        net.replay.run_for(Duration::from_secs(1));
        let mut all = Vec::new();
        for (number, gap) in log.take() {
            all.extend(gap.into_iter().flat_map(|gap: Gap| gap.from..=gap.to));
            all.push(number);
        }
        assert_eq!(all, (1..=41).collect::<Vec<u64>>(), "seed {seed}");
        drop((publisher, samples));
    }
}

#[test]
fn a_value_that_no_frame_holds_is_refused_and_later_ones_come() {
    let net = Net::new(3);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let config = SubscribeConfig::default();
    let samples = subscriber.subscribe::<Vec<u8>>("n", &config).unwrap();
    let topic = publisher.topic::<Vec<u8>>("n", Qos::reliable(4)).unwrap();
    net.replay.run();
    let refused = topic.publish(vec![1; motet_mesh::MAX_FRAME]).unwrap_err();
    let is_told = |why: &String| why.contains("too many");
    assert!(matches!(&refused.reason, PublishRefusal::NotWritable(why) if is_told(why)));
    topic.publish(vec![2]).unwrap();
    net.replay.run();
    assert_eq!(*samples.port().test().unwrap().value, [2]);
}

#[test]
fn sem_g494_what_was_accepted_is_not_lost_with_a_subscription_that_ends() {
    for (seed, leaves) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let net = Net::new(seed);
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let config = SubscribeConfig {
            ack: Ack::Handled,
            ..SubscribeConfig::default()
        };
        let samples = subscriber.subscribe::<u32>("n", &config).unwrap();
        let topic = publisher.topic::<u32>("n", Qos::reliable(64)).unwrap();
        net.replay.run();
        for n in 1..=3 {
            topic.publish(n).unwrap();
        }
        net.replay.run();
        // Handled, and gone before anybody tells of it by himself.
        while samples.port().test().is_some() {}
        match leaves {
            true => subscriber.leave(),
            false => drop(samples),
        }
        net.replay.run();
        let lost = topic.losses().test();
        assert_eq!(lost, None, "seed {seed}, leaves: {leaves}");
    }
}

#[test]
fn sem_g494_what_a_port_took_before_it_was_closed_is_not_lost() {
    let net = Net::new(6);
    let (a, b) = (net.together("a"), net.together("b"));
    let topic = a.topic::<u32>("n", Qos::reliable(8).retaining(3)).unwrap();
    for n in 1..=3 {
        topic.publish(n).unwrap();
    }
    // They come together.
    let config = SubscribeConfig::default();
    let samples = b.subscribe::<u32>("n", &config).unwrap();
    let heard = Log::new();
    let (log, port) = (heard.clone(), samples.port().clone());
    let handler = move |sample: Sample<u32>| {
        log.push(*sample.value);
        if *sample.value == 2 {
            port.close();
        }
    };
    Receive::persistent(samples.port(), handler)
        .activate(&Inline::new("here"))
        .unwrap();
    net.replay.run();
    assert_eq!(heard.take(), [1, 2]);
    let lost = topic.losses().test().expect("the third one");
    assert_eq!(lost.gap, Gap { from: 3, to: 3 });
}

#[test]
fn a_node_whose_queue_is_full_goes_on() {
    let net = Net::new(7);
    let narrow = net.replay.queue(QueueConfig::bounded("b", 1));
    let (a, b) = (net.node("a", 1), net.network.carrier("b"));
    let b = Node::join(&b, 1, Arc::new(narrow.clone()));
    let config = SubscribeConfig::default();
    let samples = b.subscribe::<u32>("n", &config).unwrap();
    let topic = a.topic::<u32>("n", Qos::acknowledged(2)).unwrap();
    let log = Log::new();
    let heard = log.clone();
    let fills = move |sample: Sample<u32>| {
        heard.push(*sample.value);
        // The queue has room for one task.
        let _ = narrow.enqueue(Task::new(|| ()));
    };
    Receive::persistent(samples.port(), fills)
        .activate(&Inline::new("here"))
        .unwrap();
    net.replay.run();
    for n in 0..6 {
        topic.publish(n).unwrap();
        net.replay.run();
    }
    assert_eq!(log.take(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn sem_g222_a_node_whose_tasks_run_at_once_tells_what_is_handled() {
    within(patience(), || {
        let net = Net::new(8);
        let a = net.node("a", 1);
        let b = Node::join(&net.network.carrier("b"), 1, Arc::new(Inline::new("b")));
        let config = SubscribeConfig {
            ack: Ack::Handled,
            ..SubscribeConfig::default()
        };
        let samples = b.subscribe::<u32>("n", &config).unwrap();
        // A topic that waits for no timer: outside of the replay that would be a real one.
        let topic = a.topic::<u32>("n", Qos::acknowledged(8)).unwrap();
        net.replay.run();
        topic.publish(1).unwrap();
        net.replay.run();
        let sample = samples.port().test().unwrap();
        assert_eq!(topic.subscribers()[0].in_flight, 1);
        // Outside of the node's tasks.
        drop(sample);
        net.replay.run();
        assert_eq!(topic.subscribers()[0].in_flight, 0);
    });
}

#[test]
fn a_topic_that_ends_while_somebody_subscribes_is_none_of_its_publishers() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = Arc::new(dispatcher.queue(QueueConfig::named("a")));
        let node = Node::alone("a", queue);
        for round in 0..10_000 {
            let topic = node.topic::<u32>("n", Qos::reliable(1)).unwrap();
            let begun = Arc::new(AtomicBool::new(false));
            let begins = Arc::clone(&begun);
            let ends = thread::spawn(move || {
                while !begins.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                (0..round % 100).for_each(|_| std::hint::spin_loop());
                drop(topic);
            });
            begun.store(true, Ordering::Release);
            let config = SubscribeConfig::default();
            let samples = node.subscribe::<u32>("n", &config).unwrap();
            ends.join().unwrap();
            assert_eq!(samples.publisher_count(), 0, "round {round}");
        }
    });
}
