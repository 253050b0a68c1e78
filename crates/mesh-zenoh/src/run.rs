//! The mesh of a run: `motet run` names a folder where its processes meet, and nothing else needs
//! to be said.

use crate::config::ZenohConfig;
use crate::error::MeshJoinError;
use crate::interfaces::Interface;
use crate::rendezvous::{MACHINES, Rendezvous};
use std::env;
use std::path::{Path, PathBuf};

/// The environment variable by which `motet run` names the folder where nodes of its mesh meet. The
/// folder holds the key, so the variable is no secret.
pub const RUN_FOLDER: &str = "MOTET_MESH";

/// What launchers call the number of a process.
const NUMBERS: [&str; 3] = ["PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// The folder of this process's run.
pub(crate) fn folder() -> Option<PathBuf> {
    env::var_os(RUN_FOLDER)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
}

impl ZenohConfig {
    /// How this process joins the mesh of the run that `motet run` has started it in, by the name
    /// `process-N`. A configuration that says nothing but a name joins the same mesh.
    ///
    /// A process with several nodes gives each a name of its own.
    ///
    /// ```no_run
    /// use motet_dispatch::{Dispatcher, QueueConfig};
    /// use motet_mesh_zenoh::{Zenoh, ZenohConfig};
    /// use std::sync::Arc;
    ///
    /// // motet run -m 4 PROGRAM
    /// let dispatcher = Dispatcher::new(1);
    /// let carrier = Zenoh::open(&ZenohConfig::of_run()?)?;
    /// let node = carrier.join(Arc::new(dispatcher.queue(QueueConfig::default())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`MeshJoinError::NoRun`] in a process that `motet run` has not started, or on several
    ///   machines without `--mesh`.
    /// - [`MeshJoinError::NotShared`] on a machine that does not see the folder.
    /// - [`MeshJoinError::NoAddress`], and what is wrong with the folder or its key.
    pub fn of_run() -> Result<Self, MeshJoinError> {
        let number = NUMBERS.iter().find_map(|name| env::var(name).ok());
        let number = number.and_then(|text| text.parse::<u32>().ok());
        let name = format!("process-{}", number.unwrap_or(0));
        let folder = folder().ok_or(MeshJoinError::NoRun)?;
        ZenohConfig::named(name).meets_in(&folder)
    }

    /// This configuration, in the run of this process if it says nothing of a mesh.
    pub(crate) fn or_of_run(&self) -> Result<Self, MeshJoinError> {
        let says_nothing = self.key.is_none()
            && self.pass.is_none()
            && self.listen.is_empty()
            && self.known.is_empty()
            && self.rendezvous.is_none()
            && !self.multicast;
        match folder().filter(|_| says_nothing) {
            Some(folder) => self.clone().meets_in(&folder),
            None => Ok(self.clone()),
        }
    }

    /// With the folder of a run, its key, and an address that the other machines reach.
    fn meets_in(self, folder: &Path) -> Result<Self, MeshJoinError> {
        if !folder.is_dir() {
            return Err(MeshJoinError::NotShared(folder.to_owned()));
        }
        // As this process reads it; the name is checked when it joins.
        let key = Rendezvous::open(folder, &self.name, 0)?.key()?;
        let listen = match folder.join(MACHINES).exists() {
            true => vec![reachable()?],
            false => Vec::new(),
        };
        Ok(ZenohConfig {
            key: Some(key),
            listen,
            rendezvous: Some(folder.to_owned()),
            ..self
        })
    }
}

/// A free port of the first address of this machine that others may reach.
fn reachable() -> Result<String, MeshJoinError> {
    let all = Interface::all().map_err(|error| MeshJoinError::NoAddress(error.to_string()))?;
    let mut addresses = all.iter().filter(|one| one.is_up && one.is_reachable());
    // Those of version 4 first: they have no scope to be named.
    let found = addresses.clone().find(|one| one.address.is_ipv4());
    let found = found.or_else(|| addresses.next());
    let found = found.ok_or_else(|| {
        MeshJoinError::NoAddress("no interface that is up has one but of itself".to_owned())
    })?;
    Ok(std::net::SocketAddr::new(found.address, 0).to_string())
}
