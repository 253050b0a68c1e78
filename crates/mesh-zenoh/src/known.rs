//! Which of the addresses that a node was told have answered.

use crate::carrier::Zenoh;
use crate::config::split;
use crate::interfaces::Interface;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use zenoh::Wait;

/// How long a connection to one address is waited for.
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

/// Why an address where another node is to be has not answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotReached {
    /// Nobody knows its host.
    NoHost(io::Error),
    /// Nobody takes a connection there.
    NoConnection(io::Error),
    /// Somebody takes connections there, and this node has met nobody of its mesh.
    NoMember,
}

/// Addresses where other nodes are to be. It keeps no node in its mesh.
pub struct KnownAddresses {
    session: zenoh::Session,
    known: Vec<String>,
    /// Where this node itself listens.
    own: Vec<SocketAddr>,
}

impl Zenoh {
    /// Addresses of other nodes, to ask later which of them have not answered.
    #[must_use]
    pub fn known_addresses(&self, known: &[String]) -> KnownAddresses {
        let own = self.addresses().iter();
        KnownAddresses {
            session: self.session().clone(),
            known: known.to_vec(),
            own: own.flat_map(|own| found(own).unwrap_or_default()).collect(),
        }
    }
}

impl KnownAddresses {
    /// Those that have not answered, and why. Once this node has met another one, an address that
    /// takes connections counts as reached; one where this node itself listens always does. Each
    /// look makes a connection to each address, and waits for it: ask once a second at most. When
    /// the node has left, nothing is told.
    #[must_use]
    pub fn not_reached(&self) -> Vec<(String, NotReached)> {
        let looked = self.known.iter().filter_map(|address| {
            let why = self.look(address)?;
            Some((address.clone(), why))
        });
        let not_reached: Vec<_> = looked.collect();
        if self.session.is_closed() {
            return Vec::new();
        }
        not_reached
    }

    fn look(&self, address: &str) -> Option<NotReached> {
        let found = match found(address) {
            Ok(found) => found,
            Err(error) => return Some(NotReached::NoHost(error)),
        };
        if found.iter().any(|at| self.is_own(at)) {
            return None;
        }
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for at in &found {
            match TcpStream::connect_timeout(at, CONNECT_LIMIT) {
                Ok(_) => return (!self.has_met()).then_some(NotReached::NoMember),
                Err(error) => last = error,
            }
        }
        Some(NotReached::NoConnection(last))
    }

    /// Whether this node listens there.
    fn is_own(&self, at: &SocketAddr) -> bool {
        let is_here = || {
            let interfaces = Interface::all().unwrap_or_default();
            interfaces.iter().any(|one| one.address == at.ip())
        };
        self.own.iter().any(|own| {
            let is_any = own.ip().is_unspecified();
            own.port() == at.port() && (own.ip() == at.ip() || is_any && is_here())
        })
    }

    /// Whether there is a session with another node.
    fn has_met(&self) -> bool {
        let info = self.session.info();
        info.peers_zid().wait().next().is_some() || info.routers_zid().wait().next().is_some()
    }
}

/// What an address stands for.
fn found(address: &str) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = split(address).map_err(|error| io::Error::other(error.to_string()))?;
    let found = (host.trim_matches(['[', ']']), port).to_socket_addrs()?;
    Ok(found.collect())
}

impl fmt::Display for NotReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReached::NoHost(error) => write!(f, "its host is not found: {error}"),
            NotReached::NoConnection(error) => write!(f, "no connection: {error}"),
            NotReached::NoMember => f.write_str(
                "what listens there has not let this node in: it may have another key, or be no node",
            ),
        }
    }
}

impl std::error::Error for NotReached {}

impl fmt::Debug for KnownAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownAddresses")
            .field("known", &self.known)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}
