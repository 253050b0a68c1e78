//! Whether the other processes are still there.
//!
//! MPI says little about it. Many libraries leave messages to a process that was killed under way
//! for ever, and their launchers may or may not end the rest. Processes of the same machine can be
//! seen, so they are looked at. Of the others the neighbours are known by a connection, the rest by
//! what MPI reports.

use super::connections::Connections;
use crate::binding::Comm;
use crate::error::MpiError;
use std::fs;
use std::io::{self, ErrorKind};

/// How another process is known on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    /// The boot of the machine and the numbering of its processes, as one number; 0: not known.
    machine: u64,
    pid: u64,
    /// When it started: a later process may have the same number.
    started: u64,
}

/// All processes of the communicator, as they can be seen from here.
#[derive(Debug)]
pub(super) struct Peers {
    here: u64,
    all: Vec<Identity>,
    connections: Connections,
}

impl Peers {
    /// Tells the others how this process can be seen. All processes call it.
    pub(super) fn meet(comm: &Comm) -> Result<Peers, MpiError> {
        let own = Identity::own();
        let all = comm.allgather(&[own.machine, own.pid, own.started])?;
        let all: Vec<Identity> = all
            .chunks_exact(3)
            .map(|told| Identity {
                machine: told[0],
                pid: told[1],
                started: told[2],
            })
            .collect();
        let machines: Vec<u64> = all.iter().map(|identity| identity.machine).collect();
        Ok(Peers {
            here: own.machine,
            connections: Connections::make(comm, &machines)?,
            all,
        })
    }

    /// Whether the process can be seen from here.
    pub(super) fn sees(&self, process: usize) -> bool {
        self.here != 0 && self.all[process].machine == self.here
    }

    /// The processes of this machine, this one among them; none where they cannot be seen.
    pub(super) fn here(&self) -> Vec<usize> {
        let all = 0..self.all.len();
        all.filter(|&process| self.sees(process)).collect()
    }

    /// The number that the machine has given to a process of it.
    pub(super) fn number(&self, process: usize) -> u64 {
        self.all[process].pid
    }

    /// As [`Peers::number`], with when it started: no later process has the same. It is not 0.
    pub(super) fn whole_number(&self, process: usize) -> u64 {
        self.all[process].whole_number()
    }

    /// Why a process of another machine is gone; `None` when it is there, or cannot be seen. This
    /// costs little.
    pub(super) fn cut(&self, process: usize) -> Option<String> {
        self.connections.gone(process)
    }

    /// Why the process is gone; `None` when it runs, or cannot be seen from here.
    pub(super) fn gone(&self, process: usize) -> Option<String> {
        let identity = self.all[process];
        match self.sees(process) {
            true => identity.gone(&Stat::of(identity.pid)),
            false => self.cut(process),
        }
    }
}

impl Identity {
    /// Why the process is gone, after what the system says of its number.
    fn gone(&self, seen: &io::Result<Stat>) -> Option<String> {
        let pid = self.pid;
        match seen {
            Ok(stat) if stat.started != self.started => {
                Some(format!("its number {pid} has another process"))
            }
            Ok(stat) if stat.has_ended() => Some(format!("{pid} has ended")),
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::NotFound || is_no_process(error) => {
                Some(format!("there is no process {pid} any more"))
            }
            // This one may not look, or has no file left to look with: that says nothing of the
            // other.
            Err(_) => None,
        }
    }

    /// Number and start as one.
    fn whole_number(&self) -> u64 {
        (self.started << PID_BITS) | self.pid
    }

    fn own() -> Identity {
        let pid = u64::from(std::process::id());
        let seen = Stat::of(pid);
        Identity {
            machine: seen.as_ref().ok().and_then(|_| machine()).unwrap_or(0),
            pid,
            started: seen.map_or(0, |stat| stat.started),
        }
    }
}

/// Linux numbers no process higher (`PID_MAX_LIMIT`). Above it is room for ticks of many years.
const PID_BITS: u32 = 22;

/// Whether the process of this machine with this [whole number](Peers::whole_number) is gone, as
/// far as can be seen.
pub(super) fn is_gone(whole_number: u64) -> bool {
    let identity = Identity {
        machine: 0,
        pid: whole_number & ((1 << PID_BITS) - 1),
        started: whole_number >> PID_BITS,
    };
    identity.gone(&Stat::of(identity.pid)).is_some()
}

/// What Linux says of a process.
#[derive(Debug)]
struct Stat {
    state: char,
    started: u64,
}

impl Stat {
    fn of(pid: u64) -> io::Result<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Stat::read(&text).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// Whether it only waits for its parent to ask for it.
    fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    fn read(text: &str) -> Option<Stat> {
        // The name, in parentheses, may hold anything.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        // proc(5): the state is field 3, the start field 22.
        let started = fields.nth(18)?.parse().ok()?;
        Some(Stat { state, started })
    }
}

/// Whether the process ended between the opening of its file and the reading (`ESRCH`).
fn is_no_process(error: &io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.raw_os_error() == Some(ESRCH)
}

/// One number for this boot of this machine and this numbering of its processes.
fn machine() -> Option<u64> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    let text = format!("{boot}{}", space.display());
    // FNV-1a: the same in every build, and no two machines of a run meet by chance.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Some(hash.max(1))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    fn seen(pid: u32) -> Peers {
        let pid = u64::from(pid);
        let identity = Identity {
            machine: machine().unwrap(),
            pid,
            started: Stat::of(pid).unwrap().started,
        };
        Peers {
            here: identity.machine,
            all: vec![identity],
            connections: Connections::none(),
        }
    }

    #[test]
    fn a_process_is_gone_when_it_has_ended_reaped_or_not() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let peers = seen(child.id());
        assert_eq!(peers.gone(0), None);
        child.kill().unwrap();
        // Its parent, this one, has not asked for it yet: it is still listed.
        while peers.gone(0).is_none() {
            motet_sync::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(peers.gone(0).unwrap().contains("no process"));
    }

    #[test]
    fn another_process_with_the_same_number_is_not_the_peer() {
        let mut peers = seen(std::process::id());
        assert_eq!(peers.gone(0), None);
        peers.all[0].started += 1;
        assert!(peers.gone(0).unwrap().contains("another process"));
    }

    #[test]
    fn a_whole_number_is_of_one_process_alone() {
        let mut peers = seen(std::process::id());
        assert!(!is_gone(peers.whole_number(0)));
        peers.all[0].started += 1;
        assert!(is_gone(peers.whole_number(0)), "its number is used again");
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let number = seen(child.id()).whole_number(0);
        assert!(!is_gone(number));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(number));
    }

    #[test]
    fn who_cannot_look_says_nothing_of_the_peer() {
        let peer = seen(std::process::id()).all[0];
        // ENOENT, ESRCH, EACCES, EMFILE.
        for (code, gone) in [(2, true), (3, true), (13, false), (24, false)] {
            let error = Err(io::Error::from_raw_os_error(code));
            assert_eq!(peer.gone(&error).is_some(), gone, "{error:?}");
        }
        assert_eq!(peer.gone(&Err(ErrorKind::InvalidData.into())), None);
    }

    #[test]
    fn processes_of_other_machines_are_not_judged() {
        let mut peers = seen(std::process::id());
        peers.all[0] = Identity {
            machine: peers.here + 1,
            pid: u64::MAX,
            started: 0,
        };
        assert_eq!(peers.gone(0), None);
    }
}
