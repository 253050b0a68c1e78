//! This process as a node of the mesh, until it is interrupted.

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use motet_dispatch::{Dispatcher, Enqueue, QueueConfig};
use motet_http::{Config, Server};
use motet_mesh_zenoh::{MeshJoinError, MeshPass, RUN_FOLDER, RunKey, Zenoh, ZenohConfig};
use motet_ports::Port;
use motet_sync::Parker;
use motet_sync::thread::spawn_named;

use super::args::MeshLinkArgs;
use crate::error::CliError;
use crate::interrupt::on_interrupt;
use crate::stderr::tell;
use motet::mesh::{Node, PeerChange};

/// How long after it has come a node looks whether those that it was told have answered.
const SOON: Duration = Duration::from_secs(1);

/// The node, what it runs on, and the port that an interrupt posts to.
pub(super) struct Member {
    pub(super) node: Node,
    pub(super) carrier: Zenoh,
    pub(super) stop: Port<()>,
    /// Ends with the member.
    _console: Option<(Server, motet_service::Node)>,
    /// Fields are dropped in order: the node leaves while its tasks still run.
    _dispatcher: Dispatcher,
}

impl Member {
    /// Joins, and tells soon which --peer has not answered.
    pub(super) fn join(args: &MeshLinkArgs) -> Result<Member, CliError> {
        let member = Member::join_and_say_nothing(args)?;
        tell_not_reached(&member.carrier, &args.peer);
        Ok(member)
    }

    pub(super) fn join_and_say_nothing(args: &MeshLinkArgs) -> Result<Member, CliError> {
        let refused = |error: MeshJoinError| CliError::Service(error.to_string());
        let key = match &args.key {
            Some(file) => Some(RunKey::read(file).map_err(|error| refused(error.into()))?),
            None => None,
        };
        let pass = match &args.pass {
            Some(file) => Some(MeshPass::read(file).map_err(|error| refused(error.into()))?),
            None => None,
        };
        let usual_name = || match &pass {
            Some(pass) => pass.name().to_owned(),
            None => own_name(),
        };
        let name = args.name.clone().unwrap_or_else(usual_name);
        let is_alone = key.is_none() && pass.is_none();
        let is_found = args.multicast || !args.peer.is_empty();
        let config = ZenohConfig {
            key,
            pass,
            listen: args.listen.clone(),
            known: args.peer.clone(),
            rendezvous: args
                .rendezvous
                .clone()
                .or_else(|| (!is_found && is_alone).then(own_folder).flatten()),
            multicast: args.multicast,
            ..ZenohConfig::named(name)
        };
        let stop = Port::new();
        let stopped = stop.clone();
        on_interrupt(move || drop(stopped.post(())));
        let carrier = Zenoh::open(&config).map_err(refused)?;
        let dispatcher = Dispatcher::new(1);
        let queue: Arc<dyn Enqueue> = Arc::new(dispatcher.queue(QueueConfig::named("mesh")));
        let node = carrier.join(queue);
        let console = args.console.map(|at| console(&node, at, &dispatcher));
        Ok(Member {
            _console: console.transpose()?,
            node,
            carrier,
            stop,
            _dispatcher: dispatcher,
        })
    }
}

/// Looks once, on a thread of its own.
fn tell_not_reached(carrier: &Zenoh, peers: &[String]) {
    if peers.is_empty() {
        return;
    }
    let known = carrier.known_addresses(peers);
    let look = move || {
        let _ = Parker::new().park_timeout(SOON);
        for (address, why) in known.not_reached() {
            tell(format_args!(
                "--peer {address} has not answered, and is tried again: {why}"
            ));
        }
    };
    // It ends by itself, or with the process. An error: the machine has no more threads.
    drop(spawn_named("motet-mesh-known", look));
}

/// Shows the member's peers, topics and subscriptions by HTTP.
fn console(
    member: &Node,
    at: SocketAddr,
    dispatcher: &Dispatcher,
) -> Result<(Server, motet_service::Node), CliError> {
    let builder = motet_service::Node::builder(member.name().as_str()).mesh(member.clone());
    let node = builder
        .start(dispatcher)
        .map_err(|fault| CliError::Service(fault.to_string()))?;
    let server = Server::start(&node, Config::at(at))
        .map_err(|error| CliError::Service(error.to_string()))?;
    tell(format_args!(
        "the console is {}/console/#/mesh",
        server.url()
    ));
    Ok((server, node))
}

/// A name that no other start of this program has: processes of different containers have the same
/// number.
fn own_name() -> String {
    let process = std::process::id();
    let drawn = RandomState::new().hash_one(process);
    format!("motet-{process}-{:08x}", drawn & 0xffff_ffff)
}

/// Where the nodes of one user on one machine meet. None in a run: there its processes meet.
pub(super) fn own_folder() -> Option<PathBuf> {
    let in_run = std::env::var_os(RUN_FOLDER).is_some_and(|folder| !folder.is_empty());
    (!in_run).then(usual_folder)
}

pub(super) fn usual_folder() -> PathBuf {
    let is_named = |folder: &OsString| !folder.is_empty();
    match std::env::var_os("XDG_RUNTIME_DIR").filter(is_named) {
        Some(folder) => PathBuf::from(folder).join("motet-mesh"),
        None => std::env::temp_dir().join(format!("motet-mesh-{}", user())),
    }
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}

/// What happened to a peer, in words and in one for programs.
pub(super) fn words(change: &PeerChange) -> (&'static str, String, String) {
    match change {
        PeerChange::Up(peer) => ("up", peer.to_string(), String::new()),
        PeerChange::Down(peer, why) => ("down", peer.to_string(), why.clone()),
        PeerChange::Restarted(peer) => ("restarted", peer.to_string(), String::new()),
        PeerChange::Refused(peer, why) => ("refused", peer.to_string(), why.clone()),
        PeerChange::NotAllowed(refused) => {
            ("refused", refused.node.to_string(), refused.to_string())
        }
        PeerChange::Mismatch(peer, key, why) => {
            ("mismatch", peer.to_string(), format!("{key}: {why}"))
        }
        _ => ("changed", String::new(), String::new()),
    }
}

/// Tells on standard error what keeps samples away.
pub(super) fn warn(change: &PeerChange) {
    if !matches!(change, PeerChange::Up(_) | PeerChange::Restarted(_)) {
        let (what, peer, why) = words(change);
        tell(format_args!("{peer} {what}: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use super::own_name;

    #[test]
    fn sem_g592_a_name_that_is_not_chosen_is_another_at_each_start() {
        let begin = format!("motet-{}-", std::process::id());
        let names = [own_name(), own_name()];
        assert_ne!(names[0], names[1]);
        for name in names {
            let digits = name.strip_prefix(&begin).unwrap();
            assert_eq!(digits.len(), 8, "{name}");
        }
    }
}
