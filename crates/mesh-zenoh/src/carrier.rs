//! The carrier: a node that joins a mesh by zenoh, and leaves it.

use crate::certificates::Certificates;
use crate::claim::claim_name;
use crate::config::ZenohConfig;
use crate::error::MeshJoinError;
use crate::key::{KeyFileError, RunKey, new_start};
use crate::links::Links;
use crate::membership::Membership;
use crate::rendezvous::Rendezvous;
use motet_dispatch::Enqueue;
use motet_mesh::MeshRights;
use motet_mesh::{Carrier, CarrierError, CarrierEvent, FramePriority, Frames, Node, PeerName};
use motet_ports::Port;
use motet_sync::Mutex;
use std::fmt;
use std::sync::Arc;
use zenoh::Wait;

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
    unreadable: Arc<[String]>,
    leave: Arc<Leave>,
}

/// What a node has of the carrier.
struct OfNode {
    links: Arc<Links>,
    /// Until the node is gone. Who drops that last leaves the mesh, and may end the process then:
    /// no thread that only brings something to the node may keep it until later.
    leave: Mutex<Option<Arc<Leave>>>,
}

/// Leaves the mesh with the last clone of the carrier and the last of its nodes.
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
        let mut rendezvous = match &config.rendezvous {
            Some(folder) => Some(Rendezvous::open(folder, &config.name, incarnation)?),
            None => None,
        };
        if let Some(rendezvous) = &mut rendezvous {
            rendezvous.take_name(config.silence)?;
        }
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
        // Until the node shows itself.
        let _claim = match config.looks_for_others() {
            true => {
                let identity = &membership.identity;
                Some(claim_name(&session, identity, incarnation, config.silence)?)
            }
            false => None,
        };
        let mut unreadable = Vec::new();
        if let Some(rendezvous) = &rendezvous {
            rendezvous.forget_earlier();
            unreadable = rendezvous.unreadable();
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
            unreadable: unreadable.into(),
            leave,
        })
    }

    /// A node on these links, in the incarnation that the carrier has drawn.
    #[must_use]
    pub fn join(&self, queue: Arc<dyn Enqueue>) -> Node {
        let carrier: Arc<dyn Carrier> = Arc::new(OfNode {
            links: Arc::clone(&self.links),
            leave: Mutex::new(Some(Arc::clone(&self.leave))),
        });
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

    /// What lay in the [rendezvous](ZenohConfig::rendezvous) when this node joined, had the name of
    /// a file of a node, and was none or could not be read: each with its path, and why. The others
    /// were used.
    #[must_use]
    pub fn unreadable(&self) -> &[String] {
        &self.unreadable
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

impl Carrier for OfNode {
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

    fn node_is_gone(&self) {
        let leave = self.leave.lock().take();
        drop(leave);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{ROOT, TokenKind, token};
    use std::time::Duration;

    /// Whether a node is refused since its name is taken. A machine that is busy may take longer to
    /// connect it than it waits for others: then it comes again.
    fn is_taken(config: &ZenohConfig) -> bool {
        (0..20).any(|_| match Zenoh::open(config) {
            Err(MeshJoinError::Taken(name)) => name == config.name,
            Err(error) => panic!("{error}"),
            Ok(_) => false,
        })
    }

    #[test]
    fn sem_g589_of_two_starts_that_claim_a_name_the_later_one_gives_way() {
        let key = RunKey::of_byte(7);
        let config = |name: &str, known: &[String]| ZenohConfig {
            key: Some(key.clone()),
            known: known.to_vec(),
            silence: Duration::from_millis(500),
            ..ZenohConfig::named(name)
        };
        let a = Zenoh::open(&config("a", &[])).expect("a node");
        let b = Membership::of_key(&key, "b", None).expect("it has the key");
        let claimed = |start| {
            let claim = token(&b.identity, TokenKind::Claim, start);
            let claim = a.session().liveliness().declare_token(claim).wait();
            claim.expect("a claim")
        };
        let earlier = claimed(new_start().expect("a number"));
        assert!(is_taken(&config("b", a.addresses())), "by the earlier one");
        drop(earlier);
        // One that claims it later and does not go has seen no other: it joins.
        let later = claimed(u64::MAX);
        assert!(is_taken(&config("b", a.addresses())), "by one that stays");
        // One that gives way is waited for.
        let patient = ZenohConfig {
            silence: Duration::from_secs(3600),
            ..config("b", a.addresses())
        };
        let opens = motet_sync::thread::spawn_named("b", move || Zenoh::open(&patient));
        let opens = opens.expect("a thread");
        let is_seen = || {
            let claims = a.session().liveliness().get(format!("{ROOT}/claim/b/*/*"));
            let claims = claims.wait().expect("an answer").into_iter();
            let is_its = |key: &str| !key.contains(&format!("{:016x}", u64::MAX));
            let mut claims = claims.filter_map(|reply| reply.into_result().ok());
            claims.any(|claim| is_its(claim.key_expr().as_str()))
        };
        while !opens.is_finished() && !is_seen() {
            let _ = motet_sync::Parker::new().park_timeout(Duration::from_millis(5));
        }
        drop(later);
        let b = opens.join().expect("it does not panic");
        assert_eq!(b.expect("the name is free").links.name().as_str(), "b");
    }
}
