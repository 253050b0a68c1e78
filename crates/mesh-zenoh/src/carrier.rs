//! The carrier: a node that joins a mesh by zenoh, and leaves it.

use crate::certificates::Certificates;
use crate::config::ZenohConfig;
use crate::error::MeshJoinError;
use crate::identity::MemberIdentity;
use crate::key::{KeyFileError, RunKey, new_start, wall};
use crate::links::Links;
use crate::membership::Membership;
use crate::rendezvous::Rendezvous;
use crate::token::{ROOT, shown_by};
use motet_dispatch::Enqueue;
use motet_mesh::MeshRights;
use motet_mesh::{Carrier, CarrierError, CarrierEvent, FramePriority, Frames, Node, PeerName};
use motet_ports::Port;
use motet_sync::Parker;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zenoh::Wait;

/// How long connections to others are waited for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

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
    links: Arc<Links>,
    incarnation: u64,
    addresses: Arc<[String]>,
    _leave: Arc<Leave>,
}

/// Leaves the mesh with the last clone of the carrier.
struct Leave {
    links: Arc<Links>,
    /// Takes the node out of the rendezvous.
    _rendezvous: Option<Rendezvous>,
}

impl Zenoh {
    /// Joins a mesh: listens, connects, and shows itself. Returns without waiting for peers. Not
    /// for a thread of an async runtime: it blocks for as long as zenoh takes to start.
    ///
    /// A configuration that says nothing but a name joins the mesh of the run that `motet run` has
    /// started this process in.
    ///
    /// # Errors
    /// [`MeshJoinError`]: what is not safe, not right, or not free.
    pub fn open(config: &ZenohConfig) -> Result<Self, MeshJoinError> {
        let config = &config.or_of_run()?;
        config.check()?;
        let incarnation = new_start().ok_or(KeyFileError::NoRandom)?;
        let rendezvous = match &config.rendezvous {
            Some(folder) => Some(Rendezvous::open(folder, &config.name, incarnation)?),
            None => None,
        };
        let membership = membership(config, rendezvous.as_ref())?;
        let mut tries = 1;
        let (session, addresses) = loop {
            match start(config, &membership.certificates, rendezvous.as_ref()) {
                Err(MeshJoinError::Engine(_)) if tries < PORT_TRIES && config.may_move() => {
                    tries += 1
                }
                started => break started?,
            }
        };
        if config.looks_for_others() {
            is_free(&session, &membership.identity, config.silence)?;
        }
        if let Some(rendezvous) = &rendezvous {
            rendezvous.forget_earlier();
        }
        let name = PeerName::new(&config.name);
        let identity = membership.identity;
        let kept = (config.silence, config.routes);
        let links = Links::start(name, incarnation, session, identity, kept)
            .map_err(|error| MeshJoinError::Engine(error.to_string()))?;
        let leave = Arc::new(Leave {
            links: Arc::clone(&links),
            _rendezvous: rendezvous,
        });
        Ok(Zenoh {
            links,
            incarnation,
            addresses: addresses.into(),
            _leave: leave,
        })
    }

    /// A node on these links, in the incarnation that the carrier has drawn.
    #[must_use]
    pub fn join(&self, queue: Arc<dyn Enqueue>) -> Node {
        let carrier: Arc<dyn Carrier> = Arc::new(self.clone());
        Node::join(&carrier, self.incarnation, queue)
    }

    /// The session of zenoh: for what topics and calls do not cover, such as the keys of other
    /// programs. What is sent by it is protected by TLS, and not sealed.
    #[must_use]
    pub fn session(&self) -> &zenoh::Session {
        self.links.session()
    }

    /// Where this node listens, as `HOST:PORT`.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.links.close();
    }
}

/// What the node joins by: its pass, or the key of its mesh.
fn membership(
    config: &ZenohConfig,
    rendezvous: Option<&Rendezvous>,
) -> Result<Membership, MeshJoinError> {
    if let Some(pass) = &config.pass {
        let why = "the key of the pass is none";
        let none = || MeshJoinError::Certificate(why.to_owned());
        return pass.membership().ok_or_else(none);
    }
    let key = match (&config.key, rendezvous) {
        (Some(key), _) => key.clone(),
        (None, Some(rendezvous)) => rendezvous.key()?,
        (None, None) => RunKey::random()?,
    };
    Membership::of_key(&key, &config.name, config.lasts)
}

/// Starts zenoh with an address for the node.
fn start(
    config: &ZenohConfig,
    certificates: &Certificates,
    rendezvous: Option<&Rendezvous>,
) -> Result<(zenoh::Session, Vec<String>), MeshJoinError> {
    let addresses = config.addresses()?;
    let mut connect = config.known.clone();
    if let Some(rendezvous) = rendezvous {
        rendezvous.enter(&addresses)?;
        connect.extend(rendezvous.others()?);
    }
    let engine = config.engine(certificates, &addresses, &connect)?;
    let session = zenoh::open(engine)
        .wait()
        .map_err(|error| MeshJoinError::Engine(error.to_string()))?;
    Ok((session, addresses))
}

/// Refuses the name of this member if another node has it that is reached in time. One that was
/// killed may still seem to be there for a while.
fn is_free(
    session: &zenoh::Session,
    me: &MemberIdentity,
    silence: Duration,
) -> Result<(), MeshJoinError> {
    let name = &me.grant().name;
    let engine = |error: zenoh::Error| MeshJoinError::Engine(error.to_string());
    // A node that is there answers once there is a connection.
    let connected = Instant::now() + CONNECT_TIMEOUT;
    let is_alone = || {
        let info = session.info();
        info.peers_zid().wait().next().is_none() && info.routers_zid().wait().next().is_none()
    };
    while is_alone() && Instant::now() < connected {
        let _ = Parker::new().park_timeout(LOOK);
    }
    // One that is reached by the first is seen a little later.
    let (met, until) = (Instant::now() + MET, Instant::now() + silence);
    loop {
        let tokens = session
            .liveliness()
            .get(format!("{ROOT}/node/{name}/*/*"))
            .timeout(Duration::from_secs(1))
            .wait()
            .map_err(engine)?;
        let is_there = tokens.iter().any(|reply| {
            let token = reply.result().ok().map(|sample| sample.key_expr().as_str());
            token
                .and_then(|key| shown_by(me, key, wall()))
                .is_some_and(|(other, _)| other.as_str() == name)
        });
        if !is_there && Instant::now() >= met {
            return Ok(());
        }
        if is_there && Instant::now() >= until {
            return Err(MeshJoinError::Taken(name.clone()));
        }
        let _ = Parker::new().park_timeout(LOOK);
    }
}

impl Carrier for Zenoh {
    fn name(&self) -> PeerName {
        self.links.name().clone()
    }

    fn rights(&self) -> MeshRights {
        self.links.rights().clone()
    }

    fn send(
        &self,
        to: &PeerName,
        frame: Vec<u8>,
        priority: FramePriority,
    ) -> Result<(), CarrierError> {
        match self.links.send(to, frame, priority) {
            true => Ok(()),
            false => Err(CarrierError::NoLink(to.clone())),
        }
    }

    fn send_all(
        &self,
        to: &PeerName,
        link: u64,
        frames: &Frames,
        priority: FramePriority,
    ) -> Result<(), CarrierError> {
        match self.links.send_all(to, link, &mut frames.iter(), priority) {
            true => Ok(()),
            false => Err(CarrierError::NoLink(to.clone())),
        }
    }

    fn events(&self) -> Port<CarrierEvent> {
        self.links.events().clone()
    }

    fn taken(&self, from: &PeerName) {
        self.links.taken(from);
    }
}

impl fmt::Debug for Zenoh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zenoh")
            .field("name", self.links.name())
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}
