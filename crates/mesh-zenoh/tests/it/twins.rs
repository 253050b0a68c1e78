//! Nodes of one name that start at once, and folders with files that are none.

use crate::nodes::{member, member_of, reaches, until};
use motet_mesh_zenoh::{MeshJoinError, RendezvousFolder, Zenoh, ZenohConfig};
use motet_sync::thread::spawn_named;
use std::path::Path;
use std::time::Duration;

fn at(folder: &Path, name: &str) -> ZenohConfig {
    ZenohConfig {
        rendezvous: Some(folder.to_owned()),
        silence: Duration::from_millis(500),
        ..ZenohConfig::named(name)
    }
}

/// So many nodes of one name start at once in one folder: one joins, and others find it.
fn start_at_once(count: usize, folder: &Path) {
    let starts = (0..count).map(|n| {
        let config = at(folder, "twin");
        spawn_named(&format!("twin {n}"), move || Zenoh::open(&config)).unwrap()
    });
    let starts: Vec<_> = starts.collect();
    let opened = starts.into_iter().map(|start| start.join().unwrap());
    let (mut joined, mut refused) = (Vec::new(), Vec::new());
    for one in opened {
        match one {
            Ok(carrier) => joined.push(carrier),
            Err(error) => refused.push(error),
        }
    }
    let is_told = |error: &MeshJoinError| matches!(error, MeshJoinError::Taken(it) if it == "twin");
    assert!(refused.iter().all(is_told), "{refused:?}");
    assert_eq!((joined.len(), refused.len()), (1, count - 1));
    let seen = RendezvousFolder::look(folder).unwrap().nodes;
    let (name, addresses) = &seen[0];
    assert_eq!((seen.len(), &name[..]), (1, "twin"));
    assert_eq!(addresses, joined[0].addresses());
    let twin = member_of(joined.remove(0));
    let other = member(&at(folder, "other"));
    until("they meet", || {
        reaches(&other, "twin") && reaches(&twin, "other")
    });
}

#[test]
fn sem_g589_of_two_nodes_of_one_name_that_start_at_once_one_joins_and_is_found() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        start_at_once(2, &folder.path().join("meet"));
    }
}

#[test]
fn sem_g589_of_four_nodes_of_one_name_that_start_at_once_one_joins_and_is_found() {
    let folder = tempfile::tempdir().unwrap();
    start_at_once(4, &folder.path().join("meet"));
    // The name is free again, and the folder is as it was.
    start_at_once(4, &folder.path().join("meet"));
    let left = std::fs::read_dir(folder.path().join("meet")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mesh.key"]);
}

#[test]
fn sem_g591_a_file_that_is_of_no_node_keeps_nobody_from_joining_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let a = member(&at(folder.path(), "a"));
    assert!(a.carrier.unreadable().is_empty());
    let wrong = folder.path().join("x.0000000000000001.node");
    std::fs::write(&wrong, [0xff, 0xfe]).unwrap();
    let b = member(&at(folder.path(), "b"));
    until("they meet", || reaches(&a, "b") && reaches(&b, "a"));
    let [told] = b.carrier.unreadable() else {
        panic!("{:?}", b.carrier.unreadable());
    };
    assert!(told.contains(&wrong.display().to_string()), "{told}");
}
