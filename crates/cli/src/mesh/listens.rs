//! What nodes of a mesh listen on here, and whether they have keys: for `motet doctor`.

use std::env;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use motet_mesh_zenoh::{Interface, RUN_FOLDER, RendezvousFolder};
use serde::Serialize;

use super::member::{own_folder, usual_folder};

/// How long an address is tried.
const TRY: Duration = Duration::from_millis(200);

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct Listens {
    /// Where a node listens that is told nothing.
    listen: String,
    /// The folder where nodes meet that are told nothing.
    rendezvous: PathBuf,
    key: PathBuf,
    /// `there`, `none yet`, or what is wrong with it.
    key_state: String,
    /// Until when the certificate of a node is accepted.
    certificates: &'static str,
    interfaces: Vec<Address>,
    nodes: Vec<Listening>,
    problem: Option<String>,
}

/// An address of this machine.
#[derive(Debug, Serialize)]
struct Address {
    interface: String,
    address: String,
    up: bool,
    /// Whether other machines can have a way to it: a node needs a key to listen there.
    reachable: bool,
    /// Whether a node that is told nothing listens there.
    listens: bool,
}

/// An address of a node that has met others in the folder.
#[derive(Debug, Serialize)]
struct Listening {
    node: String,
    address: String,
    /// Whether somebody takes connections there.
    open: bool,
}

impl Listens {
    /// Looks at this machine, and joins nothing.
    pub(crate) fn here() -> Listens {
        let folder = own_folder().or_else(|| env::var_os(RUN_FOLDER).map(PathBuf::from));
        let folder = folder.unwrap_or_else(usual_folder);
        let (interfaces, no_interfaces) = split(Interface::all());
        let (rendezvous, no_rendezvous) = split(RendezvousFolder::look(&folder).map(Some));
        let is_wide = rendezvous
            .as_ref()
            .is_some_and(|rendezvous| rendezvous.is_wide);
        let chosen = interfaces
            .iter()
            .filter(|one| one.is_up)
            .find(|one| one.is_reachable() == is_wide && one.address.is_ipv4());
        let addresses = interfaces.iter().map(|one| Address {
            interface: one.name.clone(),
            address: one.address.to_string(),
            up: one.is_up,
            reachable: !one.address.is_loopback(),
            listens: chosen == Some(one),
        });
        let mut listens = Listens {
            listen: chosen.map_or("nowhere".to_owned(), |one| format!("{}:0", one.address)),
            interfaces: addresses.collect(),
            key: folder.join("mesh.key"),
            rendezvous: folder,
            key_state: "none yet".to_owned(),
            certificates: "made by each node when it starts, accepted while it runs",
            nodes: Vec::new(),
            problem: no_interfaces.or(no_rendezvous),
        };
        if let Some(rendezvous) = rendezvous {
            listens.key = rendezvous.key;
            match rendezvous.key_state {
                Some(Ok(())) => listens.key_state = "there".to_owned(),
                Some(Err(why)) => listens.key_state = why.to_string(),
                None => {}
            }
            let unreadable = rendezvous.unreadable.first().map(|(file, why)| {
                let file = file.display();
                format!("{file} is no file of a node, and is not used: {why}")
            });
            listens.problem = listens.problem.or(unreadable);
            for (node, addresses) in rendezvous.nodes {
                listens
                    .nodes
                    .extend(addresses.into_iter().map(|address| Listening {
                        open: is_open(&address),
                        node: node.clone(),
                        address,
                    }));
            }
        }
        listens
    }

    /// One line for each thing.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "listens on {} (0: any free port) unless told otherwise",
                self.listen
            ),
            format!("meets in {}", self.rendezvous.display()),
            match &self.key_state[..] {
                "there" => format!("key {}", self.key.display()),
                "none yet" => "key: none yet, the first node makes it".to_owned(),
                wrong => format!("key: {wrong}"),
            },
            format!("certificates: {}", self.certificates),
        ];
        for one in &self.interfaces {
            let how = match (one.listens, one.up, one.reachable) {
                (true, ..) => "a node listens here",
                (false, false, _) => "down",
                (false, true, false) => "only with --listen",
                (false, true, true) => "only with --listen and --key",
            };
            lines.push(format!("{} {}: {how}", one.interface, one.address));
        }
        for node in &self.nodes {
            let how = match node.open {
                true => "listens",
                false => "does not answer: it has ended without leaving",
            };
            lines.push(format!("node {} at {}: {how}", node.node, node.address));
        }
        lines.extend(self.problem.iter().cloned());
        lines
    }
}

/// A value, or nothing and why.
fn split<T: Default>(found: io::Result<T>) -> (T, Option<String>) {
    match found {
        Ok(found) => (found, None),
        Err(error) => (T::default(), Some(error.to_string())),
    }
}

fn is_open(address: &str) -> bool {
    let address: Option<SocketAddr> = address.parse().ok();
    address.is_some_and(|address| TcpStream::connect_timeout(&address, TRY).is_ok())
}
