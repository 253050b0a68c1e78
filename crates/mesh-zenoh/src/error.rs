//! Why a node does not join.

use crate::key::KeyFileError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a node does not join the mesh.
#[derive(Debug)]
#[non_exhaustive]
pub enum MeshJoinError {
    /// The name is none: the name.
    Name(String),
    /// No time after which a silent link can be broken: the time.
    Silence(Duration),
    /// A node of this name is there already.
    Taken(String),
    /// An address is none, and why.
    Address(String, String),
    /// The system does not let the node listen at an address.
    Listen(String, io::Error),
    /// Without a key this address would let strangers in.
    OpenWithoutKey(String),
    /// Peers are named, or looked for in the network, and there is no key that they could have.
    PeersWithoutKey,
    /// The peers of the rendezvous could not use this address.
    NotForRendezvous(String),
    /// There is a key, and a pass.
    KeyAndPass,
    /// The pass lets in the first name, and the node has the second.
    PassOfAnother(String, String),
    /// The pass of this node has ended: its name.
    PassEnded(String),
    /// The key cannot be used.
    Key(KeyFileError),
    /// The folder of the rendezvous cannot be used.
    Rendezvous(PathBuf, io::Error),
    /// Others may write to the folder of the rendezvous: its mode.
    RendezvousOpen(PathBuf, u32),
    /// The folder where nodes meet belongs to another user, who could read and replace what is in
    /// it. The numbers are those of its owner and of the user of this process.
    RendezvousOwner(PathBuf, u32, u32),
    /// `motet run` has not started this process, or has no folder for a mesh.
    NoRun,
    /// The folder of the run is not on this machine.
    NotShared(PathBuf),
    /// This machine has no address that others reach, and why.
    NoAddress(String),
    /// The certificate of the node cannot be made, and why.
    Certificate(String),
    /// zenoh does not start, and why.
    Engine(String),
}

impl fmt::Display for MeshJoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeshJoinError::Name(name) => write!(
                f,
                "{name:?} is no name of a node: it needs 1 to 64 letters, digits, '-', '_' and '.'"
            ),
            MeshJoinError::Silence(silence) => write!(
                f,
                "links cannot be broken after a silence of {silence:?}; choose a time from 10 ms to a day"
            ),
            MeshJoinError::Taken(name) => write!(
                f,
                "a node named {name:?} is in this mesh; stop it, or join by another name"
            ),
            MeshJoinError::Address(address, why) => write!(
                f,
                "{address:?} is no address to use: {why}; write HOST:PORT, as in 127.0.0.1:7450"
            ),
            MeshJoinError::Listen(address, error) => fmt_listen(f, address, error),
            MeshJoinError::OpenWithoutKey(address) => write!(
                f,
                "{address} can be reached by other machines, and there is no key; make one with `motet mesh keys new \
                 FILE` and give it to each node, or listen on 127.0.0.1"
            ),
            MeshJoinError::PeersWithoutKey => f.write_str(
                "peers are to be found, and there is no key that they could share; make one with `motet mesh keys \
                 new FILE` and give it to each node, or use a rendezvous",
            ),
            MeshJoinError::NotForRendezvous(address) => write!(
                f,
                "{address} tells the others of a rendezvous no address; listen on one that they reach"
            ),
            MeshJoinError::KeyAndPass
            | MeshJoinError::PassOfAnother(..)
            | MeshJoinError::PassEnded(_) => self.fmt_pass(f),
            MeshJoinError::Key(error) => error.fmt(f),
            MeshJoinError::Rendezvous(folder, error) => {
                write!(f, "rendezvous {}: {error}", folder.display())
            }
            MeshJoinError::RendezvousOpen(folder, mode) => write!(
                f,
                "rendezvous {folder}: others may write there (mode {mode:o}); run `chmod 700 {folder}`",
                folder = folder.display()
            ),
            MeshJoinError::RendezvousOwner(folder, owner, me) => write!(
                f,
                "rendezvous {folder}: it belongs to user {owner}, and this process runs as user {me}; name a folder \
                 of your own, or set XDG_RUNTIME_DIR to one",
                folder = folder.display()
            ),
            MeshJoinError::NoRun => f.write_str(
                "this process is in no run with a mesh (MOTET_MESH is not set); start it by `motet run`, on several \
                 machines with --mesh DIR, a folder that they share",
            ),
            MeshJoinError::NotShared(folder) => write!(
                f,
                "the run's mesh meets in {folder}, which is not on this machine; start it by `motet run --mesh DIR` \
                 with a folder that all machines share, or give each node a key and addresses",
                folder = folder.display()
            ),
            MeshJoinError::NoAddress(why) => write!(
                f,
                "this machine has no address that the other machines of the run reach: {why}; name one to listen on"
            ),
            MeshJoinError::Certificate(why) => write!(f, "the node's certificate: {why}"),
            MeshJoinError::Engine(why) => write!(f, "zenoh does not start: {why}"),
        }
    }
}

/// What the system says of an address, and what to do.
fn fmt_listen(f: &mut fmt::Formatter<'_>, address: &str, error: &io::Error) -> fmt::Result {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => "stop the program that listens there, or choose another port",
        io::ErrorKind::PermissionDenied => "choose a port above 1023",
        _ => "choose an address of this machine: `motet doctor` lists them",
    };
    write!(f, "nobody can listen at {address}: {error}; {advice}")
}

impl MeshJoinError {
    /// What is wrong with a pass.
    fn fmt_pass(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeshJoinError::KeyAndPass => {
                f.write_str("a node joins by a key or by a pass: leave one of them out")
            }
            MeshJoinError::PassOfAnother(pass, name) => write!(
                f,
                "the pass lets in a node named {pass:?}, and this one is named {name:?}: leave the name out, or get \
                 a pass for it from who has the key of the mesh"
            ),
            MeshJoinError::PassEnded(name) => write!(
                f,
                "the pass of {name:?} has ended: who has the key of the mesh makes a new one, with `motet mesh keys \
                 pass`"
            ),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for MeshJoinError {}

impl From<KeyFileError> for MeshJoinError {
    fn from(error: KeyFileError) -> Self {
        MeshJoinError::Key(error)
    }
}
