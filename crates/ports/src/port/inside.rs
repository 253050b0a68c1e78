//! What a port and its joins have in common: the state under its lock.
//!
//! ```text
//!   handles ──> PortCore ──> Inside <── inputs of joins
//!                  ╎            │
//!                  ╎ weak       └─> receivers ──> joins ──> inputs
//!                  ╰╌╌╌╌╌╌╌╌╌╌╌╌╌ inputs
//! ```
//!
//! An item that comes to another port of a join takes what waits here. It finds the state without
//! keeping the port for so long. To count itself in and out would cost two locked instructions, and
//! a cache line that goes from core to core. So a join would keep its ports and they the join; the
//! port therefore empties the state when its last handle goes.

use super::state::PortState;
use motet_sync::{TryMutex, TryMutexGuard};
use std::mem;

/// Alone in its cache lines: neighbours in memory are often ports that other threads use. The first
/// line holds what a post writes of a port whose receiver takes the item, now or with others later,
/// and stays. This line goes from core to core with the posts. The second says where the item goes.
/// What else is read stays where it is.
#[repr(C, align(64))]
pub(crate) struct Inside<T: Send + 'static> {
    state: TryMutex<PortState<T>>,
}

// Elsewhere the system's lock may be larger than a word.
#[cfg(all(target_os = "linux", not(any(motet_loom, motet_shuttle))))]
const _: () = {
    use crate::direct_delivery::DirectDelivery;
    use std::mem::offset_of;
    // Nothing of them depends on the type of the items. The lock stands before what it guards.
    type State = PortState<()>;
    let state = offset_of!(Inside<()>, state);
    let guarded = state + size_of::<TryMutex<State>>() - size_of::<State>();
    assert!(
        guarded + offset_of!(State, direct) <= 64,
        "written by a post"
    );
    let read = offset_of!(State, direct) + size_of::<Option<DirectDelivery<()>>>();
    assert!(guarded + read <= 128, "read by a post");
};

impl<T: Send + 'static> Inside<T> {
    pub(super) fn new(state: PortState<T>) -> Self {
        Inside {
            state: TryMutex::new(state),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> TryMutexGuard<'_, PortState<T>> {
        self.state.lock()
    }

    /// Locks the state, if that takes no waiting: for who has the lock of another port, and none of
    /// the domain's.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<TryMutexGuard<'_, PortState<T>>> {
        self.state.try_lock()
    }

    /// The port has no handle any more. What it held is to be dropped under no lock: it may use
    /// ports.
    pub(super) fn empty(&self) -> Option<PortState<T>> {
        let mut state = self.state.lock();
        if state.is_bare() {
            return None;
        }
        let empty = state.emptied();
        Some(mem::replace(&mut *state, empty))
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use crate::{JoinedReceive, Port};
    use motet_dispatch::Inline;
    use std::sync::{Arc, Weak};

    /// Ports of one join, and a witness of its handler.
    fn joined() -> (Port<Arc<u32>>, Port<u32>, Weak<()>) {
        let (p, q, witness) = (Port::new(), Port::new(), Arc::new(()));
        let seen = Arc::downgrade(&witness);
        JoinedReceive::persistent((&p, &q), move |(_, _): (Arc<u32>, u32)| {
            let _ = &witness;
        })
        .activate(&Inline::new("here"))
        .unwrap();
        (p, q, seen)
    }

    #[test]
    fn what_a_port_holds_goes_with_its_last_handle_though_a_join_knows_its_inside() {
        let (p, q, join) = joined();
        let item = Arc::new(1);
        p.post(Arc::clone(&item)).unwrap();
        assert_eq!(Arc::strong_count(&item), 2);
        drop(p);
        assert_eq!(Arc::strong_count(&item), 1);
        assert!(join.upgrade().is_some(), "the other port has it");
        q.post(2).unwrap();
        assert_eq!((q.item_count(), q.receiver_count()), (1, 0), "it is over");
        assert!(join.upgrade().is_none());
    }

    #[test]
    fn a_join_goes_with_its_ports() {
        let (p, q, join) = joined();
        p.post(Arc::new(1)).unwrap();
        q.post(1).unwrap();
        p.post(Arc::new(1)).unwrap();
        drop((p, q));
        assert!(join.upgrade().is_none());
    }
}
