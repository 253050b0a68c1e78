//! A node leaves in order.

use super::{BRINGS, Links, Peer};
use motet_sync::{Parker, thread};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zenoh::Wait;

/// How long a node that leaves waits for all its peers to hear so: they may be stopped.
const HEARD: Duration = Duration::from_millis(200);

/// How long until it is looked again.
const LOOK: Duration = Duration::from_micros(200);

impl Links {
    /// Leaves: the others are told at once, behind the last frames. The session is closed when they
    /// have heard it: that may overtake frames. The node may be dropped with a message that it
    /// takes: then another thread does it, since zenoh waits for those that bring messages.
    pub(crate) fn close(self: &Arc<Self>) {
        let peers: Vec<_> = self.peers.lock().values().cloned().collect();
        for peer in &peers {
            self.act(peer, |_, link, out| link.leave(Instant::now(), out));
        }
        let links = Arc::clone(self);
        let close = move || {
            let until = Instant::now() + HEARD;
            while !peers.iter().all(has_heard_all) && Instant::now() < until {
                let _ = Parker::new().park_timeout(LOOK);
            }
            for peer in &peers {
                links.act(peer, |_, link, out| link.say_left(true, out));
            }
            // An error: it is closed already.
            let _ = links.session.close().wait();
        };
        match BRINGS.with(Cell::get) {
            false => close(),
            // An error: the machine has no more threads. The others see the process end.
            true => drop(thread::spawn_named("motet-mesh-leaves", close)),
        }
        self.wake();
    }
}

/// Whether a peer has heard that this node leaves, or has no link.
fn has_heard_all(peer: &Arc<Peer>) -> bool {
    let current = &peer.state.lock().current;
    current
        .as_ref()
        .is_none_or(|current| current.link.has_heard_all())
}
