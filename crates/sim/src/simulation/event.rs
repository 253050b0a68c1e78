//! Events: they happen once, and whoever waits goes on.

use super::process::Number;
use super::report::Facility;
use super::{Core, Sim};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Something that happens once, with a value.
pub struct Event<T> {
    sim: Sim,
    state: Rc<State<T>>,
}

struct State<T> {
    name: Cow<'static, str>,
    /// The number of the process whose end it is.
    end_of: Option<u64>,
    /// Reports say who waits for it.
    is_listed: Cell<bool>,
    inside: RefCell<Inside<T>>,
}

struct Inside<T> {
    value: Option<T>,
    /// Who waits, by the numbers of the waits, which are in their order. A process may wait several
    /// times.
    waiting: BTreeMap<u64, Number>,
}

/// Waits for an event. Made by [`Event::wait`].
#[must_use = "it waits when it is awaited"]
pub struct Happened<T> {
    event: Event<T>,
    /// The number of the wait, once it has begun.
    wait: Option<u64>,
}

impl<T: Clone + 'static> Event<T> {
    pub(super) fn new(sim: &Sim, name: Cow<'static, str>) -> Self {
        let event = Event::of(sim, name, None);
        event.list();
        event
    }

    /// The end of a process. Reports show it when somebody has waited for it.
    pub(super) fn end_of(sim: &Sim, name: Cow<'static, str>, serial: u64) -> Self {
        Event::of(sim, name, Some(serial))
    }

    fn of(sim: &Sim, name: Cow<'static, str>, end_of: Option<u64>) -> Self {
        let inside = RefCell::new(Inside {
            value: None,
            waiting: BTreeMap::new(),
        });
        let state = Rc::new(State {
            name,
            end_of,
            is_listed: Cell::new(false),
            inside,
        });
        Event {
            sim: sim.clone(),
            state,
        }
    }

    /// Has reports say who waits for it.
    fn list(&self) {
        if !self.state.is_listed.replace(true) {
            self.sim.0.list(&self.state);
        }
    }

    /// It happens: who waits goes on, in the order in which they came. `false` when it has happened
    /// before.
    pub fn fire(&self, value: T) -> bool {
        let mut inside = self.state.inside.borrow_mut();
        if inside.value.is_some() {
            return false;
        }
        inside.value = Some(value);
        let waiting = std::mem::take(&mut inside.waiting);
        waiting
            .into_iter()
            .for_each(|(_, process)| self.sim.0.wake(process));
        true
    }

    /// Waits until it has happened.
    pub fn wait(&self) -> Happened<T> {
        Happened {
            event: self.clone(),
            wait: None,
        }
    }
}

impl<T: Clone + 'static> Future for Happened<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let state = Rc::clone(&self.event.state);
        let mut inside = state.inside.borrow_mut();
        if let Some(value) = &inside.value {
            return Poll::Ready(value.clone());
        }
        if self.wait.is_none() {
            let core = &self.event.sim.0;
            let (wait, process) = (core.number(), core.current.get());
            inside.waiting.insert(wait, process);
            self.event.list();
            self.wait = Some(wait);
        }
        Poll::Pending
    }
}

impl<T> Drop for Happened<T> {
    fn drop(&mut self) {
        if let Some(wait) = self.wait {
            let mut inside = self.event.state.inside.borrow_mut();
            inside.waiting.remove(&wait);
        }
    }
}

impl<T> Clone for Event<T> {
    fn clone(&self) -> Self {
        Event {
            sim: self.sim.clone(),
            state: Rc::clone(&self.state),
        }
    }
}

impl<T> Facility for State<T> {
    fn waiting(&self, _: &Core) -> Vec<(Number, String)> {
        let what = match self.end_of {
            Some(serial) => format!("the end of {} {serial}", self.name),
            None => format!("the event {}", self.name),
        };
        let inside = self.inside.borrow();
        let waiting = inside.waiting.values();
        waiting.map(|process| (*process, what.clone())).collect()
    }
}

impl<T> fmt::Debug for Event<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.state.name)
    }
}

impl<T> fmt::Debug for Happened<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Happened({})", self.event.state.name)
    }
}
