//! Links that break, nodes that come back, and bytes that are no frames.

use crate::nodes::{Net, WrappedCarrier, waiting};
use motet_dispatch::{QueueConfig, Replay};
use motet_mesh::{
    Carrier, CarrierEvent, Gap, LinkConfig, Node, PeerChange, PeerName, Qos, Request,
    SimulatedNetwork, SubscribeConfig,
};
use motet_ports::Port;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn sem_g211_a_broken_link_of_a_reliable_topic_is_a_gap_that_both_are_told() {
    let net = Net::new(1);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let samples = subscriber
        .subscribe::<u32>("n", &SubscribeConfig::default())
        .unwrap();
    let topic = publisher.topic::<u32>("n", Qos::reliable(64)).unwrap();
    net.replay.run();
    topic.publish(1).unwrap();
    net.replay.run();
    net.network.cut("a", "b");
    topic.publish(2).unwrap();
    topic.publish(3).unwrap();
    net.replay.run();
    let lost = topic.losses().test().expect("the loss is told");
    assert_eq!(
        (lost.subscriber.as_str(), lost.gap),
        ("b", Gap { from: 2, to: 3 })
    );
    net.network.mend("a", "b");
    net.replay.run();
    topic.publish(4).unwrap();
    net.replay.run();
    let got: Vec<_> = std::iter::from_fn(|| samples.port().test())
        .map(|s| (*s.value, s.gap))
        .collect();
    assert_eq!(got, [(1, None), (4, Some(Gap { from: 2, to: 3 }))]);
    assert_eq!(samples.missed(), 2);
}

#[test]
fn sem_g211_what_is_published_while_the_link_is_broken_the_publisher_is_told_when_it_is_back() {
    for retain in [0, 2] {
        let net = Net::new(1);
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let config = SubscribeConfig::default();
        let samples = subscriber.subscribe::<u32>("n", &config).unwrap();
        let qos = Qos::reliable(64).retaining(retain);
        let topic = publisher.topic::<u32>("n", qos).unwrap();
        net.replay.run();
        let told = || -> Vec<(u64, u64)> {
            let told = std::iter::from_fn(|| topic.losses().test());
            let gap = |lost: motet_mesh::Lost| (lost.gap.from, lost.gap.to);
            told.map(gap).collect()
        };
        let (mut last, mut missed) = (0, Vec::new());
        for round in 0..2 {
            topic.publish(last + 1).unwrap();
            net.replay.run();
            net.network.cut("a", "b");
            // The first of these is under way when the link breaks.
            topic.publish(last + 2).unwrap();
            net.replay.run();
            let begin = u64::from(last) + 2;
            assert_eq!(told(), [(begin, begin)], "round {round}");
            for n in 3..=9 {
                assert_eq!(topic.publish(last + n).unwrap().subscribers, 0);
            }
            net.replay.run();
            assert_eq!(told(), [], "it may not come back");
            net.network.mend("a", "b");
            net.replay.run();
            last += 9;
            let end = u64::from(last) - u64::from(retain);
            assert_eq!(told(), [(begin + 1, end)], "round {round}");
            missed.extend(begin..=end);
        }
        topic.publish(last + 1).unwrap();
        net.replay.run();
        let came = std::iter::from_fn(|| samples.port().test());
        let gaps = came.filter_map(|sample| sample.gap);
        let gaps: Vec<u64> = gaps.flat_map(|gap| gap.from..=gap.to).collect();
        assert_eq!(gaps, missed, "both are told the same");
        assert_eq!(told(), []);
    }
}

#[test]
fn sem_g211_one_that_was_started_again_has_missed_nothing_of_before() {
    let net = Net::new(2);
    let publisher = net.node("a", 1);
    let topic = publisher.topic::<u32>("n", Qos::reliable(64)).unwrap();
    for life in 1..=2 {
        let subscriber = net.node("b", life);
        let config = SubscribeConfig::default();
        let samples = subscriber.subscribe::<u32>("n", &config).unwrap();
        net.replay.run();
        topic.publish(1).unwrap();
        net.replay.run();
        assert_eq!(*samples.port().test().unwrap().value, 1);
        net.network.kill("b");
        net.replay.run();
        topic.publish(2).unwrap();
        assert_eq!(topic.losses().test(), None, "nobody was there");
    }
}

#[test]
fn sem_g218_who_comes_and_goes_is_told() {
    let net = Net::new(2);
    let here = net.node("here", 1);
    let changes = here.peer_changes();
    let there = net.node("there", 1);
    net.replay.run();
    net.network.kill("there");
    net.replay.run();
    let again = net.node("there", 2);
    net.replay.run();
    let name = PeerName::new("there");
    let told: Vec<_> = std::iter::from_fn(|| changes.test()).collect();
    let down = PeerChange::Down(name.clone(), "the node was killed".to_owned());
    let up = PeerChange::Up(name.clone());
    assert_eq!(told, [up.clone(), down, PeerChange::Restarted(name), up]);
    assert!(here.peers()[0].up);
    drop((there, again));
}

#[test]
fn one_reader_that_stops_does_not_hold_back_the_others() {
    let net = Net::new(3);
    let (publisher, stops, reads) = (net.node("a", 1), net.node("stops", 1), net.node("reads", 1));
    let stopped = stops.subscribe::<u32>("n", &waiting(1, 4)).unwrap();
    let read = reads.subscribe::<u32>("n", &waiting(16, 16)).unwrap();
    let topic = publisher.topic::<u32>("n", Qos::latest(16)).unwrap();
    net.replay.run();
    let mut seen = 0;
    for n in 0..1000 {
        topic.publish(n).unwrap();
        net.replay.run_for(Duration::from_micros(300));
        seen += std::iter::from_fn(|| read.port().test()).count();
    }
    net.replay.run();
    seen += std::iter::from_fn(|| read.port().test()).count();
    assert_eq!(seen, 1000);
    let slow = topic
        .subscribers()
        .into_iter()
        .find(|s| s.node.as_str() == "stops")
        .unwrap();
    assert!(slow.waiting <= 16 && slow.in_flight <= 4, "{slow:?}");
    assert_eq!(
        slow.dropped
            + slow.waiting as u64
            + slow.in_flight as u64
            + stopped.port().item_count() as u64,
        1000
    );
}

/// A carrier whose caller is suspended as he sends, once this is said: the link breaks, and works
/// again, before he goes on.
fn suspending(net: &Arc<Net>, name: &str) -> (Arc<dyn Carrier>, Arc<AtomicBool>) {
    let (own, once) = (Arc::clone(net), Arc::new(AtomicBool::new(false)));
    let is_next = Arc::clone(&once);
    let suspends = move || {
        if is_next.swap(false, Ordering::Relaxed) {
            let second = Duration::from_secs(1);
            own.network.cut("a", "b");
            own.replay.run_for(second);
            own.network.mend("a", "b");
            own.replay.run_for(second);
        }
    };
    let carrier: Arc<dyn Carrier> = Arc::new(WrappedCarrier {
        before: Box::new(suspends),
        ..WrappedCarrier::new(net.network.carrier(name))
    });
    (carrier, once)
}

/// Publishes 1, 2 and 3. When 3 is sent, the link by which 2 is on its way breaks, and another one
/// works. Then 4 is published. What comes, and what the publisher has been told.
fn with_a_suspended_sender(qos: Qos) -> (Vec<(u32, Option<Gap>)>, Vec<Gap>) {
    let net = Arc::new(Net::new(3));
    let (carrier, once) = suspending(&net, "a");
    let publisher = Node::join(&carrier, 1, net.queue("a"));
    let subscriber = net.node("b", 1);
    let samples = subscriber
        .subscribe::<u32>("n", &SubscribeConfig::default())
        .unwrap();
    let topic = publisher.topic::<u32>("n", qos).unwrap();
    net.replay.run();
    topic.publish(1).unwrap();
    net.replay.run();
    topic.publish(2).unwrap();
    once.store(true, Ordering::Relaxed);
    topic.publish(3).unwrap();
    net.replay.run();
    topic.publish(4).unwrap();
    net.replay.run();
    let came = std::iter::from_fn(|| samples.port().test());
    let came = came.map(|sample| (*sample.value, sample.gap)).collect();
    let told = std::iter::from_fn(|| topic.losses().test());
    (came, told.map(|lost| lost.gap).collect())
}

#[test]
fn sem_g227_what_an_earlier_link_was_to_take_does_not_go_by_a_later_one() {
    let (came, told) = with_a_suspended_sender(Qos::acknowledged(64));
    assert_eq!(came, [(1, None), (2, None), (3, None), (4, None)]);
    assert_eq!(told, []);
    let (came, told) = with_a_suspended_sender(Qos::reliable(64));
    let gap = Gap { from: 2, to: 3 };
    assert_eq!(came, [(1, None), (4, Some(gap))]);
    assert_eq!(told, [gap]);
}

#[test]
fn sem_g227_what_is_said_by_an_earlier_link_does_not_go_by_a_later_one() {
    let net = Arc::new(Net::new(5));
    let (carrier, once) = suspending(&net, "a");
    let node = Node::join(&carrier, 1, net.queue("a"));
    let hears = net.network.carrier("b");
    net.replay.run();
    once.store(true, Ordering::Relaxed);
    let port = Port::<Request<u32, u32>>::new();
    let _server = node.serve("k", &port).unwrap();
    net.replay.run();
    let mut frames = Vec::new();
    for event in std::iter::from_fn(|| hears.events().test()) {
        match event {
            CarrierEvent::Up(..) => frames.push(0),
            CarrierEvent::Frame(..) => *frames.last_mut().unwrap() += 1,
            _ => {}
        }
    }
    assert_eq!(
        frames,
        [1, 2],
        "each link: who a is; the later one: its server"
    );
}

#[test]
fn sem_g212_a_subscription_that_ends_while_its_link_is_broken_is_given_up() {
    let net = Net::new(4);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let config = SubscribeConfig::default();
    let ends = subscriber.subscribe::<u32>("n", &config).unwrap();
    let stays = subscriber.subscribe::<u32>("*", &config).unwrap();
    let qos = Qos::acknowledged(2).keeping(Duration::from_secs(1));
    let topic = publisher.topic::<u32>("n", qos).unwrap();
    net.replay.run();
    net.network.cut("a", "b");
    net.replay.run_for(Duration::from_millis(10));
    topic.publish(1).unwrap();
    drop(ends);
    net.network.mend("a", "b");
    net.replay.run();
    let lost = topic.losses().test().expect("the loss is told");
    assert_eq!(lost.gap, Gap { from: 1, to: 1 });
    for n in 2..=9 {
        topic.publish(n).unwrap();
        net.replay.run();
    }
    let got = std::iter::from_fn(|| stays.port().test());
    let got: Vec<u32> = got.map(|sample| *sample.value).collect();
    assert_eq!(got, (1..=9).collect::<Vec<_>>());
    assert_eq!(topic.subscribers().len(), 1);
}

#[test]
fn a_topic_that_ends_while_its_link_is_broken_publishes_no_more() {
    let net = Net::new(6);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let config = SubscribeConfig::default();
    let samples = subscriber.subscribe::<u32>("*", &config).unwrap();
    let stays = publisher.topic::<u32>("stays", Qos::latest(2)).unwrap();
    let ends = publisher.topic::<u32>("ends", Qos::latest(2)).unwrap();
    net.replay.run();
    assert_eq!(samples.publisher_count(), 2);
    net.network.cut("a", "b");
    net.replay.run_for(Duration::from_millis(10));
    drop(ends);
    net.network.mend("a", "b");
    net.replay.run();
    assert_eq!(samples.publisher_count(), 1);
    stays.publish(1).unwrap();
    net.replay.run();
    assert_eq!(*samples.port().test().unwrap().value, 1);
}

#[test]
fn sem_g564_a_node_that_is_in_the_mesh_no_longer_is_told_so_also_without_peers() {
    let net = Net::new(9);
    let carrier = net.network.carrier("a");
    let node = Node::join(&carrier, 1, net.queue("a"));
    let changes = node.peer_changes();
    let (own, why) = (PeerName::new("a"), "its pass has ended".to_owned());
    let end = CarrierEvent::Down(own.clone(), why.clone());
    carrier.events().post(end).unwrap();
    net.replay.run();
    let told: Vec<_> = std::iter::from_fn(|| changes.test()).collect();
    assert_eq!(told, [PeerChange::Down(own, why)]);
    assert!(node.peers().is_empty());
}

#[test]
fn a_link_whose_break_is_never_detected_is_neither_told_nor_mended() {
    let replay = Replay::new(5);
    let config = LinkConfig {
        detection: Duration::MAX,
        ..LinkConfig::default()
    };
    let network = SimulatedNetwork::new(5, config, replay.clock());
    let node = |name| {
        let queue = Arc::new(replay.queue(QueueConfig::named(name)));
        Node::join(&network.carrier(name), 1, queue)
    };
    let (here, _there) = (node("here"), node("there"));
    replay.run();
    let changes = here.peer_changes();
    network.cut("here", "there");
    replay.run_for(Duration::from_secs(1000));
    network.mend("here", "there");
    replay.run_for(Duration::from_secs(1000));
    assert_eq!(changes.test(), None);
}
