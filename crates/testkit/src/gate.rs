//! A place where threads wait until the test lets them pass.

use motet_sync::{Arc, Condvar, Mutex};

/// Closed at first; clones are the same gate.
///
/// ```
/// use motet_testkit::Gate;
///
/// let gate = Gate::new();
/// gate.open();
/// gate.pass();
/// ```
#[derive(Debug, Clone, Default)]
pub struct Gate {
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiting: usize,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Gate::default()
    }

    /// Lets everyone pass, those who wait and those who come.
    pub fn open(&self) {
        self.state.0.lock().open = true;
        self.state.1.notify_all();
    }

    /// Holds those who come from now on.
    pub fn close(&self) {
        self.state.0.lock().open = false;
    }

    /// Whether the gate is open now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state.0.lock().open
    }

    /// Blocks this thread until the gate is open.
    pub fn pass(&self) {
        let mut state = self.state.0.lock();
        state.waiting += 1;
        self.state.1.notify_all();
        while !state.open {
            state = self.state.1.wait(state);
        }
        state.waiting -= 1;
    }

    /// Blocks this thread until `count` threads wait at the gate.
    pub fn wait_for(&self, count: usize) {
        let mut state = self.state.0.lock();
        while state.waiting < count {
            state = self.state.1.wait(state);
        }
    }
}
