//! Connections that tell of the end of processes on other machines.
//!
//! The processes stand in a ring, by number. Each whose next one is on another machine keeps a
//! connection of TCP to it, over which nothing is said. The system closes it when a process ends,
//! however it ends, and tells the other machine. MPI does not; some libraries break when they send
//! to a process that is gone.
//!
//! ```text
//!  listen ─► all tell port, token, name ─► connect to the next ─► who did? ─► accept the last ─► who did?
//! ```
//!
//! Both ends agree that there is a connection before either looks at it. Where none can be made the
//! neighbour is not seen, and nothing else changes.

use crate::binding::Comm;
use crate::error::MpiError;
use motet_sync::thread;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::iter;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The connections of this process: with its neighbours in the ring, as far as they are on other
/// machines.
#[derive(Debug)]
pub(super) struct Connections(Vec<(usize, TcpStream)>);

/// Words of a machine's name.
const NAME: usize = 8;
/// What a process tells: its port, a token, the name of its machine.
const TOLD: usize = NAME + 2;
/// How long a connection may take.
const LIMIT: Duration = Duration::from_secs(2);
/// Between two looks at whether somebody has connected.
const PAUSE: Duration = Duration::from_millis(1);
/// So many connections are taken at one look: systems do not let more of them wait.
const MANY: usize = 4096;

impl Connections {
    /// Connects this process with its neighbours on other machines. All processes call it, with the
    /// machine of each.
    pub(super) fn make(comm: &Comm, machines: &[u64]) -> Result<Connections, MpiError> {
        connect_all(comm.rank(), machines, |words| comm.allgather(words))
    }

    /// No connections.
    #[cfg(test)]
    pub(super) fn none() -> Connections {
        Connections(Vec::new())
    }

    /// Why a process is gone; `None` when it is there or cannot be seen.
    pub(super) fn gone(&self, process: usize) -> Option<String> {
        let mut with = self.0.iter().filter(|(other, _)| *other == process);
        with.find_map(|(_, connection)| ended(connection))
    }
}

/// The connections of process `own` of those on these machines; `allgather` gives what all have
/// passed.
fn connect_all<E>(
    own: usize,
    machines: &[u64],
    allgather: impl Fn(&[u64]) -> Result<Vec<u64>, E>,
) -> Result<Connections, E> {
    let processes = machines.len();
    let (next, last) = ((own + 1) % processes, (own + processes - 1) % processes);
    let apart = |one: usize, other: usize| machines[one] != machines[other];
    if !(1..processes).any(|process| apart(0, process)) {
        return Ok(Connections(Vec::new()));
    }
    let token = RandomState::new().build_hasher().finish();
    let listener = apart(last, own).then(listen).flatten();
    let port = listener.as_ref().map_or(0, |(_, port)| u64::from(*port));
    let mut told = [0; TOLD];
    [told[0], told[1]] = [port, token];
    told[2..].copy_from_slice(&name());
    let all = allgather(&told)?;
    let all: Vec<&[u64]> = all.chunks_exact(TOLD).collect();
    let there = apart(own, next).then(|| connect(all[next])).flatten();
    // Who is connected to waits for it: it has come already, or is coming.
    let connected = allgather(&[u64::from(there.is_some())])?;
    let here = listener
        .filter(|_| connected[last] == 1)
        .and_then(|(listener, _)| accept(&listener, token, LIMIT));
    // Who has connected to one that has not accepted would see that end, and take the process for
    // gone.
    let accepted = allgather(&[u64::from(here.is_some())])?;
    let there = there.filter(|_| accepted[next] == 1);
    let ends = [(next, there), (last, here)].into_iter();
    let made = ends.filter_map(|(process, connection)| Some((process, connection?)));
    Ok(Connections(made.collect()))
}

/// Why a connection has ended; `None` while it is there.
fn ended(mut connection: &TcpStream) -> Option<String> {
    match connection.read(&mut [0]) {
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
    let mut connection = addresses
        .ok()?
        .find_map(|address| TcpStream::connect_timeout(&address, LIMIT).ok())?;
    connection.write_all(&told[1].to_le_bytes()).ok()?;
    connection.set_nonblocking(true).ok()?;
    Some(connection)
}

/// Takes the connection that knows the token. Others, and who says nothing, keep nobody waiting.
fn accept(listener: &TcpListener, token: u64, limit: Duration) -> Option<TcpStream> {
    let begun = Instant::now();
    let mut unidentified: Vec<UnidentifiedPeer> = Vec::new();
    loop {
        // Before the look: what has come is seen, however late this thread is.
        let over = begun.elapsed() >= limit;
        let came = iter::from_fn(|| listener.accept().ok()).take(MANY);
        let came = came.filter(|(connection, _)| connection.set_nonblocking(true).is_ok());
        unidentified.extend(came.map(|(connection, _)| UnidentifiedPeer::new(connection)));
        unidentified.retain_mut(UnidentifiedPeer::listen);
        let knows = |one: &UnidentifiedPeer| one.said() == Some(token);
        if let Some(known) = unidentified.iter().position(knows) {
            return Some(unidentified.swap_remove(known).connection);
        }
        if over {
            return None;
        }
        thread::park_timeout(PAUSE);
    }
}

/// Somebody who has connected and has not said who it is.
struct UnidentifiedPeer {
    connection: TcpStream,
    heard: [u8; 8],
    bytes: usize,
}

impl UnidentifiedPeer {
    fn new(connection: TcpStream) -> UnidentifiedPeer {
        UnidentifiedPeer {
            connection,
            heard: [0; 8],
            bytes: 0,
        }
    }

    /// Hears what has come; whether it may still be the one.
    fn listen(&mut self) -> bool {
        while self.bytes < self.heard.len() {
            match self.connection.read(&mut self.heard[self.bytes..]) {
                Ok(0) => return false,
                Ok(bytes) => self.bytes += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// All that it has to say.
    fn said(&self) -> Option<u64> {
        (self.bytes == self.heard.len()).then(|| u64::from_le_bytes(self.heard))
    }
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
    use motet_sync::Mutex;
    use motet_testkit::{patience, within};
    use std::sync::{Arc, mpsc};

    /// What a machine of this name tells of a listener.
    fn told(port: u16, token: u64, host: &str) -> Vec<u64> {
        let mut bytes = host.as_bytes().to_vec();
        bytes.resize(NAME * 8, 0);
        let words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        [u64::from(port), token].into_iter().chain(words).collect()
    }

    #[test]
    fn a_connection_ends_with_its_process_and_strangers_get_none() {
        let (listener, port) = listen().unwrap();
        let stranger = connect(&told(port, 6, "localhost")).unwrap();
        let there = connect(&told(port, 7, "localhost")).unwrap();
        let here = accept(&listener, 7, LIMIT).unwrap();
        drop(stranger);
        assert_eq!(ended(&here), None);
        drop(there);
        let begun = Instant::now();
        while ended(&here).is_none() {
            assert!(begun.elapsed() < patience());
            thread::yield_now();
        }
    }

    #[test]
    fn who_connects_first_and_says_nothing_keeps_nobody_out() {
        let (listener, port) = listen().unwrap();
        let mute = TcpStream::connect(("localhost", port)).unwrap();
        let mut slow = TcpStream::connect(("localhost", port)).unwrap();
        slow.write_all(&[7]).unwrap();
        let there = connect(&told(port, 7, "localhost")).unwrap();
        let here = accept(&listener, 7, LIMIT).unwrap();
        let port = |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port();
        assert_eq!(port(here.peer_addr()), port(there.local_addr()));
        drop((mute, slow));
    }

    #[test]
    fn who_has_connected_is_seen_however_late_somebody_looks() {
        let (listener, port) = listen().unwrap();
        let begun = Instant::now();
        // What it says may take a moment to come.
        let connected = || {
            let _there = connect(&told(port, 7, "localhost")).unwrap();
            accept(&listener, 7, Duration::ZERO).is_some()
        };
        while !connected() {
            assert!(begun.elapsed() < patience());
        }
    }

    /// Two processes that are threads of this one, connected; `change` sees what process 1 passes
    /// to the other.
    fn two(change: impl Fn(&mut Vec<u64>) + Send + Sync + 'static) -> [Connections; 2] {
        let (to_one, from_zero) = mpsc::channel::<Vec<u64>>();
        let (to_zero, from_one) = mpsc::channel::<Vec<u64>>();
        let change = Arc::new(change);
        let process =
            move |own: usize, to: mpsc::Sender<Vec<u64>>, from: mpsc::Receiver<Vec<u64>>| {
                let (ends, change) = (Mutex::new((to, from)), Arc::clone(&change));
                connect_all(own, &[1, 2], move |words| -> Result<_, mpsc::RecvError> {
                    let ends = ends.lock();
                    let mut mine = words.to_vec();
                    if words.len() == TOLD {
                        // The system need not know this machine by its name.
                        mine[2..].copy_from_slice(&told(0, 0, "localhost")[2..]);
                    }
                    if own == 1 {
                        change(&mut mine);
                    }
                    // One that has gone is noticed by the receive.
                    let _ = ends.0.send(mine.clone());
                    let theirs = ends.1.recv()?;
                    Ok(match own {
                        0 => [mine, theirs].concat(),
                        _ => [theirs, mine].concat(),
                    })
                })
            };
        within(patience(), move || {
            let other = process.clone();
            let one = thread::spawn(move || other(1, to_zero, from_zero));
            let zero = process(0, to_one, from_one).unwrap();
            [zero, one.join().unwrap().unwrap()]
        })
    }

    #[test]
    fn neighbours_on_two_machines_see_each_other() {
        let [zero, one] = two(|_| ());
        assert_eq!((zero.0.len(), one.0.len()), (2, 2));
        assert_eq!((zero.gone(1), one.gone(0)), (None, None));
        drop(one);
        let begun = Instant::now();
        while zero.gone(1).is_none() {
            assert!(begun.elapsed() < patience());
            thread::yield_now();
        }
    }

    #[test]
    fn sem_g331_a_connection_that_the_other_has_not_accepted_says_nothing_of_it() {
        // Somebody between the machines answers for process 1, and hangs up later.
        let (between, port) = listen().unwrap();
        let [zero, one] = two(move |words| {
            if words.len() == TOLD {
                words[0] = u64::from(port);
            }
        });
        drop(between);
        // What process 0 has accepted is a connection all the same.
        assert_eq!((zero.0.len(), one.0.len()), (1, 1));
        assert_eq!((zero.gone(1), one.gone(0)), (None, None));
    }

    #[test]
    fn who_does_not_listen_or_has_no_name_is_not_connected_to() {
        assert!(connect(&told(0, 1, "localhost")).is_none());
        assert!(connect(&told(1, 1, "")).is_none());
        assert!(name()[0] != 0, "this machine has a name");
    }
}
