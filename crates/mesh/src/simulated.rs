//! A network that is simulated: delays, cuts and partitions, in the time of a clock.

use crate::{Carrier, CarrierError, CarrierEvent, FramePriority, Frames, MeshRights, PeerName};
use motet_dispatch::Clock;
use motet_ports::Port;
use motet_sync::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How links of a [`SimulatedNetwork`] behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// The least time that a frame is under way.
    pub delay: Duration,
    /// So much more at random, at most.
    pub jitter: Duration,
    /// When the ends of a link are told that it broke. Of a time without an end they are told at no
    /// time that somebody lives to see.
    pub detection: Duration,
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig {
            delay: Duration::from_micros(100),
            jitter: Duration::from_micros(50),
            detection: Duration::from_millis(3),
        }
    }
}

/// Nodes in one process with links between all of them, whose delays a seed decides. For tests, and
/// for programs that run under a [`Replay`](motet_dispatch::Replay): with its clock, runs repeat.
///
/// ```
/// use motet_dispatch::{QueueConfig, Replay};
/// use motet_mesh::{LinkConfig, Node, Qos, SimulatedNetwork, SubscribeConfig};
/// use std::sync::Arc;
///
/// let replay = Replay::new(7);
/// let network = SimulatedNetwork::new(7, LinkConfig::default(), replay.clock());
/// let node = |name| Node::join(&network.carrier(name), 1, Arc::new(replay.queue(QueueConfig::named(name))));
/// let (here, there) = (node("here"), node("there"));
/// let samples = there.subscribe::<u32>("n", &SubscribeConfig::default())?;
/// let topic = here.topic::<u32>("n", Qos::reliable(8))?;
/// replay.run();
/// topic.publish(5)?;
/// replay.run();
/// assert_eq!(*samples.port().test().unwrap().value, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SimulatedNetwork {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: LinkConfig,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: u64,
    nodes: BTreeMap<PeerName, (Port<CarrierEvent>, MeshRights)>,
    /// Pairs, the smaller name first, without a link now.
    cut: BTreeSet<(PeerName, PeerName)>,
    /// Counts the links that a pair has had: frames of an earlier one are lost.
    links: BTreeMap<(PeerName, PeerName), u64>,
    /// When the last event for a node from another is due, by priority: events keep their order.
    due: BTreeMap<(PeerName, PeerName), [Instant; 2]>,
}

struct Simulated {
    name: PeerName,
    rights: MeshRights,
    events: Port<CarrierEvent>,
    shared: Arc<Shared>,
}

impl SimulatedNetwork {
    /// A network without nodes.
    #[must_use]
    pub fn new(seed: u64, config: LinkConfig, clock: Clock) -> Self {
        let state = State {
            random: seed,
            nodes: BTreeMap::new(),
            cut: BTreeSet::new(),
            links: BTreeMap::new(),
            due: BTreeMap::new(),
        };
        let shared = Arc::new(Shared {
            config,
            clock,
            state: Mutex::new(state),
        });
        SimulatedNetwork { shared }
    }

    /// A node of this name comes, or comes back, with links to all others that are not cut off.
    #[must_use]
    pub fn carrier(&self, name: &str) -> Arc<dyn Carrier> {
        self.carrier_with(name, MeshRights::all())
    }

    /// As [`SimulatedNetwork::carrier`], for a node that may do no more than `rights` say.
    #[must_use]
    pub fn carrier_with(&self, name: &str, rights: MeshRights) -> Arc<dyn Carrier> {
        self.kill(name);
        let (name, events) = (PeerName::new(name), Port::new());
        let others: Vec<PeerName> = {
            let mut state = self.shared.state.lock();
            let node = (events.clone(), rights.clone());
            state.nodes.insert(name.clone(), node);
            let open =
                |other: &&PeerName| **other != name && !state.cut.contains(&pair(&name, other));
            state.nodes.keys().filter(open).cloned().collect()
        };
        others
            .iter()
            .for_each(|other| self.shared.link(&name, other));
        Arc::new(Simulated {
            name,
            rights,
            events,
            shared: Arc::clone(&self.shared),
        })
    }

    /// The node is gone: its links break. Its own end is told nothing more.
    pub fn kill(&self, name: &str) {
        let name = PeerName::new(name);
        let others: Vec<PeerName> = {
            let mut state = self.shared.state.lock();
            if state.nodes.remove(&name).is_none() {
                return;
            }
            let linked = |other: &&PeerName| !state.cut.contains(&pair(&name, other));
            state.nodes.keys().filter(linked).cloned().collect()
        };
        others
            .iter()
            .for_each(|other| self.shared.unlink(&name, other, "the node was killed"));
    }

    /// Breaks the link between two nodes.
    pub fn cut(&self, one: &str, other: &str) {
        let (one, other) = (PeerName::new(one), PeerName::new(other));
        if self.shared.state.lock().cut.insert(pair(&one, &other)) {
            self.shared.unlink(&one, &other, "the link was cut");
        }
    }

    /// Joins two nodes again.
    pub fn mend(&self, one: &str, other: &str) {
        let (one, other) = (PeerName::new(one), PeerName::new(other));
        let both = {
            let mut state = self.shared.state.lock();
            let was_cut = state.cut.remove(&pair(&one, &other));
            was_cut && state.nodes.contains_key(&one) && state.nodes.contains_key(&other)
        };
        if both {
            self.shared.link(&one, &other);
        }
    }
}

impl Shared {
    fn link(self: &Arc<Self>, one: &PeerName, other: &PeerName) {
        let link = {
            let mut state = self.state.lock();
            let links = state.links.entry(pair(one, other)).or_default();
            *links += 1;
            *links
        };
        for (to, from) in [(one, other), (other, one)] {
            let rights = self.rights(from);
            let up = CarrierEvent::Up(from.clone(), link, rights);
            self.tell(to, from, up, Duration::ZERO, None);
        }
    }

    fn rights(&self, of: &PeerName) -> MeshRights {
        let state = self.state.lock();
        let node = state.nodes.get(of);
        node.map(|(_, rights)| rights.clone()).unwrap_or_default()
    }

    fn unlink(self: &Arc<Self>, one: &PeerName, other: &PeerName, why: &str) {
        *self.state.lock().links.entry(pair(one, other)).or_default() += 1;
        let wait = self.config.detection;
        self.tell(
            one,
            other,
            CarrierEvent::Down(other.clone(), why.to_owned()),
            wait,
            None,
        );
        self.tell(
            other,
            one,
            CarrierEvent::Down(one.clone(), why.to_owned()),
            wait,
            None,
        );
    }

    /// Tells `to` something that comes from `from`: a frame behind all others of its priority,
    /// everything else behind all that came before. A frame of a link that is gone when it would
    /// arrive is lost.
    fn tell(
        self: &Arc<Self>,
        to: &PeerName,
        from: &PeerName,
        event: CarrierEvent,
        wait: Duration,
        link: Option<(u64, FramePriority)>,
    ) {
        let (due, events) = {
            let mut state = self.state.lock();
            let Some((events, _)) = state.nodes.get(to).cloned() else {
                return;
            };
            let jitter = u64::try_from(self.config.jitter.as_nanos()).unwrap_or(u64::MAX);
            let more = Duration::from_nanos(state.draw() % jitter.saturating_add(1));
            let under_way = self.config.delay.saturating_add(more);
            let at = self.clock.in_future(under_way.saturating_add(wait));
            let priorities = state
                .due
                .entry((to.clone(), from.clone()))
                .or_insert([at; 2]);
            let priorities = match link {
                Some((_, priority)) => std::slice::from_mut(&mut priorities[priority as usize]),
                None => &mut priorities[..],
            };
            let last = priorities.iter().max().copied().unwrap_or(at);
            let due = at.max(last + Duration::from_nanos(1));
            priorities.fill(due);
            (due, events)
        };
        let (this, pair) = (Arc::clone(self), pair(to, from));
        // The timer goes when it fires.
        let _timer = self.clock.at(due, move |_| {
            if link.is_none_or(|(link, _)| this.state.lock().links.get(&pair) == Some(&link)) {
                // An error: the node has closed its port, and wants nothing more.
                let _ = events.post(event);
            }
        });
    }
}

impl State {
    /// SplitMix64.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

fn pair(one: &PeerName, other: &PeerName) -> (PeerName, PeerName) {
    let (first, second) = if one <= other {
        (one, other)
    } else {
        (other, one)
    };
    (first.clone(), second.clone())
}

impl Simulated {
    /// The number of the link to a peer.
    fn link(&self, to: &PeerName) -> Result<u64, CarrierError> {
        let state = self.shared.state.lock();
        let pair = pair(&self.name, to);
        if state.cut.contains(&pair) || !state.nodes.contains_key(to) {
            return Err(CarrierError::NoLink(to.clone()));
        }
        Ok(state.links.get(&pair).copied().unwrap_or_default())
    }

    /// A frame of a link that is gone when it would arrive is lost.
    fn send_by(&self, to: &PeerName, link: u64, frame: Vec<u8>, priority: FramePriority) {
        let event = CarrierEvent::Frame(self.name.clone(), frame);
        self.shared.tell(
            to,
            &self.name,
            event,
            Duration::ZERO,
            Some((link, priority)),
        );
    }
}

impl Carrier for Simulated {
    fn name(&self) -> PeerName {
        self.name.clone()
    }

    fn rights(&self) -> MeshRights {
        self.rights.clone()
    }

    fn send(
        &self,
        to: &PeerName,
        frame: Vec<u8>,
        priority: FramePriority,
    ) -> Result<(), CarrierError> {
        let link = self.link(to)?;
        self.send_by(to, link, frame, priority);
        Ok(())
    }

    fn send_all(
        &self,
        to: &PeerName,
        link: u64,
        frames: &Frames,
        priority: FramePriority,
    ) -> Result<(), CarrierError> {
        if self.link(to)? != link {
            return Err(CarrierError::NoLink(to.clone()));
        }
        for frame in frames.iter() {
            self.send_by(to, link, frame.to_vec(), priority);
        }
        Ok(())
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.events.clone()
    }
}
