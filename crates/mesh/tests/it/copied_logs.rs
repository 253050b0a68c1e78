//! Logs that were copied, so that two topics have them.

use crate::durable::{Folder, from, mismatches, numbers, publish, topic};
use crate::nodes::Net;
use motet_mesh::StartFrom;
use std::fs;

#[test]
fn sem_g555_a_topic_of_the_own_node_goes_first_and_that_of_the_peer_goes_on_behind_it() {
    let (net, folder, copied) = (Net::new(6), Folder::new(), Folder::new());
    let (other, own) = (net.node("a", 1), net.node("b", 1));
    let changes = own.peer_changes();
    let samples = own.subscribe::<u64>("n", &from(StartFrom::All)).unwrap();
    let first = topic(&other, &folder);
    publish(&first, 1..=2);
    net.replay.run();
    fs::create_dir(&copied.0).unwrap();
    fs::copy(folder.file(), copied.file()).unwrap();
    let copy = topic(&own, &copied);
    publish(&copy, [3]);
    publish(&first, 3..=4);
    net.replay.run();
    assert_eq!(numbers(&samples), [1, 2, 3]);
    assert_eq!(samples.publishers(), [own.name().clone()]);
    let told = mismatches(&changes);
    let [(of, why)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(of == "a" && why.contains("a topic of b has"), "{told:?}");
    drop(copy);
    net.replay.run();
    publish(&first, [5]);
    net.replay.run();
    assert_eq!(numbers(&samples), [4, 5]);
    assert_eq!(samples.publishers(), [other.name().clone()]);
    assert!(mismatches(&changes).is_empty());
}

#[test]
fn sem_g555_of_two_topics_of_one_node_the_second_waits_until_the_first_one_is_gone() {
    for (is_here, is_late) in [(false, false), (true, false), (false, true), (true, true)] {
        let (net, folder, copied) = (Net::new(7), Folder::new(), Folder::new());
        let (publisher, subscriber) = (net.node("a", 1), net.node("b", 1));
        let node = if is_here { &publisher } else { &subscriber };
        let changes = node.peer_changes();
        let subscribe = || node.subscribe::<u64>("n", &from(StartFrom::All)).unwrap();
        let early = (!is_late).then(subscribe);
        let first = topic(&publisher, &folder);
        publish(&first, 1..=2);
        net.replay.run();
        fs::create_dir(&copied.0).unwrap();
        fs::copy(folder.file(), copied.file()).unwrap();
        let copy = topic(&publisher, &copied);
        publish(&copy, 3..=4);
        let samples = early.unwrap_or_else(subscribe);
        net.replay.run();
        publish(&first, [3]);
        net.replay.run();
        assert_eq!(numbers(&samples), [1, 2, 3], "{is_here} {is_late}");
        assert_eq!(samples.publisher_count(), 1);
        let told = mismatches(&changes);
        let [(of, why)] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(of == "a" && why.contains("a topic of a has"), "{told:?}");
        drop(first);
        net.replay.run();
        publish(&copy, [5]);
        net.replay.run();
        assert_eq!(numbers(&samples), [4, 5], "{is_here} {is_late}");
        assert!(mismatches(&changes).is_empty());
        drop(copy);
        net.replay.run();
        assert!(publisher.topics().is_empty());
        assert_eq!(samples.publisher_count(), 0);
    }
}

#[test]
fn sem_g555_a_topic_that_has_ended_waits_no_longer() {
    let (net, folder, copied) = (Net::new(8), Folder::new(), Folder::new());
    let node = net.node("a", 1);
    let samples = node.subscribe::<u64>("n", &from(StartFrom::All)).unwrap();
    let first = topic(&node, &folder);
    publish(&first, [1]);
    net.replay.run();
    fs::create_dir(&copied.0).unwrap();
    fs::copy(folder.file(), copied.file()).unwrap();
    for _ in 0..3 {
        let copy = topic(&node, &copied);
        net.replay.run();
        drop(copy);
        net.replay.run();
        assert_eq!(node.topics().len(), 1);
    }
    publish(&first, [2]);
    net.replay.run();
    assert_eq!(numbers(&samples), [1, 2]);
    drop(first);
    net.replay.run();
    assert_eq!(samples.publisher_count(), 0);
    let copy = topic(&node, &copied);
    publish(&copy, 2..=3);
    net.replay.run();
    assert_eq!(numbers(&samples), [3]);
}
