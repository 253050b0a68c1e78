//! Samples of the mesh that come to a rank as messages.

use motet::comm::{ANY_SOURCE, OUTSIDE, RankNow};
use motet::dispatch::Enqueue;
use motet::mesh::{
    LinkConfig, MeshError, Node, PublishRefusal, Qos, Sample, SimulatedNetwork, Topic,
};
use motet::{CommError, Deliver, DeliverError, Dispatcher, Local, QueueConfig, RunError, World};
use motet_sync::{block_on, thread};
use motet_testkit::{patience, within};
use std::ops::Range;
use std::sync::Arc;

/// A network in real time, and what its nodes run on.
struct Net {
    dispatcher: Dispatcher,
    network: SimulatedNetwork,
}

impl Net {
    fn new() -> Net {
        let dispatcher = Dispatcher::new(2);
        let clock = dispatcher.queue(QueueConfig::named("clock")).clock();
        let network = SimulatedNetwork::new(11, LinkConfig::default(), clock);
        Net {
            dispatcher,
            network,
        }
    }

    fn node(&self, name: &str) -> Node {
        let queue = self.dispatcher.queue(QueueConfig::named(name));
        Node::join(&self.network.carrier(name), 1, Arc::new(queue))
    }
}

type Outcome<T> = Result<T, CommError>;

/// Publishes the numbers to both topics in turn, once each leads to a subscription.
fn publish(topics: &[Topic<u32>; 2], numbers: Range<u32>) {
    for topic in topics {
        while topic.subscribers().is_empty() {
            thread::yield_now();
        }
    }
    for n in numbers {
        for topic in topics {
            block_on(topic.publish_wait(n)).unwrap();
        }
    }
}

#[test]
fn sem_g224_samples_of_other_nodes_are_messages_in_the_order_of_each_publisher() {
    within(patience(), || {
        let net = Net::new();
        let (north, south, centre) = (net.node("north"), net.node("south"), net.node("centre"));
        let topics = [&north, &south].map(|node| {
            let key = format!("{}/level", node.name());
            node.topic::<u32>(&key, Qos::reliable(4)).unwrap()
        });
        let got = World::threads(2).run(async |comm| -> Outcome<Vec<(String, u32)>> {
            if comm.rank() == 1 {
                comm.send(0, 3, 77_u32).await?;
                return Ok(Vec::new());
            }
            let delivery = centre.deliver::<u32>("*/level", &comm, 7, 3).unwrap();
            let topics = topics.clone();
            let publisher = thread::spawn_named("publisher", move || publish(&topics, 0..40));
            let mut got = Vec::new();
            for turn in 0..80 {
                let source = if turn % 2 == 0 { OUTSIDE } else { ANY_SOURCE };
                let (sample, status) = comm
                    .recv_with_status::<Local<Sample<u32>>>(source, 7)
                    .await?;
                assert_eq!((status.rank(), sample.0.gap), (None, None));
                got.push((sample.0.publisher().to_string(), *sample.0.value));
            }
            publisher.unwrap().join().unwrap();
            assert_eq!(delivery.subscription().missed(), 0);
            assert_eq!(comm.recv::<u32>(1, 3).await?, 77);
            Ok(got)
        });
        let got = &got.unwrap()[0];
        for name in ["north", "south"] {
            let of = got.iter().filter(|(by, _)| by == name);
            let values: Vec<u32> = of.map(|(_, n)| *n).collect();
            assert_eq!(values, (0..40).collect::<Vec<_>>(), "{name}");
        }
    });
}

#[test]
fn sem_g225_a_rank_that_keeps_samples_holds_their_publisher_back() {
    within(patience(), || {
        let net = Net::new();
        let centre = net.node("centre");
        let topic = centre.topic::<u32>("level", Qos::reliable(1)).unwrap();
        let counts = World::threads(1).run(async |comm| -> Outcome<(usize, usize)> {
            let _delivery = centre.deliver::<u32>("level", &comm, 7, 4).unwrap();
            let fill = || {
                let published = (0..100).take_while(|n| topic.publish(*n).is_ok());
                published.count()
            };
            // Four that are not accepted, and one that waits at the publisher.
            let first = fill();
            let full = topic.publish(0).unwrap_err();
            assert!(matches!(full.reason, PublishRefusal::Full { .. }), "{full}");
            let mut kept = Vec::new();
            for _ in 0..3 {
                kept.push(comm.recv::<Local<Sample<u32>>>(OUTSIDE, 7).await?);
            }
            assert_eq!(fill(), 0, "what the rank keeps is not accepted");
            drop(kept);
            // What was kept is accepted. The publisher hears of it for half a window at a time.
            let mut second = 0;
            while second < 2 {
                second += fill();
            }
            Ok((first, second))
        });
        let (first, second) = counts.unwrap()[0];
        assert_eq!(first, 5);
        assert!((2..=3).contains(&second), "{second}");
    });
}

#[test]
fn sem_g226_a_world_that_waits_for_a_topic_is_not_stuck_and_says_who_publishes() {
    within(patience(), || {
        let net = Net::new();
        let (north, centre) = (net.node("north"), net.node("centre"));
        let world = World::threads(2);
        let watch = world.watch();
        let ended = world.run(async |comm| -> Outcome<()> {
            if comm.rank() == 1 {
                return comm.recv::<u32>(0, 3).await.map(|_| ());
            }
            let delivery = centre.deliver::<u32>("steer/**", &comm, 7, 4).unwrap();
            let (watch, north) = (watch.clone(), north.clone());
            let _closer = thread::spawn_named("closer", move || {
                let shows = |text: &str| loop {
                    let now = watch.why().expect("it runs");
                    let waits = |rank: &RankNow| !rank.waits().is_empty();
                    if now.ranks.iter().all(waits) && now.to_string().contains(text) {
                        assert!(now.stuck().is_empty(), "{now}");
                        return;
                    }
                };
                shows("(topic steer/**; publishers: none)");
                let topic = north.topic::<u32>("steer/left", Qos::reliable(1)).unwrap();
                shows("(topic steer/**; publishers: north)");
                drop((topic, delivery));
            });
            comm.recv::<Local<Sample<u32>>>(OUTSIDE, 7)
                .await
                .map(|_| ())
        });
        assert!(matches!(ended, Err(RunError::Stuck(_))), "{ended:?}");
    });
}

#[test]
fn sem_g224_a_delivery_that_cannot_be_is_refused() {
    let net = Net::new();
    let node = net.node("here");
    let refused = |comm: &motet::Communicator, pattern: &str, window| {
        let delivery = node.deliver::<u32>(pattern, comm, 7, window);
        delivery.unwrap_err()
    };
    let ended = World::threads(1).run(async |comm| -> Outcome<()> {
        let error = refused(&comm, "a//b", 1);
        assert!(matches!(error, DeliverError::Mesh(_)), "{error}");
        let error = refused(&comm, "a", 0);
        assert!(matches!(error, DeliverError::Comm(_)), "{error}");
        node.leave();
        assert_eq!(refused(&comm, "a", 1), DeliverError::Mesh(MeshError::Left));
        Ok(())
    });
    ended.unwrap();
}
