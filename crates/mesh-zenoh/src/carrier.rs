//! The carrier: links of a node to its peers, on a session of zenoh.
//!
//! | key expression | is |
//! |---|---|
//! | `motet/1/node/NAME/INCARNATION` | the liveliness token of a node |
//! | `motet/1/to/NAME/INCARNATION/LANE/FROM/INCARNATION` | messages to a node |
//!
//! zenoh's threads bring messages and tokens. One thread of the carrier takes tokens and keeps links alive.

use crate::config::ZenohConfig;
use crate::error::JoinError;
use crate::key::{RunKey, random};
use crate::link::{Effect, Ends, Link};
use crate::rendezvous::Rendezvous;
use motet_dispatch::Enqueue;
use motet_mesh::{Carrier, CarrierError, CarrierEvent, Lane, Node, PeerName};
use motet_ports::Port;
use motet_sync::{Mutex, Parker, thread};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::sample::{Locality, Sample, SampleKind};

/// What all keys begin with; the number is that of the form of messages.
const ROOT: &str = "motet/1";

/// How long connections to others are waited for.
const MEETING: Duration = Duration::from_secs(1);

/// How long others are waited for once there is a first one.
const MET: Duration = Duration::from_millis(400);

/// How long until it is looked again.
const LOOK: Duration = Duration::from_millis(10);

/// How often a free port is looked for when another program was faster.
const PORT_TRIES: u32 = 3;

/// Links between processes and machines, by zenoh: mutual TLS, liveliness, routing.
///
/// ```no_run
/// use motet_dispatch::{Dispatcher, QueueConfig};
/// use motet_mesh::{Node, Qos};
/// use motet_mesh_zenoh::{Zenoh, ZenohConfig};
/// use std::sync::Arc;
///
/// let dispatcher = Dispatcher::new(1);
/// let config = ZenohConfig { rendezvous: Some("/run/user/1000/robot".into()), ..ZenohConfig::named("camera") };
/// let carrier = Zenoh::open(&config)?;
/// let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::default())));
/// let frames = node.topic::<Vec<u8>>("camera/left", Qos::latest(4))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Zenoh {
    shared: Arc<Shared>,
    _leave: Arc<Leave>,
}

/// Leaves the mesh with the last clone of the carrier.
struct Leave {
    shared: Arc<Shared>,
    /// Takes the node out of the rendezvous.
    _rendezvous: Option<Rendezvous>,
}

struct Shared {
    name: PeerName,
    incarnation: u64,
    addresses: Vec<String>,
    session: zenoh::Session,
    secret: [u8; 32],
    silence: Duration,
    events: Port<CarrierEvent>,
    peers: Mutex<BTreeMap<PeerName, Arc<Peer>>>,
    /// Tokens that came and went, for the carrier's thread.
    tokens: Mutex<VecDeque<(SampleKind, PeerName, u64)>>,
    upkeep: OnceLock<thread::Thread>,
    /// Shows the node to the others.
    token: OnceLock<LivelinessToken>,
}

#[derive(Default)]
struct Peer {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// What the node has not been told yet, in order.
    told: VecDeque<CarrierEvent>,
    telling: bool,
}

/// A peer in its present incarnation.
struct Current {
    incarnation: u64,
    link: Link,
    lanes: [Publisher<'static>; 2],
}

impl Zenoh {
    /// Joins a mesh: listens, connects, and shows itself. Returns without waiting for peers. Not for a thread of an
    /// async runtime: it blocks for as long as zenoh takes to start.
    ///
    /// # Errors
    /// [`JoinError`]: what is not safe, not right, or not free.
    pub fn open(config: &ZenohConfig) -> Result<Self, JoinError> {
        config.check()?;
        let rendezvous = match &config.rendezvous {
            Some(folder) => Some(Rendezvous::open(folder, &config.name)?),
            None => None,
        };
        let key = match (&config.key, &rendezvous) {
            (Some(key), _) => key.clone(),
            (None, Some(rendezvous)) => rendezvous.key()?,
            (None, None) => RunKey::random()?,
        };
        let mut tries = 1;
        let (session, addresses) = loop {
            match start(config, &key, rendezvous.as_ref()) {
                Err(JoinError::Engine(_)) if tries < PORT_TRIES && config.may_move() => tries += 1,
                started => break started?,
            }
        };
        let engine = |error: zenoh::Error| JoinError::Engine(error.to_string());
        if config.looks_for_others() {
            is_free(&session, &config.name, config.silence)?;
        }
        let bytes = random().ok_or(crate::key::KeyFileError::NoRandom)?;
        let shared = Arc::new(Shared {
            name: PeerName::new(&config.name),
            incarnation: u64::from_le_bytes(bytes),
            addresses,
            session,
            secret: key.derive(&[b"links"]),
            silence: config.silence,
            events: Port::new(),
            peers: Mutex::default(),
            tokens: Mutex::default(),
            upkeep: OnceLock::new(),
            token: OnceLock::new(),
        });
        let (weak, beat) = (Arc::downgrade(&shared), config.silence / 3);
        // It ends with the carrier.
        let upkeep = thread::spawn_named("motet-mesh-links", move || keep_up(&weak, beat))
            .map_err(|error| JoinError::Engine(error.to_string()))?;
        let _ = shared.upkeep.set(upkeep.thread().clone());
        shared.listen().map_err(engine)?;
        let leave = Arc::new(Leave {
            shared: Arc::clone(&shared),
            _rendezvous: rendezvous,
        });
        Ok(Zenoh {
            shared,
            _leave: leave,
        })
    }

    /// A node on these links, in the incarnation that the carrier has drawn.
    #[must_use]
    pub fn join(&self, queue: Arc<dyn Enqueue>) -> Node {
        let carrier: Arc<dyn Carrier> = Arc::new(self.clone());
        Node::join(&carrier, self.shared.incarnation, queue)
    }

    /// The session of zenoh: for what topics and calls do not cover, such as the keys of other programs. What is sent by it
    /// is protected by TLS, and not sealed.
    #[must_use]
    pub fn session(&self) -> &zenoh::Session {
        &self.shared.session
    }

    /// Where this node listens, as `HOST:PORT`.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.shared.addresses
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        // An error: it is closed already.
        let _ = self.shared.session.close().wait();
        let upkeep = self.shared.upkeep.get();
        upkeep.into_iter().for_each(thread::Thread::unpark);
    }
}

/// Starts zenoh with an address for the node.
fn start(
    config: &ZenohConfig,
    key: &RunKey,
    rendezvous: Option<&Rendezvous>,
) -> Result<(zenoh::Session, Vec<String>), JoinError> {
    let addresses = config.addresses()?;
    let mut connect = config.known.clone();
    if let Some(rendezvous) = rendezvous {
        rendezvous.enter(&addresses)?;
        connect.extend(rendezvous.others()?);
    }
    let engine = config.engine(key, &addresses, &connect)?;
    let session = zenoh::open(engine)
        .wait()
        .map_err(|error| JoinError::Engine(error.to_string()))?;
    Ok((session, addresses))
}

/// Refuses a name that another node has that is reached in time. One that was killed may still seem to be there for a while.
fn is_free(session: &zenoh::Session, name: &str, silence: Duration) -> Result<(), JoinError> {
    let engine = |error: zenoh::Error| JoinError::Engine(error.to_string());
    // A node that is there answers once there is a connection.
    let connected = Instant::now() + MEETING;
    while session.info().peers_zid().wait().next().is_none() && Instant::now() < connected {
        let _ = Parker::new().park_timeout(LOOK);
    }
    // One that is reached by the first is seen a little later.
    let (met, until) = (Instant::now() + MET, Instant::now() + silence);
    loop {
        let tokens = session
            .liveliness()
            .get(format!("{ROOT}/node/{name}/*"))
            .timeout(Duration::from_secs(1))
            .wait()
            .map_err(engine)?;
        let is_there = tokens.iter().any(|reply| reply.result().is_ok());
        if !is_there && Instant::now() >= met {
            return Ok(());
        }
        if is_there && Instant::now() >= until {
            return Err(JoinError::Taken(name.to_owned()));
        }
        let _ = Parker::new().park_timeout(LOOK);
    }
}

/// Takes tokens, and keeps links alive, for as long as the carrier is there.
fn keep_up(carrier: &Weak<Shared>, beat: Duration) {
    let mut next = Instant::now() + beat;
    loop {
        thread::park_timeout(next.saturating_duration_since(Instant::now()));
        let Some(shared) = carrier.upgrade() else {
            return;
        };
        if shared.session.is_closed() {
            return;
        }
        shared.take_tokens();
        let now = Instant::now();
        if now >= next {
            next = now + beat;
            let peers: Vec<_> = shared.peers.lock().values().cloned().collect();
            for peer in peers {
                shared.act(&peer, |_, link, out| link.tick(now, out));
            }
        }
    }
}

impl Shared {
    /// Subscribes to messages and tokens, and then shows the node to the others.
    fn listen(self: &Arc<Self>) -> zenoh::Result<()> {
        let (name, incarnation) = (&self.name, self.incarnation);
        let this = Arc::downgrade(self);
        self.session
            .declare_subscriber(format!("{ROOT}/to/{name}/{incarnation:016x}/**"))
            .allowed_origin(Locality::Remote)
            .callback(move |sample| {
                if let Some(this) = this.upgrade() {
                    this.on_message(&sample);
                }
            })
            .background()
            .wait()?;
        let this = Arc::downgrade(self);
        self.session
            .liveliness()
            .declare_subscriber(format!("{ROOT}/node/*/*"))
            .history(true)
            .callback(move |sample| {
                if let (Some(this), Some((peer, incarnation))) =
                    (this.upgrade(), sender(sample.key_expr().as_str()))
                    && peer != this.name
                {
                    let token = (sample.kind(), peer, incarnation);
                    this.tokens.lock().push_back(token);
                    this.upkeep
                        .get()
                        .into_iter()
                        .for_each(thread::Thread::unpark);
                }
            })
            .background()
            .wait()?;
        let token = format!("{ROOT}/node/{name}/{incarnation:016x}");
        let token = self.session.liveliness().declare_token(token).wait()?;
        let _ = self.token.set(token);
        Ok(())
    }

    fn take_tokens(self: &Arc<Self>) {
        loop {
            let Some((kind, name, incarnation)) = self.tokens.lock().pop_front() else {
                return;
            };
            let peer = Arc::clone(self.peers.lock().entry(name.clone()).or_default());
            match kind {
                SampleKind::Put => self.comes(&peer, &name, incarnation),
                SampleKind::Delete => {
                    self.goes(&peer, incarnation, "it has left, or its process has ended")
                }
            }
        }
    }

    /// A node shows itself. An earlier one of the same name is gone.
    fn comes(self: &Arc<Self>, peer: &Arc<Peer>, name: &PeerName, incarnation: u64) {
        let known = peer.state.lock().current.as_ref().map(|c| c.incarnation);
        match known {
            Some(known) if known == incarnation => return,
            Some(known) => self.goes(peer, known, "it has been started again"),
            None => {}
        }
        let Ok(lanes) = self.publishers(name, incarnation) else {
            // Only a session that is closed declares no publishers: the node is leaving.
            return;
        };
        let ends = Ends {
            me: self.name.clone(),
            peer: name.clone(),
            secret: self.secret,
            silence: self.silence,
            session: || random().expect("the system has given random bytes before"),
        };
        let mut state = peer.state.lock();
        let mut effects = Vec::new();
        let link = Link::new(ends, Instant::now(), &mut |effect| effects.push(effect));
        let current = Current {
            incarnation,
            link,
            lanes,
        };
        let State { told, .. } = &mut *state;
        effects
            .into_iter()
            .for_each(|effect| carry_out(effect, &current.lanes, told));
        state.current = Some(current);
    }

    fn publishers(
        &self,
        to: &PeerName,
        incarnation: u64,
    ) -> zenoh::Result<[Publisher<'static>; 2]> {
        let publisher = |lane: &str, priority| {
            let key = format!(
                "{ROOT}/to/{to}/{incarnation:016x}/{lane}/{me}/{mine:016x}",
                me = self.name,
                mine = self.incarnation
            );
            let key = self.session.declare_keyexpr(key).wait()?;
            self.session
                .declare_publisher(key)
                .congestion_control(CongestionControl::Block)
                .priority(priority)
                .allowed_destination(Locality::Remote)
                .wait()
        };
        Ok([
            publisher("urgent", Priority::RealTime)?,
            publisher("ordered", Priority::Data)?,
        ])
    }

    fn goes(&self, peer: &Arc<Peer>, incarnation: u64, why: &str) {
        let is_current = |state: &State| {
            let current = state.current.as_ref();
            current.is_some_and(|current| current.incarnation == incarnation)
        };
        if !is_current(&peer.state.lock()) {
            return;
        }
        self.act(peer, |_, link, out| link.end(why, out));
        let gone = peer.state.lock().current.take();
        // Outside of the lock: it undeclares publishers.
        drop(gone);
    }

    fn on_message(&self, sample: &Sample) {
        let Some((name, incarnation)) = sender(sample.key_expr().as_str()) else {
            return;
        };
        let Some(peer) = self.peers.lock().get(&name).cloned() else {
            // Its token comes, and then it greets again.
            return;
        };
        let bytes = sample.payload().to_bytes();
        self.act(&peer, |current, link, out| {
            if current == incarnation {
                link.comes(&bytes, Instant::now(), out);
            }
        });
    }

    /// Does something with the link to a peer, sends what that says, and tells the node. One thread at a time tells, and
    /// outside of the lock.
    fn act(&self, peer: &Peer, body: impl FnOnce(u64, &mut Link, &mut dyn FnMut(Effect))) {
        let mut state = peer.state.lock();
        let State { current, told, .. } = &mut *state;
        let Some(Current {
            incarnation,
            link,
            lanes,
        }) = current
        else {
            return;
        };
        body(*incarnation, link, &mut |effect| {
            carry_out(effect, lanes, told)
        });
        if std::mem::replace(&mut state.telling, true) {
            return;
        }
        while let Some(event) = state.told.pop_front() {
            drop(state);
            // An error: the node has closed its port, and wants nothing more.
            let _ = self.events.post(event);
            state = peer.state.lock();
        }
        state.telling = false;
    }
}

fn carry_out(effect: Effect, lanes: &[Publisher<'static>; 2], told: &mut VecDeque<CarrierEvent>) {
    match effect {
        Effect::Tell(event) => told.push_back(event),
        Effect::Send(lane, message) => {
            // Only a session that is closed refuses, and then the node is leaving.
            let _ = lanes[lane as usize].put(message).wait();
        }
    }
}

/// The node at the end of a key: its name and incarnation.
fn sender(key: &str) -> Option<(PeerName, u64)> {
    let (rest, incarnation) = key.rsplit_once('/')?;
    let (_, name) = rest.rsplit_once('/')?;
    let incarnation = u64::from_str_radix(incarnation, 16).ok()?;
    Some((PeerName::new(name), incarnation))
}

impl Carrier for Zenoh {
    fn name(&self) -> PeerName {
        self.shared.name.clone()
    }

    fn send(&self, to: &PeerName, frame: Vec<u8>, lane: Lane) -> Result<(), CarrierError> {
        let peer = self.shared.peers.lock().get(to).cloned();
        let mut is_up = false;
        if let Some(peer) = peer {
            self.shared.act(&peer, |_, link, out| {
                is_up = link.is_up();
                if is_up {
                    link.send(frame, lane, out);
                }
            });
        }
        if is_up {
            Ok(())
        } else {
            Err(CarrierError::NoLink(to.clone()))
        }
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.shared.events.clone()
    }
}

impl fmt::Debug for Zenoh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zenoh")
            .field("name", &self.shared.name)
            .field("addresses", &self.shared.addresses)
            .finish_non_exhaustive()
    }
}
