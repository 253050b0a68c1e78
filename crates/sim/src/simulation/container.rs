//! Containers: an amount that processes take from and add to.

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

/// An amount that may not exceed a capacity. Who takes more than there is waits, and who adds more
/// than fits; each in line.
#[derive(Clone)]
pub struct Container {
    sim: Sim,
    state: Rc<State>,
}

struct State {
    name: Cow<'static, str>,
    capacity: u64,
    inside: RefCell<Inside>,
}

struct Inside {
    /// When a wait that was served is given up, it may lie below 0, or above the capacity, until
    /// others have made that good.
    level: i128,
    takers: Line,
    givers: Line,
}

/// Who waits, by the numbers of the waits, which are in their order.
type Line = BTreeMap<u64, Waiter>;

struct Waiter {
    process: Number,
    amount: u64,
    done: Rc<Cell<bool>>,
}

/// Waits until an amount was taken or added. Made by [`Container::get`] and [`Container::put`].
#[must_use = "it waits when it is awaited"]
pub struct Amount {
    container: Container,
    amount: u64,
    takes: bool,
    /// The number of the wait, and whether it was served.
    waits: Option<(u64, Rc<Cell<bool>>)>,
}

impl Container {
    pub(super) fn new(sim: &Sim, name: Cow<'static, str>, capacity: u64, level: u64) -> Self {
        assert!(
            level <= capacity,
            "{name} holds {level} at the start, and its capacity is {capacity}: lower one or raise the other"
        );
        let inside = RefCell::new(Inside {
            level: level.into(),
            takers: Line::new(),
            givers: Line::new(),
        });
        let state = Rc::new(State {
            name,
            capacity,
            inside,
        });
        sim.0.list(&state);
        Container {
            sim: sim.clone(),
            state,
        }
    }

    /// What it holds; 0 as long as it owes some that was taken before its [`Container::put`] was
    /// given up.
    #[must_use]
    pub fn level(&self) -> u64 {
        self.state.inside.borrow().held()
    }

    /// What it can hold.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.state.capacity
    }

    /// Takes this amount, when those before have theirs and there is as much. More than the
    /// capacity is waited for in vain.
    pub fn get(&self, amount: u64) -> Amount {
        self.wants(amount, true)
    }

    /// Adds this amount, when those before have and there is room.
    pub fn put(&self, amount: u64) -> Amount {
        self.wants(amount, false)
    }

    fn wants(&self, amount: u64, takes: bool) -> Amount {
        Amount {
            container: self.clone(),
            amount,
            takes,
            waits: None,
        }
    }

    /// Serves those who wait, as long as one of them can be.
    fn serve(&self, inside: &mut Inside) {
        loop {
            let level = inside.level;
            let room = i128::from(self.state.capacity) - level;
            let fits = |line: &Line, most: i128| {
                let first = line.first_key_value();
                first.is_some_and(|(_, waiter)| i128::from(waiter.amount) <= most)
            };
            let (served, after) = if fits(&inside.givers, room) {
                let Some((_, giver)) = inside.givers.pop_first() else {
                    return;
                };
                let after = level + i128::from(giver.amount);
                (giver, after)
            } else if fits(&inside.takers, level) {
                let Some((_, taker)) = inside.takers.pop_first() else {
                    return;
                };
                let after = level - i128::from(taker.amount);
                (taker, after)
            } else {
                return;
            };
            inside.level = after;
            served.done.set(true);
            self.sim.0.wake(served.process);
        }
    }
}

impl Inside {
    /// What is there to be taken.
    fn held(&self) -> u64 {
        u64::try_from(self.level.max(0)).unwrap_or(u64::MAX)
    }

    /// Adds an amount, or takes it away.
    fn change(&mut self, amount: u64, adds: bool) {
        let amount = i128::from(amount);
        self.level += if adds { amount } else { -amount };
    }
}

impl Future for Amount {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some((_, done)) = &self.waits {
            return if done.get() {
                self.waits = None;
                Poll::Ready(())
            } else {
                Poll::Pending
            };
        }
        let container = self.container.clone();
        let (core, amount) = (&*container.sim.0, self.amount);
        let (name, process) = (&container.state.name, core.current.get());
        let mut inside = container.state.inside.borrow_mut();
        let done = Rc::new(Cell::new(false));
        let waiter = Waiter {
            process,
            amount,
            done: Rc::clone(&done),
        };
        let room = i128::from(container.state.capacity) - inside.level;
        let now = match self.takes {
            true => inside.takers.is_empty() && i128::from(amount) <= inside.level,
            false => inside.givers.is_empty() && i128::from(amount) <= room,
        };
        if now {
            inside.change(amount, !self.takes);
            let verb = if self.takes { "takes" } else { "adds" };
            core.tell(process, || format!("{verb} {amount} of {name}"));
            container.serve(&mut inside);
            return Poll::Ready(());
        }
        let line = match self.takes {
            true => &mut inside.takers,
            false => &mut inside.givers,
        };
        let number = core.number();
        line.insert(number, waiter);
        core.tell(process, || format!("waits for {amount} of {name}"));
        self.waits = Some((number, done));
        Poll::Pending
    }
}

impl Drop for Amount {
    fn drop(&mut self) {
        let Some((number, done)) = self.waits.take() else {
            return;
        };
        let mut inside = self.container.state.inside.borrow_mut();
        if done.get() {
            // It was served and does not know: as if it had not been.
            inside.change(self.amount, self.takes);
        } else {
            let line = match self.takes {
                true => &mut inside.takers,
                false => &mut inside.givers,
            };
            line.remove(&number);
        }
        self.container.serve(&mut inside);
    }
}

impl Facility for State {
    fn waiting(&self, _: &Core) -> Vec<(Number, String)> {
        let inside = self.inside.borrow();
        let (name, level, capacity) = (&self.name, inside.held(), self.capacity);
        let takers = inside.takers.values().map(|waiter| {
            let amount = waiter.amount;
            (
                waiter.process,
                format!("{amount} of {name}, which holds {level} and can hold {capacity}"),
            )
        });
        let givers = inside.givers.values().map(|waiter| {
            let amount = waiter.amount;
            (
                waiter.process,
                format!("room for {amount} in {name}, which holds {level} of {capacity}"),
            )
        });
        takers.chain(givers).collect()
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, level) = (&self.state.name, self.level());
        write!(f, "Container({name}, {level} of {})", self.capacity())
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.takes { "get" } else { "put" };
        write!(f, "Amount({verb} {})", self.amount)
    }
}
