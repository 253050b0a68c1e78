//! Processes: async functions that live in virtual time, and wait for it and for each other.
//!
//! One thread runs them all, in an order that nothing but the model decides: by time, then by who
//! was to go on first. The words are those of SimPy.
//!
//! ```text
//!   calendar  (time, number) ─► process goes on ─► waits: for a time, a resource, an item, an amount, a process
//!   ready     who goes on now, in order  ◄──────── is woken by whoever gives what it waits for
//! ```

mod calendar;
mod container;
mod event;
mod interrupt;
mod outside;
mod paced;
mod process;
mod report;
mod resource;
mod statistics;
mod store;
mod timeline;
mod trace;

pub use container::{Amount, Container};
pub use event::{Event, Happened};
pub use interrupt::{Interrupt, UnlessInterrupted};
pub use outside::Injector;
pub use process::{Process, Sleep, Timeout};
pub use report::{Stuck, StuckProcess};
pub use resource::{Held, Request, Resource};
pub use statistics::{BatchMeans, Tally, TimeWeighted};
pub use store::{Get, Put, Store};
pub use timeline::timeline;

use self::calendar::Calendar;
use self::outside::Outside;
use self::process::{Number, ProcessEntry, RunningProcess, Woken};
use self::report::Facility;
use crate::Time;
use crate::draw::{draw, exponential, uniform};
use motet_sync::Parker;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A simulation of processes. It is also a [`Sim`], by which it is reached.
///
/// Cars come to a gas station with two pumps. A car that finds the tank too empty waits for the
/// truck.
///
/// ```
/// use motet_sim::Simulation;
///
/// let simulation = Simulation::new(1);
/// let pumps = simulation.resource("pumps", 2);
/// let tank = simulation.container("tank", 200, 100);
/// for car in 0..5 {
///     let (pumps, tank) = (pumps.clone(), tank.clone());
///     simulation.spawn("car", async move |sim| {
///         sim.sleep(10 * car).await;
///         let _pump = pumps.request().await;
///         tank.get(40).await;
///         sim.sleep(30).await;
///     });
/// }
/// simulation.spawn("truck", async move |sim| {
///     sim.sleep(100).await;
///     tank.put(200 - tank.level()).await;
/// });
/// simulation.run().unwrap();
/// assert_eq!(simulation.now(), 160);
/// assert_eq!(pumps.waits().count(), 5);
/// ```
#[derive(Debug)]
pub struct Simulation(Sim);

/// What processes reach their simulation by.
#[derive(Clone)]
pub struct Sim(Rc<Core>);

/// What all parts of a simulation share. It is used by one thread, a borrow never lasts while a
/// process runs.
struct Core {
    seed: u64,
    drawn: Cell<u64>,
    now: Cell<Time>,
    /// What was numbered so far: waits in the order in which they began.
    numbered: Cell<u64>,
    calendar: RefCell<Calendar>,
    ready: RefCell<VecDeque<Number>>,
    slots: RefCell<Vec<ProcessEntry>>,
    free: RefCell<Vec<u32>>,
    /// The process that runs.
    current: Cell<Number>,
    /// Processes that have to end before the simulation has.
    alive: Cell<usize>,
    spawned: Cell<u64>,
    woken: Arc<Woken>,
    outside: Arc<Outside>,
    /// The thread that runs it sleeps here while it keeps to real time.
    parker: Parker,
    /// What processes wait for; those that are gone are left out when there is no more room.
    facilities: RefCell<Vec<Weak<dyn Facility>>>,
    /// Lines of the trace, if there is one.
    trace: RefCell<Option<Vec<String>>>,
}

impl Simulation {
    /// An empty simulation at time 0. Its random numbers follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let parker = Parker::new();
        Simulation(Sim(Rc::new(Core {
            seed,
            drawn: Cell::new(0),
            now: Cell::new(0),
            numbered: Cell::new(0),
            calendar: RefCell::new(Calendar::default()),
            ready: RefCell::default(),
            slots: RefCell::default(),
            free: RefCell::default(),
            current: Cell::new(Number::NONE),
            alive: Cell::new(0),
            spawned: Cell::new(0),
            woken: Arc::new(Woken::new(parker.unparker())),
            outside: Arc::new(Outside::new(parker.unparker())),
            parker,
            facilities: RefCell::default(),
            trace: RefCell::new(None),
        })))
    }

    /// Runs until all processes have ended.
    ///
    /// # Errors
    /// [`Stuck`] when some have not and nothing is scheduled: who waits for what.
    ///
    /// # Panics
    /// As the processes do. One that has panicked has ended; the next run goes on with the others.
    pub fn run(&self) -> Result<(), Stuck> {
        self.run_until(Time::MAX)
    }

    /// Runs what takes place before `end`. Then it is `end`, if processes are left. An `end` that
    /// has come or passed changes nothing.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    ///
    /// # Panics
    /// As the processes do.
    pub fn run_until(&self, end: Time) -> Result<(), Stuck> {
        let core = &*self.0.0;
        if end <= core.now.get() {
            return Ok(());
        }
        loop {
            self.run_now();
            if core.alive.get() == 0 {
                return Ok(());
            }
            let time = core.calendar.borrow_mut().time();
            match time {
                Some(time) if time < end => core.now.set(time),
                Some(_) if end < Time::MAX => {
                    core.now.set(end);
                    return Ok(());
                }
                // At the last time nothing takes place.
                _ => return Err(core.stuck()),
            }
        }
    }

    /// Runs what takes place at the present time.
    fn run_now(&self) {
        let core = &*self.0.0;
        loop {
            core.outside.carry_out(&self.0);
            let next = core.calendar.borrow_mut().next(core.now.get());
            match next.or_else(|| core.next_ready()) {
                Some(number) => core.go_on(number),
                None => return,
            }
        }
    }
}

impl Sim {
    /// The virtual time, in ticks whose length the model decides.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Time {
        self.0.now.get()
    }

    /// The next random number, of 64 bits.
    #[must_use]
    pub fn draw(&self) -> u64 {
        let drawn = self.0.drawn.get();
        self.0.drawn.set(drawn + 1);
        draw(self.0.seed, 0, drawn)
    }

    /// A random number in [0, 1).
    #[must_use]
    pub fn uniform(&self) -> f64 {
        uniform(self.draw())
    }

    /// A random number from `low` to `high`, `high` included.
    ///
    /// # Panics
    /// When `low` is greater than `high`.
    #[must_use]
    pub fn between(&self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "between {low} and {high} there is no number");
        let values = u128::from(high - low) + 1;
        low + ((u128::from(self.draw()) * values) >> 64) as u64
    }

    /// A random time of the exponential distribution with this mean, in whole ticks.
    /// It is rounded as that of [`Out::exponential`](crate::Out::exponential).
    ///
    /// # Panics
    /// When `mean` is negative or no number. An infinite one gives [`Time::MAX`].
    #[must_use]
    #[track_caller]
    pub fn exponential(&self, mean: f64) -> Time {
        exponential(mean, self.uniform())
    }

    /// Starts a process now. It is called by its name and a number, in errors and in the trace.
    ///
    /// What ends a wait wakes its process. A combinator that polls its parts by wakers of its own,
    /// as `FuturesUnordered`, does not hear of it: await each part by a process instead.
    pub fn spawn<R: Clone + 'static>(
        &self,
        name: impl Into<Cow<'static, str>>,
        body: impl AsyncFnOnce(Sim) -> R + 'static,
    ) -> Process<R> {
        process::spawn(self, name.into(), false, body)
    }

    /// Starts a process whose end is not waited for: a simulation has ended, and is not stuck, when
    /// all others have ended.
    pub fn spawn_background<R: Clone + 'static>(
        &self,
        name: impl Into<Cow<'static, str>>,
        body: impl AsyncFnOnce(Sim) -> R + 'static,
    ) -> Process<R> {
        process::spawn(self, name.into(), true, body)
    }

    /// A resource of so many equal units.
    #[must_use]
    pub fn resource(&self, name: impl Into<Cow<'static, str>>, units: usize) -> Resource {
        Resource::new(self, name.into(), units)
    }

    /// A container of an amount that may not exceed its capacity.
    ///
    /// # Panics
    /// When it holds more than its capacity at the start.
    #[must_use]
    pub fn container(
        &self,
        name: impl Into<Cow<'static, str>>,
        capacity: u64,
        level: u64,
    ) -> Container {
        Container::new(self, name.into(), capacity, level)
    }

    /// A store of so many items at most.
    #[must_use]
    pub fn store<T: 'static>(
        &self,
        name: impl Into<Cow<'static, str>>,
        capacity: usize,
    ) -> Store<T> {
        Store::new(self, name.into(), capacity)
    }

    /// An event that happens once.
    #[must_use]
    pub fn event<T: Clone + 'static>(&self, name: impl Into<Cow<'static, str>>) -> Event<T> {
        Event::new(self, name.into())
    }
}

impl Core {
    fn number(&self) -> u64 {
        let number = self.numbered.get();
        self.numbered.set(number + 1);
        number
    }

    /// Reports say who waits for it.
    fn list<F: Facility + 'static>(&self, facility: &Rc<F>) {
        let mut facilities = self.facilities.borrow_mut();
        if facilities.len() == facilities.capacity() {
            facilities.retain(|facility| facility.strong_count() > 0);
            let kept = facilities.len();
            facilities.reserve(kept + 1);
        }
        facilities.push(Rc::downgrade(facility) as Weak<dyn Facility>);
    }

    /// The process goes on now, after those that were to go on before.
    fn wake(&self, number: Number) {
        self.ready.borrow_mut().push_back(number);
    }

    fn next_ready(&self) -> Option<Number> {
        let next = self.ready.borrow_mut().pop_front();
        next.or_else(|| {
            // Ports and other futures wake processes by their wakers.
            self.ready.borrow_mut().extend(self.woken.take());
            self.ready.borrow_mut().pop_front()
        })
    }

    fn go_on(&self, number: Number) {
        let Some((mut future, waker)) = self.take_future(number) else {
            return;
        };
        let running = RunningProcess::begin(self, number);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        running.came_back();
        match polled {
            Poll::Pending => self.put_back(number, future, waker),
            Poll::Ready(()) => self.ended(number, waker),
        }
    }

    fn put_back(&self, number: Number, future: process::Body, waker: Waker) {
        let slot = &mut self.slots.borrow_mut()[number.slot as usize];
        (slot.future, slot.waker) = (Some(future), Some(waker));
    }
}

impl Deref for Simulation {
    type Target = Sim;

    fn deref(&self) -> &Sim {
        &self.0
    }
}

/// So many processes are dropped with a simulation, those included that destructors start; or 16
/// times as many as it had.
const MOST_STARTED: usize = 1 << 16;

impl Drop for Simulation {
    /// Drops the processes, which hold the simulation; also those that their destructors start.
    ///
    /// # Panics
    /// When these start others without an end.
    fn drop(&mut self) {
        let core = &*self.0.0;
        let (mut dropped, mut most) = (0, 0);
        loop {
            core.free.borrow_mut().clear();
            let slots = std::mem::take(&mut *core.slots.borrow_mut());
            if slots.is_empty() {
                return;
            }
            if dropped == 0 {
                most = MOST_STARTED.max(16 * slots.len());
            }
            dropped += slots.len();
            drop(slots);
            if dropped > most {
                break;
            }
        }
        // Those that are left stay in memory.
        assert!(
            std::thread::panicking(),
            "destructors of processes start processes without an end: have them start none"
        );
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim")
            .field("now", &self.now())
            .field("processes", &self.0.alive.get())
            .finish_non_exhaustive()
    }
}
