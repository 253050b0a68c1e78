//! `motet mesh join` and `motet mesh peers`: who is there.

use std::time::Duration;

use motet::mesh::{Key, PeerInfo};
use motet_ports::{select, wait_blocking};
use serde_json::json;

use super::args::{MeshJoinArgs, MeshPeersArgs};
use super::member::{Member, words};
use crate::error::{CliError, OptionError};
use crate::stderr::tell;
use crate::stdout::print;

/// Stays until it is interrupted.
pub(super) fn join(args: &MeshJoinArgs) -> Result<(), CliError> {
    let member = Member::join(&args.link)?;
    let changes = member.node.peer_changes();
    let (name, addresses) = (member.node.name(), member.carrier.addresses());
    print(|to| {
        if args.json {
            let line = json!({"change": "joined", "peer": name.as_str(), "addresses": addresses});
            return writeln!(to, "{line}");
        }
        writeln!(
            to,
            "{name} listens on {}. Ctrl-C ends it.",
            addresses.join(", ")
        )
    })?;
    loop {
        let next = select().recv(&changes, Some).recv(&member.stop, |()| None);
        let Ok(Some(change)) = wait_blocking(next) else {
            return Ok(());
        };
        let (what, peer, why) = words(&change);
        print(|to| {
            if args.json {
                return writeln!(to, "{}", json!({"change": what, "peer": peer, "why": why}));
            }
            let colon = if why.is_empty() { "" } else { ": " };
            writeln!(to, "{peer} {what}{colon}{why}")
        })?;
    }
}

/// Looks for a while, and lists the peers that can be reached. It fails where there are none, and
/// no address that it was told has answered.
pub(super) fn list(args: &MeshPeersArgs) -> Result<(), CliError> {
    let within = Duration::try_from_secs_f64(args.within).map_err(|_| OptionError::Value {
        option: "--within",
        value: args.within.to_string(),
        advice: "give seconds, 0 or more",
    })?;
    let member = Member::join_and_say_nothing(&args.link)?;
    // An error says that the time is up.
    let is_stopped = motet_ports::wait_blocking_for(member.stop.recv(), within).is_ok();
    let mut peers = member.node.peers();
    peers.retain(|peer| peer.up);
    print_peers(args, &peers)?;
    if is_stopped {
        return Ok(());
    }
    let known = member.carrier.known_addresses(&args.link.peer);
    let whys = known.not_reached().into_iter();
    let whys: Vec<String> = whys
        .map(|(address, why)| format!("--peer {address} has not answered: {why}"))
        .collect();
    let is_any_reached = whys.len() < args.link.peer.len();
    if peers.is_empty() && !whys.is_empty() && !is_any_reached {
        return Err(CliError::Service(whys.join("; ")));
    }
    for why in whys {
        tell(format_args!("{why}"));
    }
    Ok(())
}

/// One line for each peer.
fn print_peers(args: &MeshPeersArgs, peers: &[PeerInfo]) -> Result<(), CliError> {
    print(|to| {
        for peer in peers {
            let (patterns, servers): (Vec<_>, Vec<_>) = (
                peer.subscriptions.iter().map(ToString::to_string).collect(),
                peer.servers.iter().map(ToString::to_string).collect(),
            );
            if args.json {
                let mut line = json!({"peer": peer.name.as_str(), "subscriptions": patterns, "servers": servers});
                if let Some((publish, subscribe)) = peer.rights.filters() {
                    let keys = |of: &[Key]| of.iter().map(Key::to_string).collect::<Vec<_>>();
                    let rights = json!({"publish": keys(publish), "subscribe": keys(subscribe)});
                    (line["rights"], line["refused"]) = (rights, peer.refused.into());
                }
                writeln!(to, "{line}")?;
                continue;
            }
            write!(to, "{}", peer.name)?;
            if !peer.rights.is_all() {
                write!(to, "  {}", peer.rights)?;
            }
            for (what, keys) in [("subscribes to", patterns), ("serves", servers)] {
                if !keys.is_empty() {
                    write!(to, "  {what} {}", keys.join(", "))?;
                }
            }
            writeln!(to)?;
        }
        Ok(())
    })
}
