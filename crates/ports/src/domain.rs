//! The lock that ports share once a join spans them.
//!
//! A join must see and take items of several ports in one step. Locking several ports in each post
//! would need a lock order, and a post cannot know beforehand which ports the joins it meets will
//! want. So ports that a join has ever connected belong to one *domain*. Whoever changes what
//! receivers see on such a port (post, register, put back) holds the domain's lock first. Inside it
//! any number of port locks may be taken in any order: nobody else waits for one while it holds
//! another. Ports without joins have no domain and pay nothing.
//!
//! Most posts do without. One whose item nobody wants yet, because all joins at the port lack
//! something elsewhere (`arbiter/missing_hint.rs`), needs no more than the port's lock. It finds
//! that out under it. One that completes a join which takes an item of each of its ports
//! (`arbiter/one_each.rs`) tries the locks of the others. One that needs the domain tries its lock
//! then, and waits for it only after it has let the port go.
//!
//! Domains merge when a join connects them (union by size) and never split. The way up to the root
//! is read without a lock, since a post to a joined port goes it each time. Whether the root still
//! is one is looked up again under its lock.

use motet_sync::{Mutex, MutexGuard, Serial};
use std::sync::{Arc, OnceLock};

/// A node of the union-find forest; the root's lock is the lock of all its ports. Alone in its
/// cache lines: every post to its ports writes the lock.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Domain {
    /// The older of two is locked first.
    age: u64,
    /// Set once, under the locks of both, when this domain becomes part of another.
    above: OnceLock<Arc<Domain>>,
    /// While it is a root: with so many ports.
    ports: Mutex<usize>,
}

/// A domain, locked.
pub(crate) type LockedDomain<'a> = MutexGuard<'a, usize>;

impl Domain {
    /// A domain of one port.
    pub(crate) fn new() -> Arc<Self> {
        static AGES: Serial = Serial::new();
        Arc::new(Domain {
            age: AGES.next(),
            above: OnceLock::new(),
            ports: Mutex::new(1),
        })
    }

    /// Locks the whole domain.
    #[inline]
    pub(crate) fn lock(&self) -> LockedDomain<'_> {
        loop {
            let root = self.root();
            let ports = root.ports.lock();
            if root.is_root() {
                return ports;
            }
        }
    }

    /// Locks the whole domain, if that takes no waiting: for who has the lock of one of its ports.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<LockedDomain<'_>> {
        // Models hold up who is about to try a lock as if he waited for it. There everybody lets
        // the port go first.
        if cfg!(any(motet_loom, motet_shuttle)) {
            return None;
        }
        let root = self.root();
        let ports = root.ports.try_lock()?;
        root.is_root().then_some(ports)
    }

    /// Makes one domain of two. The caller holds no domain's lock.
    pub(crate) fn merge(one: &Arc<Self>, two: &Arc<Self>) {
        loop {
            let (one, two) = (Self::root_of(one), Self::root_of(two));
            if Arc::ptr_eq(one, two) {
                return;
            }
            // Two merges at once lock the same pair in the same order.
            let (one, two) = if one.age < two.age {
                (one, two)
            } else {
                (two, one)
            };
            let (mut first, mut second) = (one.ports.lock(), two.ports.lock());
            if !one.is_root() || !two.is_root() {
                continue;
            }
            let together = *first + *second;
            let (below, above) = if *first < *second {
                *second = together;
                (one, two)
            } else {
                *first = together;
                (two, one)
            };
            below.above.get_or_init(|| Arc::clone(above));
            return;
        }
    }

    fn is_root(&self) -> bool {
        self.above.get().is_none()
    }

    #[inline]
    fn root(&self) -> &Self {
        let mut at = self;
        while let Some(above) = at.above.get() {
            at = above;
        }
        at
    }

    fn root_of(domain: &Arc<Self>) -> &Arc<Self> {
        let mut at = domain;
        while let Some(above) = at.above.get() {
            at = above;
        }
        at
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use motet_sync::thread;

    #[test]
    fn merged_domains_exclude_each_other() {
        let domains: Vec<_> = (0..4).map(|_| Domain::new()).collect();
        let merger = thread::spawn({
            let domains = domains.clone();
            move || {
                for (i, j) in [(0, 1), (2, 3), (3, 0), (1, 2)] {
                    Domain::merge(&domains[i], &domains[j]);
                }
            }
        });
        merger.join().unwrap();
        let root = domains[0].root();
        assert!(
            domains
                .iter()
                .all(|domain| std::ptr::eq(domain.root(), root))
        );
        let locked = domains[3].lock();
        assert!(
            root.ports.try_lock().is_none(),
            "any port's domain locks the root"
        );
        drop(locked);
    }
}
