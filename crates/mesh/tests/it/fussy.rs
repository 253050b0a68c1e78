//! Types of users whose reading panics, or which use their topic as they are dropped.

use crate::nodes::{Net, waiting};
use motet_dispatch::QueueConfig;
use motet_mesh::{CallError, Qos, Request, Topic};
use motet_ports::{Port, Receive};
use motet_testkit::{Log, patience, within};
use serde::{Deserialize, Deserializer, Serialize};

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
