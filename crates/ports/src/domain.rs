//! The lock that ports share once a join spans them.
//!
//! A join must see and take items of several ports in one step. Locking several ports in each post
//! would need a lock order, and a post cannot know beforehand which ports the joins it meets will
//! want. So ports that a join has ever connected belong to one *domain*, and whoever changes
//! what receivers see on such a port (post, register, put back) holds the domain's lock first. Inside
//! it any number of port locks may be taken in any order: nobody else holds two. Ports without
//! joins have no domain and pay nothing.
//!
//! Domains merge when a join connects them (union by size) and never split.

use motet_sync::{Mutex, MutexGuard, Serial};
use std::sync::Arc;

/// A node of the union-find forest; the root's lock is the lock of all its ports.
#[derive(Debug)]
pub(crate) struct Domain {
    /// The older of two is locked first.
    age: u64,
    standing: Mutex<Standing>,
}

#[derive(Debug)]
enum Standing {
    /// With so many ports.
    Root(usize),
    Under(Arc<Domain>),
}

impl Domain {
    /// A domain of one port.
    pub(crate) fn new() -> Arc<Self> {
        static AGES: Serial = Serial::new();
        Arc::new(Domain {
            age: AGES.next(),
            standing: Mutex::new(Standing::Root(1)),
        })
    }

    /// Runs `body` under the lock of the whole domain.
    pub(crate) fn locked<R>(self: &Arc<Self>, body: impl FnOnce() -> R) -> R {
        let mut at = {
            let standing = self.standing.lock();
            match &*standing {
                // Nearly always: the root's count of references is not touched.
                Standing::Root(_) => return body(),
                Standing::Under(above) => Arc::clone(above),
            }
        };
        loop {
            let above = {
                let standing = at.standing.lock();
                match &*standing {
                    Standing::Root(_) => return body(),
                    Standing::Under(above) => Arc::clone(above),
                }
            };
            at = above;
        }
    }

    /// Makes one domain of two. The caller holds no domain's lock.
    pub(crate) fn merge(one: &Arc<Self>, two: &Arc<Self>) {
        loop {
            let (one, two) = (one.root(), two.root());
            if Arc::ptr_eq(&one, &two) {
                return;
            }
            // Two merges at once lock the same pair in the same order.
            let (one, two) = if one.age < two.age {
                (one, two)
            } else {
                (two, one)
            };
            let (mut first, mut second) = (one.standing.lock(), two.standing.lock());
            let (Standing::Root(m), Standing::Root(n)) = (&*first, &*second) else {
                continue;
            };
            let (m, n) = (*m, *n);
            let hang = |below: &mut MutexGuard<'_, Standing>, above: &Arc<Domain>| {
                **below = Standing::Under(Arc::clone(above));
            };
            if m < n {
                hang(&mut first, &two);
                *second = Standing::Root(m + n);
            } else {
                hang(&mut second, &one);
                *first = Standing::Root(m + n);
            }
            return;
        }
    }

    fn root(self: &Arc<Self>) -> Arc<Self> {
        let mut at = Arc::clone(self);
        loop {
            let above = match &*at.standing.lock() {
                Standing::Root(_) => None,
                Standing::Under(above) => Some(Arc::clone(above)),
            };
            match above {
                None => return at,
                Some(above) => at = above,
            }
        }
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
                .all(|domain| Arc::ptr_eq(&domain.root(), &root))
        );
        let inside = std::cell::Cell::new(false);
        domains[3].locked(|| inside.set(root.standing.try_lock().is_none()));
        assert!(inside.get(), "any port's domain locks the root");
    }
}
