//! One process: its future, its name, and how it waits for time.

use super::event::{Event, Happened};
use super::{Core, Interrupt, Sim};
use crate::Time;
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Mutex, Unparker};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

pub(super) type Body = Pin<Box<dyn Future<Output = ()>>>;

/// A place for a process, and how many have used it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl Number {
    /// No process.
    pub(super) const NONE: Number = Number {
        slot: u32::MAX,
        generation: 0,
    };
}

/// Where a process lives.
pub(super) struct ProcessEntry {
    generation: u32,
    pub(super) name: Cow<'static, str>,
    /// How many processes were started before.
    pub(super) serial: u64,
    pub(super) background: bool,
    /// `None` while it runs, and when there is none.
    pub(super) future: Option<Body>,
    pub(super) waker: Option<Waker>,
    /// What it has not heard of yet, in the order in which it came.
    pub(super) interrupts: VecDeque<Interrupt>,
    pub(super) alive: bool,
}

/// Processes that were woken by their wakers.
pub(super) struct Woken {
    any: AtomicBool,
    numbers: Mutex<Vec<Number>>,
    /// Of the thread that runs the simulation.
    thread: Unparker,
}

impl Woken {
    pub(super) fn new(thread: Unparker) -> Self {
        Woken {
            any: AtomicBool::new(false),
            numbers: Mutex::default(),
            thread,
        }
    }

    pub(super) fn has_any(&self) -> bool {
        // Relaxed: what another thread does is seen at some later look.
        self.any.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self) -> Vec<Number> {
        if !self.has_any() {
            return Vec::new();
        }
        let mut numbers = self.numbers.lock();
        // Relaxed: the lock orders it.
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *numbers)
    }
}

struct ProcessWaker {
    number: Number,
    woken: Arc<Woken>,
}

impl Wake for ProcessWaker {
    fn wake(self: Arc<Self>) {
        let mut numbers = self.woken.numbers.lock();
        numbers.push(self.number);
        // Relaxed: the lock orders it.
        self.woken.any.store(true, Ordering::Relaxed);
        drop(numbers);
        self.woken.thread.unpark();
    }
}

/// A process that was started. Awaited by another one, it gives the result; dropped, it goes on.
pub struct Process<R> {
    sim: Sim,
    number: Number,
    ended: Event<R>,
}

pub(super) fn spawn<R: Clone + 'static>(
    sim: &Sim,
    name: Cow<'static, str>,
    background: bool,
    body: impl AsyncFnOnce(Sim) -> R + 'static,
) -> Process<R> {
    let core = &*sim.0;
    let serial = core.spawned.replace(core.spawned.get() + 1);
    let ended = Event::end_of(sim, name.clone(), serial);
    let (tell, own) = (ended.clone(), sim.clone());
    let future: Body = Box::pin(async move {
        let result = body(own).await;
        tell.fire(result);
    });
    let mut slots = core.slots.borrow_mut();
    let reused = core.free.borrow_mut().pop();
    let at = reused.unwrap_or_else(|| {
        slots.push(ProcessEntry::default());
        slots.len() as u32 - 1
    });
    let slot = &mut slots[at as usize];
    slot.generation += 1;
    let number = Number {
        slot: at,
        generation: slot.generation,
    };
    (slot.name, slot.serial, slot.background) = (name, serial, background);
    (slot.future, slot.alive) = (Some(future), true);
    slot.waker = Some(Waker::from(Arc::new(ProcessWaker {
        number,
        woken: Arc::clone(&core.woken),
    })));
    drop(slots);
    if !background {
        core.alive.set(core.alive.get() + 1);
    }
    core.tell(number, || "starts".to_owned());
    core.wake(number);
    Process {
        sim: sim.clone(),
        number,
        ended,
    }
}

/// A process that runs now. One that does not come back from there has panicked, and has ended.
pub(super) struct RunningProcess<'c> {
    core: &'c Core,
    number: Number,
    is_back: bool,
}

impl<'c> RunningProcess<'c> {
    pub(super) fn begin(core: &'c Core, number: Number) -> Self {
        core.current.set(number);
        RunningProcess {
            core,
            number,
            is_back: false,
        }
    }

    pub(super) fn came_back(mut self) {
        self.is_back = true;
    }
}

impl Drop for RunningProcess<'_> {
    fn drop(&mut self) {
        self.core.current.set(Number::NONE);
        if !self.is_back {
            self.core.leaves(self.number, "panics");
        }
    }
}

impl Default for ProcessEntry {
    fn default() -> Self {
        ProcessEntry {
            generation: 0,
            name: Cow::Borrowed(""),
            serial: 0,
            background: false,
            future: None,
            waker: None,
            interrupts: VecDeque::new(),
            alive: false,
        }
    }
}

impl<R: Clone + 'static> Process<R> {
    /// Interrupts the process, which hears of it where it
    /// [may be interrupted](Sim::unless_interrupted). `false` when it has ended.
    pub fn interrupt(&self, cause: impl Into<String>) -> bool {
        let cause = cause.into();
        self.sim.0.interrupt(self.number, Interrupt::Cause(cause))
    }

    /// Waits for its end and gives what it returns, as awaiting it does; others may wait, too.
    pub fn ended(&self) -> Happened<R> {
        self.ended.wait()
    }
}

impl<R: Clone + 'static> IntoFuture for Process<R> {
    type Output = R;
    type IntoFuture = Happened<R>;

    fn into_future(self) -> Happened<R> {
        self.ended.wait()
    }
}

impl Core {
    pub(super) fn take_future(&self, number: Number) -> Option<(Body, Waker)> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.get_mut(number.slot as usize)?;
        if slot.generation != number.generation {
            return None;
        }
        Some((slot.future.take()?, slot.waker.take()?))
    }

    pub(super) fn ended(&self, number: Number, waker: Waker) {
        drop(waker);
        self.leaves(number, "ends");
    }

    fn leaves(&self, number: Number, how: &str) {
        self.tell(number, || how.to_owned());
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[number.slot as usize];
        slot.alive = false;
        slot.interrupts.clear();
        if !slot.background {
            self.alive.set(self.alive.get() - 1);
        }
        self.free.borrow_mut().push(number.slot);
    }

    /// The name and number of a process.
    pub(super) fn name_of(&self, number: Number) -> String {
        let slots = self.slots.borrow();
        match slots.get(number.slot as usize) {
            Some(slot) if slot.generation == number.generation => {
                format!("{} {}", slot.name, slot.serial)
            }
            _ => "the program".to_owned(),
        }
    }

    pub(super) fn interrupt(&self, number: Number, interrupt: Interrupt) -> bool {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(number.slot as usize) else {
            return false;
        };
        if slot.generation != number.generation || !slot.alive {
            return false;
        }
        slot.interrupts.push_back(interrupt);
        drop(slots);
        self.wake(number);
        true
    }
}

/// Waits for time to pass. Made by [`Sim::sleep`].
#[must_use = "it waits when it is awaited"]
pub struct Sleep {
    sim: Sim,
    delay: Time,
    /// The time of its end, and its number in the calendar.
    until: Option<(Time, u64)>,
}

/// A future, but no longer than some time. Made by [`Sim::timeout`].
#[must_use = "it waits when it is awaited"]
pub struct Timeout<F> {
    future: Pin<Box<F>>,
    sleep: Sleep,
}

impl Sim {
    /// Waits for so many ticks. With 0 those go on before that were to go on now. Until
    /// [`Time::MAX`] or later is for ever.
    pub fn sleep(&self, delay: Time) -> Sleep {
        Sleep {
            sim: self.clone(),
            delay,
            until: None,
        }
    }

    /// Waits for a future, but no longer than so many ticks; `None` when it is dropped because of
    /// that.
    pub fn timeout<F: Future>(&self, delay: Time, future: F) -> Timeout<F> {
        Timeout {
            future: Box::pin(future),
            sleep: self.sleep(delay),
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let core = &*self.sim.0;
        let now = core.now.get();
        match self.until {
            Some((until, _)) if until <= now => {
                self.until = None;
                self.delay = 0;
                Poll::Ready(())
            }
            Some(_) => Poll::Pending,
            None => {
                let until = now.saturating_add(self.delay);
                let number = core.number();
                if self.delay == 0 {
                    core.wake(core.current.get());
                } else {
                    let current = core.current.get();
                    core.calendar.borrow_mut().add(until, number, current);
                }
                self.until = Some((until, number));
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    /// Nobody goes on then because of it.
    fn drop(&mut self) {
        let core = &*self.sim.0;
        if let Some((until, number)) = self.until
            && until > core.now.get()
        {
            core.calendar.borrow_mut().cancel(number);
        }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        Pin::new(&mut self.sleep).poll(context).map(|()| None)
    }
}

impl<R> fmt::Debug for Process<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({})", self.sim.0.name_of(self.number))
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sleep({})", self.delay)
    }
}

impl<F> fmt::Debug for Timeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timeout({})", self.sleep.delay)
    }
}
