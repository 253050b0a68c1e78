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
