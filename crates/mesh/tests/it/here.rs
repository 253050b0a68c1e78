//! Samples that go to subscriptions of their own node.

use crate::nodes::waiting;
use motet_dispatch::{Dispatcher, Inline, QueueConfig, Replay};
use motet_mesh::{Gap, Node, Qos, Sample, SubscribeConfig, Topic};
use motet_ports::{Receive, wait_blocking};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};
use std::sync::Arc;

#[test]
fn sem_g494_what_a_port_took_from_topics_of_its_node_is_not_lost() {
    let replay = Replay::new(6);
    let node = Node::alone("a", Arc::new(replay.queue(QueueConfig::named("a"))));
    let samples = node
        .subscribe::<u32>("*", &SubscribeConfig::default())
        .unwrap();
    let first = node.topic::<u32>("first", Qos::reliable(8)).unwrap();
    let more = node.topic::<u32>("more", Qos::reliable(8)).unwrap();
    let heard = Log::new();
    let (log, port, publishes) = (heard.clone(), samples.port().clone(), more.clone());
    let handler = move |sample: Sample<u32>| {
        log.push(*sample.value);
        if *sample.value == 0 {
            publishes.publish(1).unwrap();
            publishes.publish(2).unwrap();
            port.close();
            publishes.publish(3).unwrap();
        }
    };
    Receive::persistent(samples.port(), handler)
        .activate(&Inline::new("here"))
        .unwrap();
    first.publish(0).unwrap();
    assert_eq!(heard.take(), [0, 1, 2]);
    let lost = more.losses().test().expect("the third one");
    assert_eq!(lost.gap, Gap { from: 3, to: 3 });
    assert!(first.losses().test().is_none());
}

#[test]
fn sem_g211_threads_that_publish_to_a_narrow_port_keep_the_order_of_each_topic() {
    within(patience(), || {
        const EACH: u64 = 2_000;
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        let node = Node::alone("a", Arc::new(queue));
        let samples = node.subscribe::<u64>("*", &waiting(2, 3)).unwrap();
        let names = ["one", "other"];
        let topics = names.map(|name| node.topic::<u64>(name, Qos::reliable(4)).unwrap());
        let posters = topics.map(|topic| {
            // Two threads for each topic.
            let same = topic.clone();
            let publish = |topic: Topic<u64>| {
                move || {
                    for n in 0..EACH / 2 {
                        wait_blocking(topic.publish_wait(n)).unwrap().unwrap();
                    }
                }
            };
            [thread::spawn(publish(topic)), thread::spawn(publish(same))]
        });
        let mut last = [0, 0];
        while last != [EACH, EACH] {
            let sample = samples.port().recv_blocking().unwrap();
            let of = usize::from(sample.key().as_str() == names[1]);
            assert_eq!((sample.number, sample.gap), (last[of] + 1, None));
            last[of] = sample.number;
        }
        for poster in posters.into_iter().flatten() {
            poster.join().unwrap();
        }
        assert_eq!(samples.missed(), 0);
    });
}
