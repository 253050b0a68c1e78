//! Resources: some equal units, which processes hold for a while.

use super::process::Number;
use super::report::Facility;
use super::statistics::{Tally, TimeWeighted};
use super::{Core, Interrupt, Sim};
use crate::Time;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// So many equal units; a process that finds none free waits in line.
///
/// Requests of a smaller [priority](Request::priority) come first, of the same in their order. A
/// request may [preempt](Request::preempting) a holder of a greater one, who is
/// [interrupted](Sim::unless_interrupted).
#[derive(Clone)]
pub struct Resource {
    sim: Sim,
    state: Rc<State>,
}

struct State {
    name: Cow<'static, str>,
    units: usize,
    inside: RefCell<Inside>,
}

struct Inside {
    /// By priority, then by the order in which they came.
    line: BTreeMap<Rank, Waiter>,
    /// By rank: the last is the first to be preempted.
    holders: BTreeMap<Rank, Number>,
    in_use: TimeWeighted,
    waiting: TimeWeighted,
    waits: Tally,
    /// The units in use and the length of the line, whenever they changed.
    history: Option<Vec<(Time, usize, usize)>>,
}

type Rank = (i32, u64);

struct Waiter {
    process: Number,
    since: Time,
    granted: Rc<Cell<bool>>,
}

/// Waits for a unit of a resource. Made by [`Resource::request`].
#[must_use = "it waits when it is awaited"]
pub struct Request {
    resource: Resource,
    priority: i32,
    preempts: bool,
    /// Its place in the line, and whether it has left that with a unit.
    waits: Option<(Rank, Rc<Cell<bool>>)>,
}

/// A unit that a process holds, until this is dropped.
#[must_use = "the unit is given back when this is dropped"]
pub struct Held {
    resource: Resource,
    rank: Rank,
}

impl Resource {
    pub(super) fn new(sim: &Sim, name: Cow<'static, str>, units: usize) -> Self {
        let now = sim.now();
        let state = Rc::new(State {
            name,
            units,
            inside: RefCell::new(Inside {
                line: BTreeMap::new(),
                holders: BTreeMap::new(),
                in_use: TimeWeighted::new(now, 0.0),
                waiting: TimeWeighted::new(now, 0.0),
                waits: Tally::default(),
                history: None,
            }),
        });
        sim.0.list(&state);
        Resource {
            sim: sim.clone(),
            state,
        }
    }

    /// Waits for a unit, with priority 0.
    pub fn request(&self) -> Request {
        Request {
            resource: self.clone(),
            priority: 0,
            preempts: false,
            waits: None,
        }
    }

    /// The resource's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The units there are.
    #[must_use]
    pub fn units(&self) -> usize {
        self.state.units
    }

    /// The units that are held now.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.state.inside.borrow().holders.len()
    }

    /// The processes that wait now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state.inside.borrow().line.len()
    }

    /// The units in use, averaged over time.
    #[must_use]
    pub fn mean_in_use(&self) -> f64 {
        self.state.inside.borrow().in_use.mean(self.sim.now())
    }

    /// The length of the line, averaged over time.
    #[must_use]
    pub fn mean_waiting(&self) -> f64 {
        self.state.inside.borrow().waiting.mean(self.sim.now())
    }

    /// How long those who have a unit, or had one, have waited for it.
    #[must_use]
    pub fn waits(&self) -> Tally {
        self.state.inside.borrow().waits
    }

    /// Forgets what the means and the waits have seen so far: the end of a warm-up.
    pub fn restart_statistics(&self) {
        let (now, mut inside) = (self.sim.now(), self.state.inside.borrow_mut());
        inside.in_use.restart(now);
        inside.waiting.restart(now);
        inside.waits = Tally::default();
    }

    /// Keeps what the [time line](super::timeline) shows, from now on.
    pub fn keep_history(&self) {
        let mut inside = self.state.inside.borrow_mut();
        let now = (self.sim.now(), inside.holders.len(), inside.line.len());
        inside.history = Some(vec![now]);
    }

    /// Times at which the units in use or the length of the line changed, with both.
    #[must_use]
    pub fn history(&self) -> Vec<(Time, usize, usize)> {
        let inside = self.state.inside.borrow();
        inside.history.clone().unwrap_or_default()
    }

    /// Up to when the time line goes.
    pub(super) fn end(&self) -> Time {
        self.sim.now()
    }

    fn changed(&self, inside: &mut Inside) {
        let (now, held, line) = (self.sim.now(), inside.holders.len(), inside.line.len());
        inside.in_use.set(now, held as f64);
        inside.waiting.set(now, line as f64);
        if let Some(history) = &mut inside.history {
            history.push((now, held, line));
        }
    }

    /// Gives free units to those who wait, in their order.
    fn give(&self, inside: &mut Inside) {
        while inside.holders.len() < self.state.units
            && let Some((rank, waiter)) = inside.line.pop_first()
        {
            let process = waiter.process;
            inside.holders.insert(rank, process);
            inside.waits.add((self.sim.now() - waiter.since) as f64);
            waiter.granted.set(true);
            self.sim.0.wake(process);
        }
        self.changed(inside);
    }

    /// Gives a unit back, unless it was taken away.
    fn release(&self, rank: Rank) {
        let mut inside = self.state.inside.borrow_mut();
        if let Some(holder) = inside.holders.remove(&rank) {
            let name = &self.state.name;
            self.sim.0.tell(holder, || format!("gives {name} back"));
            self.give(&mut inside);
        }
    }

    /// Takes a unit from the holder of the greatest rank, if that is of a greater priority.
    fn preempt(&self, inside: &mut Inside, priority: i32, by: Number) {
        let Some(worst) = inside.holders.last_entry() else {
            return;
        };
        if worst.key().0 > priority {
            let process = worst.remove();
            let interrupt = Interrupt::Preempted {
                resource: self.state.name.to_string(),
                by: self.sim.0.name_of(by),
            };
            self.sim.0.interrupt(process, interrupt);
        }
    }
}

impl Request {
    /// Of two requests the one of the smaller priority comes first.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// If no unit is free, one is taken from a holder of a greater priority.
    pub fn preempting(mut self) -> Self {
        self.preempts = true;
        self
    }

    fn held(&self, rank: Rank) -> Held {
        let resource = self.resource.clone();
        let name = &resource.state.name;
        let current = self.resource.sim.0.current.get();
        self.resource
            .sim
            .0
            .tell(current, || format!("holds {name}"));
        Held { resource, rank }
    }
}

impl Future for Request {
    type Output = Held;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Held> {
        if let Some((rank, granted)) = &self.waits {
            if !granted.get() {
                return Poll::Pending;
            }
            let rank = *rank;
            self.waits = None;
            return Poll::Ready(self.held(rank));
        }
        let resource = self.resource.clone();
        let core = &*resource.sim.0;
        let process = core.current.get();
        let rank = (self.priority, core.number());
        let mut inside = resource.state.inside.borrow_mut();
        if self.preempts && inside.holders.len() == resource.state.units {
            resource.preempt(&mut inside, self.priority, process);
        }
        let ahead = inside
            .line
            .first_key_value()
            .is_some_and(|(first, _)| *first < rank);
        if inside.holders.len() < resource.state.units && !ahead {
            inside.holders.insert(rank, process);
            inside.waits.add(0.0);
            resource.changed(&mut inside);
            return Poll::Ready(self.held(rank));
        }
        let granted = Rc::new(Cell::new(false));
        let waiter = Waiter {
            process,
            since: resource.sim.now(),
            granted: Rc::clone(&granted),
        };
        inside.line.insert(rank, waiter);
        self.waits = Some((rank, granted));
        core.tell(process, || format!("waits for {}", resource.state.name));
        // A unit may be free that somebody behind waits for.
        resource.give(&mut inside);
        Poll::Pending
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some((rank, granted)) = self.waits.take() {
            if granted.get() {
                self.resource.release(rank);
            } else {
                let mut inside = self.resource.state.inside.borrow_mut();
                inside.line.remove(&rank);
                self.resource.changed(&mut inside);
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.resource.release(self.rank);
    }
}

impl Facility for State {
    fn waiting(&self, core: &Core) -> Vec<(Number, String)> {
        const SHOWN: usize = 4;
        let inside = self.inside.borrow();
        let shown = inside.holders.values().take(SHOWN);
        let mut holders: Vec<String> = shown.map(|holder| core.name_of(*holder)).collect();
        if let Some(more @ 1..) = inside.holders.len().checked_sub(SHOWN) {
            holders.push(format!("{more} more"));
        }
        let what = match self.units {
            0 => format!("{}, which has no unit", self.name),
            _ => format!("{}, which {} holds", self.name, holders.join(" and ")),
        };
        let line = inside.line.values();
        line.map(|waiter| (waiter.process, what.clone())).collect()
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, units, held) = (self.name(), self.units(), self.in_use());
        write!(f, "Resource({name}, {held} of {units} in use)")
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({})", self.resource.name())
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", self.resource.name())
    }
}
