//! A simulated network on a replay, and what tests ask of it.

use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
use motet_mesh::{
    Carrier, CarrierError, CarrierEvent, FramePriority, Frames, LinkConfig, Node, PeerName,
    SimulatedNetwork, SubscribeConfig,
};
use motet_ports::{Overflow, Port, PortConfig};
use motet_sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

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

/// A carrier around another one. It tells its node that this may do all.
pub(crate) struct WrappedCarrier {
    pub(crate) carrier: Arc<dyn Carrier>,
    /// What the node is told; else that of the other one.
    pub(crate) events: Port<CarrierEvent>,
    /// What comes before each time that the node sends.
    pub(crate) before: Box<dyn Fn() + Send + Sync>,
}

impl WrappedCarrier {
    pub(crate) fn new(carrier: Arc<dyn Carrier>) -> Self {
        WrappedCarrier {
            events: carrier.events(),
            carrier,
            before: Box::new(|| ()),
        }
    }
}

impl Carrier for WrappedCarrier {
    fn name(&self) -> PeerName {
        self.carrier.name()
    }

    fn send(
        &self,
        to: &PeerName,
        frame: Vec<u8>,
        priority: FramePriority,
    ) -> Result<(), CarrierError> {
        (self.before)();
        self.carrier.send(to, frame, priority)
    }

    fn send_all(
        &self,
        to: &PeerName,
        link: u64,
        frames: &Frames,
        priority: FramePriority,
    ) -> Result<(), CarrierError> {
        (self.before)();
        self.carrier.send_all(to, link, frames, priority)
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.events.clone()
    }
}

/// Frames that are told together: those of 2 ms.
struct HeldFrames {
    events: Port<CarrierEvent>,
    /// Each behind its length.
    held: Mutex<Vec<(PeerName, Vec<u8>)>>,
}

impl HeldFrames {
    fn hold(&self, peer: PeerName, frame: &[u8]) {
        let mut held = self.held.lock();
        if held.last().is_none_or(|(last, _)| *last != peer) {
            held.push((peer, Vec::new()));
        }
        if let Some((_, frames)) = held.last_mut() {
            frames.extend_from_slice(&(frame.len() as u32).to_le_bytes());
            frames.extend_from_slice(frame);
        }
    }

    fn flush(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        for (peer, bytes) in held {
            let frames = Frames::from_bytes(bytes).unwrap();
            self.events
                .post(CarrierEvent::Frames(peer, frames))
                .unwrap();
        }
    }
}

impl Net {
    /// A node whose frames come together.
    pub(crate) fn together(&self, name: &str) -> Node {
        let (events, held) = (Port::new(), Mutex::default());
        let wrapped = WrappedCarrier {
            events: events.clone(),
            ..WrappedCarrier::new(self.network.carrier(name))
        };
        let (this, clock) = (Arc::new(HeldFrames { events, held }), self.replay.clock());
        let came = wrapped.carrier.events();
        let brings = async move {
            while let Ok(event) = came.recv().or_closed().await {
                if let CarrierEvent::Frame(peer, frame) = event {
                    this.hold(peer, &frame);
                    let this = Arc::clone(&this);
                    let _timer = clock.after(Duration::from_millis(2), move |_| this.flush());
                } else {
                    this.flush();
                    this.events.post(event).unwrap();
                }
            }
        };
        let _ = spawn(&self.queue("brings"), brings);
        let carrier: Arc<dyn Carrier> = Arc::new(wrapped);
        Node::join(&carrier, 1, self.queue(name))
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
