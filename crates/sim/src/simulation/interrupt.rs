//! Interrupts: what a process hears of while it waits.

use super::Sim;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Why a process was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interrupt {
    /// Another process has interrupted it, and says why.
    Cause(String),
    /// A request of greater urgency has taken a unit from it.
    Preempted {
        /// The resource.
        resource: String,
        /// Who has the unit now.
        by: String,
    },
}

/// A future that ends when the process is interrupted. Made by [`Sim::unless_interrupted`].
#[must_use = "it waits when it is awaited"]
pub struct UnlessInterrupted<F> {
    sim: Sim,
    future: Pin<Box<F>>,
}

impl Sim {
    /// Waits for a future, or until the process is interrupted; then the future is dropped.
    ///
    /// An interrupt that comes while the process does something else is heard of here next; of
    /// several, one each time, the first first. If both have happened, the interrupt wins.
    ///
    /// ```
    /// use motet_sim::{Interrupt, Simulation};
    ///
    /// let simulation = Simulation::new(1);
    /// let machine = simulation.spawn("machine", async |sim| {
    ///     let interrupt = sim.unless_interrupted(sim.sleep(100)).await.unwrap_err();
    ///     (sim.now(), interrupt)
    /// });
    /// simulation.spawn("fault", async move |sim| {
    ///     sim.sleep(30).await;
    ///     assert!(machine.interrupt("broken"));
    ///     assert_eq!(machine.await, (30, Interrupt::Cause("broken".into())));
    /// });
    /// simulation.run().unwrap();
    /// assert_eq!(simulation.now(), 30);
    /// ```
    pub fn unless_interrupted<F: Future>(&self, future: F) -> UnlessInterrupted<F> {
        UnlessInterrupted {
            sim: self.clone(),
            future: Box::pin(future),
        }
    }
}

impl<F: Future> Future for UnlessInterrupted<F> {
    type Output = Result<F::Output, Interrupt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let core = &*self.sim.0;
        let current = core.current.get();
        let mut slots = core.slots.borrow_mut();
        let slot = slots.get_mut(current.slot as usize);
        let interrupt = slot.and_then(|slot| slot.interrupts.pop_front());
        drop(slots);
        if let Some(interrupt) = interrupt {
            core.tell(current, || format!("is interrupted: {interrupt}"));
            return Poll::Ready(Err(interrupt));
        }
        self.future.as_mut().poll(context).map(Ok)
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interrupt::Cause(cause) => f.write_str(cause),
            Interrupt::Preempted { resource, by } => write!(f, "{by} has taken its {resource}"),
        }
    }
}

impl<F> fmt::Debug for UnlessInterrupted<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnlessInterrupted").finish_non_exhaustive()
    }
}
