//! Events: they happen once, and whoever waits goes on.

use super::process::Number;
use super::report::Facility;
use super::{Core, Sim};
use std::borrow::Cow;
use std::cell::RefCell;
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
    inside: RefCell<Inside<T>>,
}

struct Inside<T> {
    value: Option<T>,
    /// The numbers of the waits, in their order, and who waits. A process may wait several times.
    waiting: Vec<(u64, Number)>,
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
        let event = Event::unlisted(sim, name);
        sim.0.list(&event.state);
        event
    }

    /// One that no report shows.
    pub(super) fn unlisted(sim: &Sim, name: Cow<'static, str>) -> Self {
        let inside = RefCell::new(Inside {
            value: None,
            waiting: Vec::new(),
        });
        Event {
            sim: sim.clone(),
            state: Rc::new(State { name, inside }),
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
            inside.waiting.push((wait, process));
            self.wait = Some(wait);
        }
        Poll::Pending
    }
}

impl<T> Drop for Happened<T> {
    fn drop(&mut self) {
        if let Some(wait) = self.wait {
            let mut inside = self.event.state.inside.borrow_mut();
            inside.waiting.retain(|(number, _)| *number != wait);
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
        let waits = |(_, process): &(u64, Number)| (*process, format!("the event {}", self.name));
        self.inside.borrow().waiting.iter().map(waits).collect()
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
