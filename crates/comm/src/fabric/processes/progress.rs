//! Who looks for messages from other processes: the ranks that wait, or a thread of the run's own,
//! the server.
//!
//! While ranks look, the server would only take their core from them. So it sleeps, longer each
//! time, and whoever of the ranks stops looking to sleep wakes it:
//!
//! ```text
//!  the rank                               the server
//!  1  sleeps += 1                         a  waits = true
//!  2  fence                               b  fence
//!  3  if waits: wake the server           c  if sleeps has changed: do not sleep
//! ```
//!
//! Of two SeqCst fences one comes first: either 3 sees a, or c sees 1. A rank that stops looking to
//! compute tells nobody: the server finds out at the end of its sleep.

use super::RunProcesses;
use motet_sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use motet_sync::{Parker, Unparker};
use std::mem;
use std::sync::OnceLock;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct ServerProgress {
    /// Changes when a rank looks for messages.
    looks: AtomicU32,
    /// Goes up when a rank stops looking, to sleep.
    sleeps: AtomicU32,
    /// The server sleeps since ranks look.
    waits: AtomicBool,
    server: OnceLock<Unparker>,
}

/// What the server has seen of the ranks.
pub(crate) struct ServerView<'a> {
    progress: &'a ServerProgress,
    parker: Parker,
    looks: u32,
    sleeps: u32,
    /// So many times more it looks since ranks have gone to sleep, though others look.
    alert: u32,
    /// How long it sleeps next while ranks look.
    nap: Duration,
}

/// What the server is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerTurn {
    /// The ranks look, or have until now: nothing, it has slept.
    Slept,
    /// No rank looks: it is to.
    Look,
}

impl RunProcesses {
    /// A rank that has looked for messages is about to sleep.
    pub(in crate::fabric) fn sleeps(&self) {
        self.progress.sleeps();
    }

    /// The calling thread looks for messages while no rank does.
    pub(crate) fn serve(&self) -> ServerView<'_> {
        self.progress.serve()
    }

    /// Waits until a message may have come, or for so long, or until [`RunProcesses::rouse`].
    pub(crate) fn wait(&self, limit: Duration) {
        self.transport.wait(self.nap(limit));
    }

    /// Has the thread that looks for messages go on, wherever it sleeps.
    pub(crate) fn rouse(&self) {
        self.progress.wake();
        self.transport.rouse();
    }
}

impl ServerProgress {
    /// A rank looks for messages.
    #[inline]
    pub(super) fn looks(&self) {
        // Relaxed, and not as one operation: it only says that somebody looks.
        let looks = self.looks.load(Ordering::Relaxed);
        self.looks.store(looks.wrapping_add(1), Ordering::Relaxed);
    }

    /// A rank is about to sleep.
    #[cold]
    fn sleeps(&self) {
        // Release: who sees it sees that the rank has looked.
        self.sleeps.fetch_add(1, Ordering::Release);
        // As the module says.
        fence(Ordering::SeqCst);
        if self.waits.load(Ordering::Relaxed) && self.waits.swap(false, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Ends the server's sleep.
    fn wake(&self) {
        if let Some(server) = self.server.get() {
            server.unpark();
        }
    }

    /// The calling thread is the server.
    fn serve(&self) -> ServerView<'_> {
        let parker = Parker::new();
        let first = self.server.set(parker.unparker()).is_ok();
        debug_assert!(first, "a run has one server");
        ServerView {
            progress: self,
            parker,
            looks: self.looks.load(Ordering::Relaxed),
            sleeps: self.sleeps.load(Ordering::Relaxed),
            alert: ServerView::ALERT,
            nap: ServerView::SHORTEST,
        }
    }
}

impl ServerView<'_> {
    /// How long it sleeps at first while ranks look. When they compute a message is seen so late.
    pub(crate) const SHORTEST: Duration = Duration::from_micros(200);
    /// How long at most, when they have looked all the time: so late may be seen what comes when
    /// they compute then.
    const LONGEST: Duration = Duration::from_micros(800);

    /// Looks of the server before it naps where ranks go to sleep and others look.
    const ALERT: u32 = 4;

    /// Sleeps if ranks look for messages.
    pub(crate) fn turn(&mut self) -> ServerTurn {
        // Acquire, and first: of a rank that sleeps all looks but the very last are seen then. That
        // comes within this thread's looks; if not, it costs the shortest nap.
        let sleeps = self.progress.sleeps.load(Ordering::Acquire);
        let have_slept = sleeps != mem::replace(&mut self.sleeps, sleeps);
        // Relaxed: messages carry everything else.
        let looks = self.progress.looks.load(Ordering::Relaxed);
        if looks == mem::replace(&mut self.looks, looks) {
            (self.alert, self.nap) = (Self::ALERT, Self::SHORTEST);
            return ServerTurn::Look;
        }
        if !have_slept {
            self.sleep();
            (self.alert, self.nap) = (Self::ALERT, Self::LONGEST.min(2 * self.nap));
            return ServerTurn::Slept;
        }
        self.nap = Self::SHORTEST;
        if self.alert > 0 {
            self.alert -= 1;
            return ServerTurn::Look;
        }
        // Others look: however often some of the ranks sleep, they do not wake the server more
        // often than this.
        self.alert = Self::ALERT;
        if !cfg!(motet_loom) {
            let _until_then = self.parker.park_timeout(self.nap);
        }
        ServerTurn::Slept
    }

    fn sleep(&self) {
        let ServerProgress { waits, sleeps, .. } = self.progress;
        waits.store(true, Ordering::Relaxed);
        // As the module says.
        fence(Ordering::SeqCst);
        if sleeps.load(Ordering::Relaxed) == self.sleeps {
            self.nap();
        }
        waits.store(false, Ordering::Relaxed);
    }

    fn nap(&self) {
        if cfg!(motet_loom) {
            // A model does without the limit: whoever sleeps must be woken.
            return self.parker.park();
        }
        // Woken or not: the next turn sees what the ranks do.
        let _woken = self.parker.park_timeout(self.nap);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use motet_sync::thread;

    #[test]
    fn while_ranks_look_the_server_sleeps_longer_each_time() {
        let progress = ServerProgress::default();
        let mut server = progress.serve();
        assert_eq!(server.turn(), ServerTurn::Look, "nobody has looked");
        for times in [2, 4, 4] {
            progress.looks();
            assert_eq!(server.turn(), ServerTurn::Slept);
            assert_eq!(server.nap, ServerView::SHORTEST * times);
        }
        assert_eq!(server.turn(), ServerTurn::Look);
        assert_eq!(server.nap, ServerView::SHORTEST);
    }

    #[test]
    fn ranks_that_sleep_while_others_look_do_not_keep_the_server_awake() {
        let progress = ServerProgress::default();
        let mut server = progress.serve();
        for _ in 0..3 {
            let turns = (0..=ServerView::ALERT).map(|_| {
                progress.looks();
                progress.sleeps();
                server.turn()
            });
            let slept = turns.filter(|turn| *turn == ServerTurn::Slept);
            assert_eq!(slept.count(), 1);
        }
        progress.looks();
        assert_eq!(server.turn(), ServerTurn::Slept, "nobody sleeps any more");
    }

    #[test]
    fn a_rank_that_goes_to_sleep_wakes_the_server() {
        let progress = std::sync::Arc::new(ServerProgress::default());
        let served = std::sync::Arc::clone(&progress);
        let server = thread::spawn(move || {
            let mut server = served.serve();
            server.nap = Duration::from_secs(3600);
            served.looks();
            server.turn()
        });
        while !progress.waits.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        progress.sleeps();
        assert_eq!(server.join().unwrap(), ServerTurn::Slept);
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{Arc, thread};

    /// Two ranks look and go to sleep: the server does not sleep on when both do.
    #[test]
    fn loom_the_server_looks_when_the_ranks_sleep() {
        loom::model(|| {
            let shared = Arc::new((ServerProgress::default(), AtomicU32::new(0)));
            let mut server = shared.0.serve();
            let ranks = [(); 2].map(|()| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (progress, asleep) = &*shared;
                    progress.looks();
                    asleep.fetch_add(1, Ordering::Relaxed);
                    progress.sleeps();
                })
            });
            while server.turn() == ServerTurn::Slept || shared.1.load(Ordering::Relaxed) < 2 {
                thread::yield_now();
            }
            ranks.into_iter().for_each(|rank| rank.join().unwrap());
        });
    }
}
