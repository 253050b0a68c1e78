//! What comes from outside of the simulation: acts that other threads inject.

use super::{Sim, Simulation};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Mutex, Unparker};
use std::fmt;
use std::sync::{Arc, Weak};
use std::vec;

type Act = Box<dyn FnOnce(&Sim) + Send>;

/// Acts that were injected and not carried out.
pub(super) struct Outside {
    any: AtomicBool,
    acts: Mutex<Vec<Act>>,
    /// Of the thread that runs the simulation.
    thread: Unparker,
}

/// Injects events into a running simulation, from any thread. Made by [`Simulation::injector`].
///
/// ```
/// use motet_sim::Simulation;
/// use std::thread;
/// use std::time::Duration;
///
/// let simulation = Simulation::new(1);
/// let injector = simulation.injector();
/// let sensor = thread::spawn(move || {
///     injector.inject(|sim| {
///         sim.spawn("alarm", async |sim| sim.sleep(5).await);
///     })
/// });
/// // Goes on as long as there is an injector.
/// simulation.run_paced(u64::MAX, Duration::from_micros(10)).unwrap();
/// assert!(sensor.join().unwrap());
/// assert!(simulation.now() >= 5);
/// ```
pub struct Injector(Weak<Outside>);

impl Simulation {
    /// What injects events into this simulation.
    ///
    /// [`Simulation::run_paced`] waits for events as long as there is an injector.
    /// [`Simulation::run_until`] does not wait: it takes in what is there.
    #[must_use]
    pub fn injector(&self) -> Injector {
        Injector(Arc::downgrade(&self.0.0.outside))
    }
}

impl Injector {
    /// The simulation carries this out at the virtual time that it has then, before any process
    /// goes on. `false` when the simulation is gone.
    ///
    /// The act can start processes. What is to reach a process that waits goes to its port. Acts of
    /// one thread keep their order. When they come depends on the threads: a run with them is not
    /// repeated by its seed.
    pub fn inject(&self, act: impl FnOnce(&Sim) + Send + 'static) -> bool {
        let Some(outside) = self.0.upgrade() else {
            return false;
        };
        let mut acts = outside.acts.lock();
        acts.push(Box::new(act));
        // Relaxed: the lock orders it.
        outside.any.store(true, Ordering::Relaxed);
        drop(acts);
        outside.thread.unpark();
        true
    }
}

impl Clone for Injector {
    fn clone(&self) -> Self {
        Injector(Weak::clone(&self.0))
    }
}

impl Drop for Injector {
    /// The simulation may wait for this one.
    fn drop(&mut self) {
        let outside = std::mem::take(&mut self.0).upgrade();
        if let Some(outside) = outside {
            outside.thread.unpark();
        }
    }
}

impl Outside {
    pub(super) fn new(thread: Unparker) -> Self {
        Outside {
            any: AtomicBool::new(false),
            acts: Mutex::default(),
            thread,
        }
    }

    pub(super) fn has_any(&self) -> bool {
        // Relaxed: what another thread injects is seen at some later look.
        self.any.load(Ordering::Relaxed)
    }

    /// Carries out what was injected.
    pub(super) fn carry_out(&self, sim: &Sim) {
        if !self.has_any() {
            return;
        }
        let mut waiting = self.acts.lock();
        // Relaxed: the lock orders it.
        self.any.store(false, Ordering::Relaxed);
        let acts = std::mem::take(&mut *waiting);
        drop(waiting);
        let mut left = ActsLeft(self, acts.into_iter());
        for act in left.1.by_ref() {
            act(sim);
        }
    }
}

/// Acts to be carried out. Those that are left when one panics wait again, before all others.
struct ActsLeft<'o>(&'o Outside, vec::IntoIter<Act>);

impl Drop for ActsLeft<'_> {
    fn drop(&mut self) {
        let ActsLeft(outside, left) = self;
        if !left.as_slice().is_empty() {
            let mut acts = outside.acts.lock();
            drop(acts.splice(0..0, left));
            // Relaxed: the lock orders it.
            outside.any.store(true, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Injector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector").finish_non_exhaustive()
    }
}
