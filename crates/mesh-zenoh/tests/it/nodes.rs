//! Nodes of one process with links over loopback, as if they were of several.

use motet_dispatch::{Dispatcher, QueueConfig};
use motet_mesh::Node;
use motet_mesh_zenoh::{RunKey, Zenoh, ZenohConfig};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A node, and what it runs on. Dropped, it leaves.
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) carrier: Zenoh,
    _dispatcher: Dispatcher,
}

pub(crate) fn member(config: &ZenohConfig) -> Member {
    member_of(Zenoh::open(config).unwrap())
}

/// A node on links that are open.
pub(crate) fn member_of(carrier: Zenoh) -> Member {
    let dispatcher = Dispatcher::new(1);
    let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::named("node"))));
    Member {
        node,
        carrier,
        _dispatcher: dispatcher,
    }
}

/// Listens on a free port.
pub(crate) fn first(name: &str, key: &RunKey) -> Member {
    let key = Some(key.clone());
    member(&ZenohConfig {
        key,
        ..ZenohConfig::named(name)
    })
}

/// Knows the address of another node.
pub(crate) fn config(name: &str, key: &RunKey, to: &Member) -> ZenohConfig {
    ZenohConfig {
        key: Some(key.clone()),
        known: to.carrier.addresses().to_vec(),
        ..ZenohConfig::named(name)
    }
}

/// Waits until something holds; a test that fails says what.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        let _ = motet_sync::Parker::new().park_timeout(Duration::from_millis(5));
    }
}

/// Whether `of` can reach a peer of this name.
pub(crate) fn reaches(of: &Member, name: &str) -> bool {
    let peers = of.node.peers();
    peers
        .iter()
        .any(|peer| peer.up && peer.name.as_str() == name)
}
