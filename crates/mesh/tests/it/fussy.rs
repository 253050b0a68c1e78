//! Types of users whose reading panics, which use their topic as they are dropped, or which count
//! how often they are written.

use crate::nodes::{Net, waiting};
use motet_dispatch::QueueConfig;
use motet_mesh::{CallError, Qos, Request, Subscription, Topic};
use motet_ports::{Port, Receive};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{Log, patience, within};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// A number of which the one who reads it does not expect 3.
#[derive(Debug, Serialize)]
struct Fussy(u32);

impl<'de> Deserialize<'de> for Fussy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(from)?;
        assert!(number != 3, "three is not expected");
        Ok(Fussy(number))
    }
}

#[test]
fn sem_g229_a_sample_whose_reading_panics_is_told_and_others_come() {
    let net = Net::new(9);
    let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
    let samples = subscriber.subscribe::<Fussy>("n", &waiting(8, 8)).unwrap();
    let topic = publisher.topic::<Fussy>("n", Qos::reliable(8)).unwrap();
    net.replay.run();
    for number in 1..=5 {
        topic.publish(Fussy(number)).unwrap();
    }
    net.replay.run();
    let seen = std::iter::from_fn(|| samples.port().test());
    let seen: Vec<u32> = seen.map(|sample| sample.value.0).collect();
    assert_eq!(seen, [1, 2, 4, 5]);
    assert_eq!((samples.unreadable(), samples.missed()), (1, 1));
}

#[test]
fn sem_g229_a_call_whose_reading_panics_is_refused_and_others_are_answered() {
    let net = Net::new(10);
    let (asks, serves) = (net.node("asks", 1), net.node("serves", 1));
    let port = Port::<Request<Fussy, u32>>::new();
    let _server = serves.serve("twice", &port).unwrap();
    let twice = |request: Request<Fussy, u32>| {
        let number = request.value.0;
        request.answer(&(2 * number));
    };
    let queue = net.replay.queue(QueueConfig::named("server"));
    Receive::persistent(&port, twice).activate(&queue).unwrap();
    net.replay.run();
    let results = Log::new();
    let log = results.clone();
    motet_dispatch::spawn(&net.queue("caller"), async move {
        for number in [3, 4] {
            let answer: Result<u32, CallError> = asks.call("twice", &Fussy(number)).await;
            log.push(answer);
        }
    })
    .unwrap();
    net.replay.run();
    let results = results.take();
    let refused = results[0].as_ref().unwrap_err().to_string();
    assert!(refused.contains("three is not expected"), "{refused}");
    assert_eq!(results[1], Ok(8));
}

/// A number that looks at the topic to which it was published when it is dropped.
#[derive(Serialize, Deserialize)]
struct LooksAtTopic {
    number: u32,
    #[serde(skip)]
    topic: Option<Topic<LooksAtTopic>>,
}

impl Drop for LooksAtTopic {
    fn drop(&mut self) {
        if let Some(topic) = &self.topic {
            assert_eq!(topic.subscribers().len(), 1);
        }
    }
}

#[test]
fn a_value_may_use_its_topic_as_it_is_dropped() {
    within(patience(), || {
        for qos in [Qos::latest(4), Qos::reliable(4), Qos::acknowledged(4)] {
            let net = Net::new(11);
            let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
            let samples = subscriber
                .subscribe::<LooksAtTopic>("n", &waiting(8, 8))
                .unwrap();
            let topic = publisher.topic::<LooksAtTopic>("n", qos).unwrap();
            net.replay.run();
            for number in 1..=2 {
                let value = LooksAtTopic {
                    number,
                    topic: Some(topic.clone()),
                };
                assert!(topic.publish(value).is_ok());
            }
            net.replay.run();
            let seen = std::iter::from_fn(|| samples.port().test());
            let seen: Vec<u32> = seen.map(|sample| sample.value.number).collect();
            assert_eq!(seen, [1, 2]);
        }
    });
}

/// A number that publishes another one when it is dropped, 100 more.
#[derive(Serialize, Deserialize)]
struct PublishesAsDropped {
    number: u32,
    #[serde(skip)]
    topic: Option<Topic<PublishesAsDropped>>,
}

impl PublishesAsDropped {
    fn plain(number: u32) -> Self {
        let topic = None;
        PublishesAsDropped { number, topic }
    }

    fn to(topic: &Topic<PublishesAsDropped>, number: u32) -> Self {
        let topic = Some(topic.clone());
        PublishesAsDropped { number, topic }
    }
}

impl Drop for PublishesAsDropped {
    fn drop(&mut self) {
        if let Some(topic) = self.topic.take() {
            assert!(topic.subscribers().len() <= 1);
            let number = self.number + 100;
            assert!(topic.publish(PublishesAsDropped::plain(number)).is_ok());
        }
    }
}

fn numbers(samples: &Subscription<PublishesAsDropped>) -> Vec<u32> {
    let seen = std::iter::from_fn(|| samples.port().test());
    seen.map(|sample| sample.value.number).collect()
}

#[test]
fn a_value_that_a_newer_one_pushes_out_may_publish_as_it_is_dropped() {
    within(patience(), || {
        let net = Net::new(12);
        let node = net.node("a", 1);
        let samples = node
            .subscribe::<PublishesAsDropped>("n", &waiting(1, 1))
            .unwrap();
        let topic = node
            .topic::<PublishesAsDropped>("n", Qos::latest(1))
            .unwrap();
        // One is in the port, and one waits for room in it.
        for number in 1..=2 {
            assert!(topic.publish(PublishesAsDropped::plain(number)).is_ok());
        }
        let value = PublishesAsDropped::to(&topic, 3);
        assert!(topic.publish(value).is_ok());
        let published = topic.publish(PublishesAsDropped::plain(4));
        assert_eq!(published.ok().map(|published| published.dropped), Some(1));
        let mut seen = numbers(&samples);
        while net.replay.run() > 0 {
            seen.extend(numbers(&samples));
        }
        assert_eq!(seen, [1, 2, 103], "3 made room for 4, and 4 for 103");
        assert_eq!(samples.missed(), 2);
    });
}

#[test]
fn a_value_that_is_retained_no_longer_may_publish_as_it_is_dropped() {
    within(patience(), || {
        let net = Net::new(13);
        let node = net.node("a", 1);
        let qos = Qos::latest(1).retaining(1);
        let topic = node.topic::<PublishesAsDropped>("n", qos).unwrap();
        let value = PublishesAsDropped::to(&topic, 1);
        assert!(topic.publish(value).is_ok());
        assert!(topic.publish(PublishesAsDropped::plain(2)).is_ok());
        let samples = node
            .subscribe::<PublishesAsDropped>("n", &waiting(8, 8))
            .unwrap();
        net.replay.run();
        assert_eq!(numbers(&samples), [101]);
    });
}

#[test]
fn a_value_that_a_subscriber_of_a_peer_has_accepted_may_publish_as_it_is_dropped() {
    within(patience(), || {
        let net = Net::new(14);
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let samples = subscriber
            .subscribe::<PublishesAsDropped>("n", &waiting(8, 8))
            .unwrap();
        let qos = Qos::acknowledged(4).retaining(1);
        let topic = publisher.topic::<PublishesAsDropped>("n", qos).unwrap();
        net.replay.run();
        // It is kept for the subscriber, though it is retained no longer.
        let value = PublishesAsDropped::to(&topic, 1);
        assert!(topic.publish(value).is_ok());
        assert!(topic.publish(PublishesAsDropped::plain(2)).is_ok());
        net.replay.run();
        assert_eq!(numbers(&samples), [1, 2, 101]);
    });
}

/// A number that counts how often it is written.
#[derive(Debug)]
struct CountsWrites {
    number: u32,
    written: Arc<AtomicUsize>,
}

impl Serialize for CountsWrites {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.written.fetch_add(1, Ordering::Relaxed);
        self.number.serialize(to)
    }
}

impl<'de> Deserialize<'de> for CountsWrites {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (number, written) = (u32::deserialize(from)?, Arc::default());
        Ok(CountsWrites { number, written })
    }
}

#[test]
fn sem_g616_a_sample_is_written_once_for_all_subscribers_of_other_nodes() {
    let classes = [Qos::latest(8), Qos::reliable(8), Qos::acknowledged(8)];
    for (qos, others, here) in classes.into_iter().flat_map(|qos| {
        [
            (qos, 5, 0),
            (qos, 5, 1),
            (qos, 1, 0),
            (qos, 0, 2),
            (qos.retaining(1), 0, 2),
        ]
    }) {
        let net = Net::new(12);
        let publisher = net.node("p", 1);
        let topic = publisher.topic::<CountsWrites>("n", qos).unwrap();
        let nodes = (0..others).map(|n| net.node(&format!("s{n}"), 1));
        let nodes: Vec<_> = nodes.chain((0..here).map(|_| publisher.clone())).collect();
        let subscribed = nodes.iter().map(|node| {
            let samples = node.subscribe::<CountsWrites>("n", &waiting(8, 8));
            samples.unwrap()
        });
        let subscribed: Vec<_> = subscribed.collect();
        net.replay.run();
        for number in 1..=3 {
            let written = Arc::default();
            let value = CountsWrites {
                number,
                written: Arc::clone(&written),
            };
            topic.publish(value).unwrap();
            net.replay.run();
            let times = written.load(Ordering::Relaxed);
            let is_written = others > 0 || qos.retain > 0;
            assert_eq!(times, usize::from(is_written), "{qos:?}, {here} here");
            for samples in &subscribed {
                let sample = samples.port().test().expect("all get it");
                assert_eq!(sample.value.number, number);
            }
        }
    }
}
