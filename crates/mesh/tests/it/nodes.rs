//! A simulated network on a replay, and what tests ask of it.

use motet_dispatch::{Enqueue, QueueConfig, Replay};
use motet_mesh::{LinkConfig, Node, SimulatedNetwork, SubscribeConfig};
use motet_ports::{Overflow, PortConfig};
use std::sync::Arc;

pub(crate) struct Net {
    pub(crate) replay: Replay,
    pub(crate) network: SimulatedNetwork,
}

impl Net {
    pub(crate) fn new(seed: u64) -> Self {
        let replay = Replay::new(seed);
        let network = SimulatedNetwork::new(seed, LinkConfig::default(), replay.clock());
        Net { replay, network }
    }

    pub(crate) fn queue(&self, name: &str) -> Arc<dyn Enqueue> {
        Arc::new(self.replay.queue(QueueConfig::named(name)))
    }

    /// A node in its `incarnation`.
    pub(crate) fn node(&self, name: &str, incarnation: u64) -> Node {
        Node::join(&self.network.carrier(name), incarnation, self.queue(name))
    }
}

/// A port of this capacity that holds its publishers back, and a window.
pub(crate) fn waiting(capacity: usize, window: u32) -> SubscribeConfig {
    let port = PortConfig {
        capacity: capacity.try_into().ok(),
        overflow: Overflow::Wait,
    };
    SubscribeConfig {
        port,
        window,
        ..SubscribeConfig::default()
    }
}
