//! Subscriptions that look on, and are no subscribers.

use crate::durable::{Folder, numbers, publish, topic};
use crate::nodes::{Net, waiting};
use motet_mesh::{Qos, StartFrom, SubscribeConfig, Subscription};

/// One that takes a sample at a time, and wants all that a log has.
fn slow() -> SubscribeConfig {
    SubscribeConfig {
        observes: true,
        from: StartFrom::All,
        ..waiting(1, 2)
    }
}

/// The numbers that have come, and those that were told as missed, in order, once each.
fn all_told(net: &Net, samples: &Subscription<u64>) -> (Vec<u64>, u64) {
    let (mut came, mut missed, mut next) = (Vec::new(), 0, 0);
    while let Some(sample) = samples.port().test() {
        if let Some(gap) = sample.gap {
            assert!(gap.from >= next && gap.to < sample.number, "{gap:?}");
            missed += gap.count();
        }
        assert!(sample.number >= next && !sample.retained);
        next = sample.number + 1;
        came.push(sample.number);
        net.replay.run();
    }
    (came, missed)
}

/// Without logs.
fn classes() -> [Qos; 3] {
    [Qos::latest(4), Qos::reliable(4), Qos::acknowledged(4)]
}

/// These, for a subscription of another node and for one of the topic's own.
fn each() -> impl Iterator<Item = (Qos, bool)> {
    let classes = classes().into_iter();
    classes.flat_map(|qos| [(qos, false), (qos, true)])
}

#[test]
fn sem_g607_who_observes_is_not_counted_and_holds_nobody_back() {
    for (qos, is_here) in each() {
        let (net, is_it) = (Net::new(1), format!("{qos:?} {is_here}"));
        let (publisher, other) = (net.node("a", 1), net.node("b", 1));
        let node = if is_here { &publisher } else { &other };
        let topic = publisher.topic::<u64>("n", qos.retaining(2)).unwrap();
        for value in 1..=3 {
            topic.publish(value).unwrap();
        }
        let samples = node.subscribe::<u64>("n", &slow()).unwrap();
        net.replay.run();
        assert!(topic.subscribers().is_empty(), "{is_it}");
        for value in 4..=100 {
            let told = topic.publish(value).unwrap();
            assert_eq!((told.subscribers, told.dropped), (0, 0), "{is_it}");
            net.replay.run();
        }
        let (came, missed) = all_told(&net, &samples);
        assert_eq!(came.first(), Some(&4), "{is_it}");
        assert_eq!(came.last(), Some(&100), "{is_it}");
        assert_eq!(came.len() as u64 + missed, 97, "{is_it}");
        assert!(missed > 0, "{is_it}");
        let peers = publisher.peers();
        assert!(peers.iter().all(|peer| peer.subscriptions.is_empty()));
        // Nor does the topic wait for it.
        for value in 101..=120 {
            topic.publish(value).unwrap();
        }
        net.replay.run();
        assert!(topic.losses().test().is_none(), "{is_it}");
        drop(topic);
        net.replay.run();
        assert!(publisher.topics().is_empty(), "{is_it}");
    }
}

#[test]
fn sem_g607_subscribers_get_all_beside_one_that_observes_and_takes_nothing() {
    for (qos, is_here) in each() {
        let (net, is_it) = (Net::new(2), format!("{qos:?} {is_here}"));
        let (publisher, other) = (net.node("a", 1), net.node("b", 1));
        let node = if is_here { &publisher } else { &other };
        let topic = publisher.topic::<u64>("n", qos).unwrap();
        let observer = node.subscribe::<u64>("*", &slow()).unwrap();
        let samples = node.subscribe::<u64>("n", &waiting(1, 2)).unwrap();
        net.replay.run();
        assert_eq!(topic.subscribers().len(), 1, "{is_it}");
        for value in 1..=100 {
            let told = topic.publish(value).unwrap();
            assert_eq!((told.subscribers, told.dropped), (1, 0), "{is_it}");
            net.replay.run();
            assert_eq!(numbers(&samples), [value], "{is_it}");
            net.replay.run();
        }
        let all = topic.subscribers();
        assert_eq!((all[0].waiting, all[0].in_flight), (0, 0), "{is_it}");
        drop(observer);
        net.replay.run();
        assert!(topic.losses().test().is_none(), "{is_it}");
    }
}

#[test]
fn sem_g607_what_an_observer_misses_over_a_broken_link_is_told_to_it_alone() {
    for qos in classes() {
        let net = Net::new(3);
        let (publisher, other) = (net.node("a", 1), net.node("b", 1));
        let topic = publisher.topic::<u64>("n", qos).unwrap();
        let config = SubscribeConfig {
            observes: true,
            ..SubscribeConfig::default()
        };
        let samples = other.subscribe::<u64>("n", &config).unwrap();
        net.replay.run();
        for value in 1..=3 {
            topic.publish(value).unwrap();
        }
        net.replay.run();
        net.network.cut("a", "b");
        net.replay.run();
        for value in 4..=6 {
            topic.publish(value).unwrap();
        }
        net.replay.run();
        net.network.mend("a", "b");
        net.replay.run();
        topic.publish(7).unwrap();
        net.replay.run();
        assert_eq!(all_told(&net, &samples), (vec![1, 2, 3, 7], 3), "{qos:?}");
        assert!(topic.losses().test().is_none(), "{qos:?}");
    }
}

#[test]
fn sem_g607_who_observes_a_durable_topic_is_behind_and_the_topic_does_not_wait_for_it() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(4), Folder::new());
        let (publisher, other) = (net.node("a", 1), net.node("b", 1));
        let node = if is_here { &publisher } else { &other };
        let topic = topic(&publisher, &folder);
        publish(&topic, 1..=3);
        let samples = node.subscribe::<u64>("n", &slow()).unwrap();
        net.replay.run();
        assert!(topic.subscribers().is_empty());
        for value in 4..=40 {
            assert_eq!(topic.publish(value).unwrap().subscribers, 0);
            net.replay.run();
        }
        let (came, missed) = all_told(&net, &samples);
        assert_eq!((came, missed), ((4..=40).collect::<Vec<_>>(), 0));
        publish(&topic, 41..=60);
        net.replay.run();
        assert!(topic.losses().test().is_none());
        drop(topic);
        net.replay.run();
        assert!(publisher.topics().is_empty());
    }
}

#[test]
fn sem_g607_what_cannot_be_written_for_one_that_observes_comes_to_subscribers() {
    let (net, many) = (Net::new(5), 17 << 20);
    let (publisher, other) = (net.node("a", 1), net.node("b", 1));
    let topic = publisher.topic::<Vec<u8>>("n", Qos::reliable(4)).unwrap();
    let here = publisher.subscribe::<Vec<u8>>("n", &waiting(8, 8)).unwrap();
    let observer = other.subscribe::<Vec<u8>>("n", &slow()).unwrap();
    net.replay.run();
    for length in [1, many, 2] {
        let told = topic.publish(vec![7; length]).unwrap();
        assert_eq!(told.subscribers, 1);
        net.replay.run();
        let sample = here.port().test().expect("it comes");
        assert_eq!(sample.value.len(), length);
    }
    let mut seen = Vec::new();
    while let Some(sample) = observer.port().test() {
        let missed = sample.gap.map_or(0, |gap| gap.count());
        seen.push((sample.number, missed));
        net.replay.run();
    }
    assert_eq!(seen, [(1, 0), (3, 1)]);
    // Nor is it refused where nobody gets it.
    drop(here);
    net.replay.run();
    assert_eq!(topic.publish(vec![7; many]).unwrap().subscribers, 0);
    // A subscriber in its place is to get it.
    let there = other.subscribe::<Vec<u8>>("n", &waiting(8, 8)).unwrap();
    net.replay.run();
    assert!(topic.publish(vec![7; many]).is_err());
    drop((observer, there));
}
