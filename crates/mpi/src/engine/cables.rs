//! Connections that tell of the end of processes on other machines.
//!
//! The processes stand in a ring, by number. Each whose next one is on another machine keeps a connection of TCP to
//! it, over which nothing is said: the system closes it when a process ends, however it ends, and tells the other
//! machine. MPI does not; some libraries break when they send to a process that is gone.
//!
//! Where no connection can be made the neighbour is not seen, and nothing else changes.

use crate::binding::Comm;
use crate::error::MpiError;
use motet_sync::thread;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The connections of this process: with its neighbours in the ring, as far as they are on other machines.
#[derive(Debug)]
pub(super) struct Cables(Vec<(usize, TcpStream)>);

/// Words of a machine's name.
const NAME: usize = 8;
/// What a process tells: its port, a password, the name of its machine.
const TOLD: usize = NAME + 2;
/// How long a connection may take.
const LIMIT: Duration = Duration::from_secs(2);

impl Cables {
    /// Connects this process with its neighbours on other machines. All processes call it, with the machine of each.
    pub(super) fn lay(comm: &Comm, machines: &[u64]) -> Result<Cables, MpiError> {
        let (own, processes) = (comm.rank(), comm.size());
        let (next, last) = ((own + 1) % processes, (own + processes - 1) % processes);
        let apart = |one: usize, other: usize| machines[one] != machines[other];
        if !(1..processes).any(|process| apart(0, process)) {
            return Ok(Cables(Vec::new()));
        }
        let password = RandomState::new().build_hasher().finish();
        let listener = apart(last, own).then(listen).flatten();
        let port = listener.as_ref().map_or(0, |(_, port)| u64::from(*port));
        let mut told = [0; TOLD];
        [told[0], told[1]] = [port, password];
        told[2..].copy_from_slice(&name());
        let all = comm.allgather(&told)?;
        let all: Vec<&[u64]> = all.chunks_exact(TOLD).collect();
        let there = apart(own, next).then(|| connect(all[next])).flatten();
        // Who is connected to waits for it: it has come already, or is coming.
        let connected = comm.allgather(&[u64::from(there.is_some())])?;
        let here = listener
            .filter(|_| connected[last] == 1)
            .and_then(|(listener, _)| accept(&listener, password));
        let cables = [(next, there), (last, here)].into_iter();
        let cables = cables.filter_map(|(process, cable)| Some((process, cable?)));
        Ok(Cables(
            cables
                .filter(|(_, cable)| cable.set_nonblocking(true).is_ok())
                .collect(),
        ))
    }

    /// No connections.
    #[cfg(test)]
    pub(super) fn none() -> Cables {
        Cables(Vec::new())
    }

    /// Why a process is gone; `None` when it is there or cannot be seen.
    pub(super) fn gone(&self, process: usize) -> Option<String> {
        let mut with = self.0.iter().filter(|(other, _)| *other == process);
        with.find_map(|(_, cable)| ended(cable))
    }
}

/// Why a connection has ended; `None` while it is there.
fn ended(mut cable: &TcpStream) -> Option<String> {
    match cable.read(&mut [0]) {
        Ok(0) => Some("its machine has closed its connection".to_owned()),
        Ok(_) => None,
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => None,
            _ => Some(format!("its connection has ended: {error}")),
        },
    }
}

fn listen() -> Option<(TcpListener, u16)> {
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"));
    let listener = listener.ok()?;
    listener.set_nonblocking(true).ok()?;
    let port = listener.local_addr().ok()?.port();
    Some((listener, port))
}

/// Connects to the process that has told this.
fn connect(told: &[u64]) -> Option<TcpStream> {
    let port = u16::try_from(told[0]).ok().filter(|port| *port != 0)?;
    let name: Vec<u8> = told[2..]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .take_while(|byte| *byte != 0)
        .collect();
    let addresses = (std::str::from_utf8(&name).ok()?, port).to_socket_addrs();
    let mut cable = addresses
        .ok()?
        .find_map(|address| TcpStream::connect_timeout(&address, LIMIT).ok())?;
    cable.write_all(&told[1].to_le_bytes()).ok()?;
    Some(cable)
}

/// Takes the connection that knows the password.
fn accept(listener: &TcpListener, password: u64) -> Option<TcpStream> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let Ok((mut cable, _)) = listener.accept() else {
            thread::yield_now();
            continue;
        };
        let mut said = [0; 8];
        let heard = cable
            .set_nonblocking(false)
            .and_then(|()| cable.set_read_timeout(Some(LIMIT)))
            .and_then(|()| cable.read_exact(&mut said));
        if heard.is_ok() && said == password.to_le_bytes() {
            return Some(cable);
        }
    }
    None
}

/// The name of this machine, as far as it fits.
fn name() -> [u64; NAME] {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut bytes = name.trim().bytes().chain(std::iter::repeat(0));
    [(); NAME].map(|()| u64::from_le_bytes([(); 8].map(|()| bytes.next().unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this machine tells of a listener.
    fn told(port: u16, password: u64, host: &str) -> Vec<u64> {
        let mut bytes = host.as_bytes().to_vec();
        bytes.resize(NAME * 8, 0);
        let words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        [u64::from(port), password]
            .into_iter()
            .chain(words)
            .collect()
    }

    #[test]
    fn a_connection_ends_with_its_process_and_strangers_get_none() {
        let (listener, port) = listen().unwrap();
        let stranger = connect(&told(port, 6, "localhost")).unwrap();
        let there = connect(&told(port, 7, "localhost")).unwrap();
        let here = accept(&listener, 7).unwrap();
        here.set_nonblocking(true).unwrap();
        drop(stranger);
        assert_eq!(ended(&here), None);
        drop(there);
        let begun = Instant::now();
        while ended(&here).is_none() {
            assert!(begun.elapsed() < motet_testkit::patience());
            thread::yield_now();
        }
    }

    #[test]
    fn who_does_not_listen_or_has_no_name_is_not_connected_to() {
        assert!(connect(&told(0, 1, "localhost")).is_none());
        assert!(connect(&told(1, 1, "")).is_none());
        assert!(name()[0] != 0, "this machine has a name");
    }
}
