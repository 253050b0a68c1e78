//! Subscriptions that begin behind the end of a log.

use crate::durable::{Folder, from, mismatches, numbers, publish, topic};
use crate::nodes::Net;
use motet_mesh::StartFrom;
use std::time::{Duration, UNIX_EPOCH};

#[test]
fn sem_g597_who_asks_for_a_number_behind_the_end_of_a_log_is_told_what_is_there() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(1), Folder::new());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let topic = topic(&publisher, &folder);
        publish(&topic, 1..=20);
        net.replay.run();
        let node = if is_here { &publisher } else { &subscriber };
        let changes = node.peer_changes();
        let subscribe = |place| node.subscribe::<u64>("n", &from(place)).unwrap();
        let late = UNIX_EPOCH + Duration::from_secs(1000);
        let others = [
            StartFrom::New,
            StartFrom::All,
            StartFrom::Number(20),
            StartFrom::Number(21),
            StartFrom::Time(late),
        ];
        let others = others.map(subscribe);
        net.replay.run();
        assert!(mismatches(&changes).is_empty(), "they get what comes");
        let samples = subscribe(StartFrom::Number(23));
        net.replay.run();
        let told = mismatches(&changes);
        let [(of, why)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(of, "a");
        for words in ["samples 1 to 20", "begins with number 23", "up to 21"] {
            assert!(why.contains(words), "{why}");
        }
        publish(&topic, 21..=24);
        net.replay.run();
        assert_eq!(numbers(&samples), [23, 24]);
        assert!(mismatches(&changes).is_empty());
        assert!(topic.losses().test().is_none());
        drop(others);
    }
}

#[test]
fn sem_g597_a_topic_that_comes_later_tells_that_its_log_has_no_samples_yet() {
    for is_here in [false, true] {
        let (net, folder) = (Net::new(2), Folder::new());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let node = if is_here { &publisher } else { &subscriber };
        let changes = node.peer_changes();
        let subscribe = |place| node.subscribe::<u64>("n", &from(place)).unwrap();
        let [first, third] = [1, 3].map(|number| subscribe(StartFrom::Number(number)));
        net.replay.run();
        let topic = topic(&publisher, &folder);
        net.replay.run();
        let told = mismatches(&changes);
        let [(of, why)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(of, "a");
        for words in ["no samples", "begins with number 3", "up to 1"] {
            assert!(why.contains(words), "{why}");
        }
        publish(&topic, 1..=3);
        net.replay.run();
        assert_eq!(numbers(&first), [1, 2, 3]);
        assert_eq!(numbers(&third), [3]);
    }
}
