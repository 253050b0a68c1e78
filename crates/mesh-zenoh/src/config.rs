//! What a node says of itself, and what zenoh is told of it.

use crate::certificates::Certificates;
use crate::error::MeshJoinError;
use crate::grant::is_name;
use crate::key::{RunKey, wall};
use crate::pass::MeshPass;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::net::{IpAddr, TcpListener, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// How a node joins a mesh.
#[derive(Debug, Clone)]
pub struct ZenohConfig {
    /// The name of the node: 1 to 64 letters, digits, `-`, `_` and `.`. No other node of the mesh
    /// has it.
    pub name: String,
    /// The key of the mesh. Without one the node listens on loopback alone, with a key of its own:
    /// that of the rendezvous, or one that nobody else has.
    pub key: Option<RunKey>,
    /// In place of the key: what lets it in under the name that it says, to do what it says.
    pub pass: Option<MeshPass>,
    /// Where it listens, as `HOST:PORT`; port 0 takes a free one. Empty: a free port of 127.0.0.1.
    pub listen: Vec<String>,
    /// Addresses of nodes to connect to.
    pub known: Vec<String>,
    /// A folder where nodes meet that know no address: each writes its own there.
    pub rendezvous: Option<PathBuf>,
    /// Looks for nodes of the local network by multicast.
    pub multicast: bool,
    /// Passes on what others send to each other. Nodes that all do so reach each other by way of
    /// others, where they have no way of their own. Those that have one [know](Self::known) each
    /// other. Either all nodes of a mesh do so, or none.
    pub routes: bool,
    /// So long without a message, and a link is broken. From 10 ms to a day.
    pub silence: Duration,
    /// How long the node's certificate is accepted, at most a hundred years; none: as long as the
    /// node runs. With a pass: as long as that says.
    pub lasts: Option<Duration>,
}

/// The times that a link may be silent for. With less it breaks before it can be heard; with more a
/// node waits as long for one of its name that has been killed.
const SILENCE: RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(24 * 60 * 60);

impl Default for ZenohConfig {
    fn default() -> Self {
        ZenohConfig {
            name: String::new(),
            key: None,
            pass: None,
            listen: Vec::new(),
            known: Vec::new(),
            rendezvous: None,
            multicast: false,
            routes: false,
            silence: Duration::from_secs(3),
            lasts: None,
        }
    }
}

impl ZenohConfig {
    /// A node of this name: in the mesh of its run where `motet run` has started the process, else
    /// alone on loopback.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        ZenohConfig {
            name,
            ..ZenohConfig::default()
        }
    }

    /// A node that joins by a pass, under its name.
    #[must_use]
    pub fn with_pass(pass: MeshPass) -> Self {
        ZenohConfig {
            name: pass.name().to_owned(),
            pass: Some(pass),
            ..ZenohConfig::default()
        }
    }

    /// Refuses what is not safe.
    pub(crate) fn check(&self) -> Result<(), MeshJoinError> {
        if !is_name(&self.name) {
            return Err(MeshJoinError::Name(self.name.clone()));
        }
        if let Some(pass) = &self.pass {
            let name = pass.name().to_owned();
            if self.key.is_some() {
                return Err(MeshJoinError::KeyAndPass);
            }
            if self.name != name {
                return Err(MeshJoinError::PassOfAnother(name, self.name.clone()));
            }
            if pass.until().is_some_and(|until| wall() >= until) {
                return Err(MeshJoinError::PassEnded(name));
            }
        }
        let is_open = self.key.is_none() && self.pass.is_none();
        if !SILENCE.contains(&self.silence) {
            return Err(MeshJoinError::Silence(self.silence));
        }
        for address in &self.listen {
            if is_open && !is_loopback(address)? {
                return Err(MeshJoinError::OpenWithoutKey(address.clone()));
            }
            if self.rendezvous.is_some() && is_wildcard(address)? {
                return Err(MeshJoinError::NotForRendezvous(address.clone()));
            }
        }
        self.known
            .iter()
            .try_for_each(|address| split(address).map(drop))?;
        if is_open && (self.multicast || !self.known.is_empty()) {
            return Err(MeshJoinError::PeersWithoutKey);
        }
        Ok(())
    }

    /// Whether there may be others to connect to.
    pub(crate) fn looks_for_others(&self) -> bool {
        self.multicast || self.rendezvous.is_some() || !self.known.is_empty()
    }

    /// Whether another port may do when the one that was free is taken.
    pub(crate) fn may_move(&self) -> bool {
        self.listen.is_empty() || self.listen.iter().any(|address| address.ends_with(":0"))
    }

    /// The addresses to listen on, all of them free now, with ports in place of port 0.
    pub(crate) fn addresses(&self) -> Result<Vec<String>, MeshJoinError> {
        let own = ["127.0.0.1:0".to_owned()];
        let listen = if self.listen.is_empty() {
            &own[..]
        } else {
            &self.listen[..]
        };
        let resolved = listen.iter().map(|address| {
            let (host, port) = split(address)?;
            // zenoh says of what is taken, or not here, neither the address nor what to do.
            let free = TcpListener::bind((host.trim_matches(['[', ']']), port))
                .and_then(|listener| listener.local_addr())
                .map_err(|error| MeshJoinError::Listen(address.clone(), error))?;
            Ok(format!("{host}:{}", free.port()))
        });
        resolved.collect()
    }

    /// The configuration of zenoh: mutual TLS, no search for others but what was asked for, and
    /// bounds.
    pub(crate) fn engine(
        &self,
        certificates: &Certificates,
        listen: &[String],
        connect: &[String],
    ) -> Result<zenoh::Config, MeshJoinError> {
        let endpoints = |addresses: &[String]| {
            let quoted = addresses
                .iter()
                .map(|address| quoted(&format!("tls/{address}")));
            format!("[{}]", quoted.collect::<Vec<_>>().join(","))
        };
        let lease = self.silence.as_millis().max(100);
        let entries = [
            ("mode", quoted(if self.routes { "router" } else { "peer" })),
            ("listen/endpoints", endpoints(listen)),
            ("connect/endpoints", endpoints(connect)),
            ("connect/retry", RETRY.to_owned()),
            ("open/return_conditions/connect_scouted", "false".to_owned()),
            ("scouting/multicast/enabled", self.multicast.to_string()),
            ("scouting/gossip/enabled", "true".to_owned()),
            ("transport/unicast/open_timeout", "5000".to_owned()),
            ("transport/unicast/accept_timeout", "5000".to_owned()),
            ("transport/unicast/accept_pending", "64".to_owned()),
            ("transport/link/protocols", "[\"tls\"]".to_owned()),
            ("transport/link/tx/lease", lease.to_string()),
            // What may be under way of a link, and of its confirmations.
            ("transport/link/tx/queue/size/data_high", "16".to_owned()),
            ("transport/link/tx/queue/size/real_time", "16".to_owned()),
            ("transport/link/tx/queue/size/data", "16".to_owned()),
            (
                "transport/link/tx/queue/congestion_control/block/wait_before_close",
                longest_wait(self.silence).as_micros().to_string(),
            ),
            ("transport/link/rx/max_message_size", "65536".to_owned()),
        ];
        let mut config = zenoh::Config::default();
        for (entry, value) in entries.iter().chain(&of_tls(certificates)) {
            config.insert_json5(entry, value).map_err(|error| {
                MeshJoinError::Engine(format!("its configuration has no {entry}: {error}"))
            })?;
        }
        Ok(config)
    }
}

/// What zenoh is told of TLS: both ends show certificates of the mesh.
fn of_tls(certificates: &Certificates) -> [(&'static str, String); 8] {
    let coded = |text: &str| quoted(&STANDARD.encode(text));
    let (own, key) = (coded(&certificates.own), coded(&certificates.key));
    [
        (
            "transport/link/tls/root_ca_certificate_base64",
            coded(&certificates.authority),
        ),
        ("transport/link/tls/listen_certificate_base64", own.clone()),
        ("transport/link/tls/listen_private_key_base64", key.clone()),
        ("transport/link/tls/connect_certificate_base64", own),
        ("transport/link/tls/connect_private_key_base64", key),
        ("transport/link/tls/enable_mtls", "true".to_owned()),
        (
            "transport/link/tls/close_link_on_expiration",
            "true".to_owned(),
        ),
        // Members are known by the authority; frames are sealed besides.
        (
            "transport/link/tls/verify_name_on_connect",
            "false".to_owned(),
        ),
    ]
}

/// So long a message waits for a connection that takes none, at most: then that is closed. Links to
/// others are silent meanwhile.
fn longest_wait(silence: Duration) -> Duration {
    (silence / 3).clamp(Duration::from_millis(100), Duration::from_secs(5))
}

/// How soon an address is tried again.
const RETRY: &str = "{ period_init_ms: 100, period_max_ms: 2000, period_increase_factor: 2 }";

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Host and port. Only characters that an address has: it becomes part of zenoh's configuration.
pub(crate) fn split(address: &str) -> Result<(&str, u16), MeshJoinError> {
    let wrong = |why: &str| MeshJoinError::Address(address.to_owned(), why.to_owned());
    let (host, port) = address
        .rsplit_once(':')
        .ok_or_else(|| wrong("it has no port"))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(wrong("the host is none"));
    }
    let port = port
        .parse()
        .map_err(|_| wrong("the port is no number from 0 to 65535"))?;
    Ok((host, port))
}

/// Whether this is `HOST:PORT`.
pub(crate) fn is_address(text: &str) -> bool {
    split(text).is_ok()
}

/// What the host of an address stands for.
fn hosts(address: &str) -> Result<Vec<IpAddr>, MeshJoinError> {
    let (host, port) = split(address)?;
    let wrong = |why: String| MeshJoinError::Address(address.to_owned(), why);
    let found = (host.trim_matches(['[', ']']), port)
        .to_socket_addrs()
        .map_err(|error| wrong(error.to_string()))?;
    Ok(found.map(|address| address.ip()).collect())
}

fn is_loopback(address: &str) -> Result<bool, MeshJoinError> {
    Ok(hosts(address)?.iter().all(IpAddr::is_loopback))
}

fn is_wildcard(address: &str) -> Result<bool, MeshJoinError> {
    Ok(hosts(address)?.iter().any(IpAddr::is_unspecified))
}
