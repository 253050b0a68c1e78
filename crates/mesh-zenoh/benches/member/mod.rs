//! A node of a mesh that a benchmark has to itself.

use motet_dispatch::{Dispatcher, QueueConfig};
use motet_mesh::Node;
use motet_mesh_zenoh::{Zenoh, ZenohConfig};
use std::error::Error;
use std::sync::Arc;

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// Fields are dropped in order: the node leaves while its tasks still run.
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) carrier: Zenoh,
    pub(crate) dispatcher: Dispatcher,
}

pub(crate) fn member(config: &ZenohConfig) -> Fallible<Member> {
    let (carrier, dispatcher) = (Zenoh::open(config)?, Dispatcher::new(1));
    let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::named("node"))));
    Ok(Member {
        node,
        carrier,
        dispatcher,
    })
}
