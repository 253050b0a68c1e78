//! The addresses of this machine.

use std::io;
use std::net::IpAddr;

/// An address of an interface of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// The interface, as the system names it.
    pub name: String,
    /// The address; an interface may have several.
    pub address: IpAddr,
    /// Whether the interface is up.
    pub is_up: bool,
}

impl Interface {
    /// All of this machine, in the order in which the system names them.
    ///
    /// ```
    /// let all = motet_mesh_zenoh::Interface::all()?;
    /// assert!(!cfg!(unix) || all.iter().any(|one| one.address.is_loopback()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The system does not tell; where it is no Unix it is not asked, and the list is empty.
    pub fn all() -> io::Result<Vec<Interface>> {
        of_system()
    }

    /// Whether other machines can have a way to it: it is neither loopback nor of one link alone.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        match self.address {
            IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
            IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
        }
    }
}

#[cfg(unix)]
fn of_system() -> io::Result<Vec<Interface>> {
    use nix::ifaddrs::getifaddrs;
    use nix::net::if_::InterfaceFlags;

    let all = getifaddrs()?.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|found| found.ip().into());
        let v6 = || address.as_sockaddr_in6().map(|found| found.ip().into());
        Some(Interface {
            name: one.interface_name,
            address: v4.or_else(v6)?,
            is_up: one.flags.contains(InterfaceFlags::IFF_UP),
        })
    });
    Ok(all.collect())
}

#[cfg(not(unix))]
fn of_system() -> io::Result<Vec<Interface>> {
    Ok(Vec::new())
}
