//! Sleeping until a message comes.

use super::Engine;
use std::time::Duration;

/// How long is waited for what wakes nobody: messages over MPI, and room in a ring.
const NAP: Duration = Duration::from_micros(200);

impl Engine {
    /// Waits until there may be something for [`Engine::progress`], until [`Engine::rouse`] (also
    /// one that came before), or for so long. It waits less where it has to be looked for. One
    /// thread at a time calls it.
    pub fn wait(&self, limit: Duration) {
        let limit = match self.asks_mpi || self.shared.waiting() > 0 {
            true => limit.min(NAP),
            false => limit,
        };
        self.bedroom.sleep(limit, || {
            // Another thread that is at it takes in what is there, or has looked too early: this
            // one is to look again.
            let receiving = self.receiving.try_lock();
            receiving.is_none_or(|receiving| receiving.shared.has_any())
        });
    }

    /// Ends the wait of another thread, or the next one.
    pub fn rouse(&self) {
        self.bedroom.rouse();
    }
}
