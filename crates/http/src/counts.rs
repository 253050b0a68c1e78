//! How many connections there are, and how many each address has.

use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// The connections of a server, of all its threads together.
#[derive(Default)]
pub(crate) struct ConnectionCounts {
    now: Mutex<OpenConnections>,
    /// Those for which there was no room at all.
    without_room: AtomicU64,
    /// Those whose address had as many as one may have.
    beyond_share: AtomicU64,
}

/// Those that are open.
#[derive(Default)]
struct OpenConnections {
    all: usize,
    /// Of the addresses of other machines. Each has at least one.
    by_address: HashMap<IpAddr, usize>,
}

/// A connection that is counted until this is dropped.
pub(crate) struct CountedConnection {
    counts: Arc<ConnectionCounts>,
    address: Option<IpAddr>,
}

impl ConnectionCounts {
    /// One more from an address, unless that has as many as one may have. Programs of this machine
    /// share one address, so they have no share of it.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr, share: usize) -> Option<CountedConnection> {
        // The same address, by whichever protocol it comes.
        let from = from.to_canonical();
        let address = (!from.is_loopback()).then(|| share_of(from));
        let mut now = self.now.lock();
        if let Some(address) = address {
            let own = now.by_address.get(&address).copied().unwrap_or(0);
            if own >= share {
                drop(now);
                // Relaxed, here and below: it is a number, and nobody concludes anything from it.
                self.beyond_share.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            now.by_address.insert(address, own + 1);
        }
        now.all += 1;
        drop(now);
        Some(CountedConnection {
            counts: Arc::clone(self),
            address,
        })
    }

    /// One has come for which there was no room at all.
    pub(crate) fn refuse(&self) {
        self.without_room.fetch_add(1, Ordering::Relaxed);
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.now.lock().all
    }

    /// How many were refused since the start: for want of room, and beyond the share of an address.
    pub(crate) fn refused(&self) -> [u64; 2] {
        [&self.without_room, &self.beyond_share].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Whose share it is: by IPv6 a machine has as many addresses as begin with the same 64 bits.
fn share_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut now = self.counts.now.lock();
        now.all -= 1;
        let Some(address) = self.address else {
            return;
        };
        if let Some(own) = now.by_address.get_mut(&address) {
            *own -= 1;
            if *own == 0 {
                now.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g599_an_address_has_its_share_and_leaves_nothing() {
        let counts = Arc::new(ConnectionCounts::default());
        let [one, other]: [IpAddr; 2] = ["192.0.2.1", "2001:db8::1"].map(|ip| ip.parse().unwrap());
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        let first = counts.enter(one, 2);
        let second = counts.enter(mapped, 2);
        assert!(first.is_some() && second.is_some());
        assert!(counts.enter(one, 2).is_none() && counts.enter(mapped, 2).is_none());
        let foreign = counts.enter(other, 2);
        assert!(foreign.is_some(), "another has its own");
        assert_eq!((counts.open(), counts.refused()), (3, [0, 2]));
        drop(first);
        let third = counts.enter(one, 2);
        assert!(third.is_some() && counts.enter(one, 2).is_none());
        // A machine has as many addresses of IPv6 as begin with the same 64 bits.
        let [near, far]: [IpAddr; 2] =
            ["2001:db8::2:3", "2001:db8:0:1::1"].map(|ip| ip.parse().unwrap());
        let near = [counts.enter(near, 2), counts.enter(near, 2)];
        assert!(near[0].is_some() && near[1].is_none());
        let far = counts.enter(far, 2);
        assert!(far.is_some());
        drop((second, third, foreign, near, far));
        assert_eq!(counts.open(), 0);
        assert!(counts.now.lock().by_address.is_empty());
    }

    #[test]
    fn sem_g599_this_machine_has_no_share() {
        let counts = Arc::new(ConnectionCounts::default());
        for ip in ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"] {
            let ip: IpAddr = ip.parse().unwrap();
            let all = [(); 3].map(|()| counts.enter(ip, 1));
            assert!(all.iter().all(Option::is_some), "{ip}");
            assert_eq!(counts.open(), 3);
        }
        assert!(counts.now.lock().by_address.is_empty());
    }
}
