//! nexosim: a simulator of models that send each other messages, in Rust, on one thread.
//!
//! A message comes at the time at which it is sent, so a model that is to act later schedules that
//! for itself. Its mode of one thread is the one whose order is repeated, and the faster one. More
//! threads share only what happens at the same time.

use crate::said::Said;
use motet_problems::Phold;
use motet_sim::mix;
use motet_sync::atomic::{AtomicU64, Ordering};
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs PHOLD: the time of an event, in ns. Its events at one time have no order, so the sums of
/// the reference are not those of this run.
///
/// # Errors
/// What nexosim says.
pub(crate) fn phold(given: Phold) -> Result<f64, String> {
    let handled = Arc::new(AtomicU64::new(0));
    let boxes: Vec<Mailbox<Process>> = (0..given.processes).map(|_| Mailbox::new()).collect();
    let mut bench = SimInit::with_num_threads(1);
    let addresses: Vec<_> = boxes.iter().map(Mailbox::address).collect();
    for (number, mailbox) in (0..).zip(boxes) {
        let mut process = Process::new(given, number, Arc::clone(&handled));
        for (output, address) in process.others.iter_mut().zip(&addresses) {
            output.connect(Process::come, address);
        }
        bench = bench.add_model(process, mailbox, &format!("process {number}"));
    }
    let mut simulation = bench.init(MonotonicTime::EPOCH).said()?;
    let begin = Instant::now();
    let end = Duration::from_nanos(given.end - 1);
    simulation.step_until(end).said()?;
    let taken = begin.elapsed().as_nanos() as f64;
    Ok(taken / handled.load(Ordering::Relaxed) as f64)
}

#[derive(Serialize, Deserialize)]
struct Process {
    number: u64,
    processes: u64,
    each: u64,
    remote: u64,
    lookahead: u64,
    mean: u64,
    seed: u64,
    drawn: u64,
    hash: u64,
    #[serde(skip)]
    handled: Arc<AtomicU64>,
    others: Vec<Output<u64>>,
}

impl Process {
    fn new(given: Phold, number: u64, handled: Arc<AtomicU64>) -> Self {
        Process {
            number,
            processes: given.processes,
            each: given.each,
            remote: given.remote,
            lookahead: given.lookahead,
            mean: given.mean,
            seed: given.seed,
            drawn: 0,
            hash: 0,
            handled,
            others: (0..given.processes).map(|_| Output::default()).collect(),
        }
    }

    fn draw(&mut self) -> u64 {
        let stream = mix(self.seed ^ self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let drawn = mix(stream.wrapping_add(self.drawn.wrapping_mul(0xd1b5_4a32_d192_ed03)));
        self.drawn += 1;
        drawn
    }

    fn delay(&mut self) -> u64 {
        self.lookahead + self.draw() % (2 * self.mean)
    }
}

#[Model]
impl Process {
    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        for _ in 0..self.each {
            let delay = self.delay();
            self.come(delay, context);
        }
    }

    /// An event has come that takes place so much later.
    fn come(&mut self, delay: u64, context: &Context<Self>) {
        let delay = Duration::from_nanos(delay);
        let scheduled = context.schedule_event(delay, schedulable!(Self::handle), ());
        scheduled.expect("an event takes place later than now");
    }

    #[nexosim(schedulable)]
    async fn handle(&mut self, (): (), context: &Context<Self>) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        self.hash = mix(self.hash ^ self.number);
        let mut to = self.number;
        if self.draw() % 1000 < self.remote {
            to = self.draw() % self.processes;
        }
        let delay = self.delay();
        match to == self.number {
            true => self.come(delay, context),
            false => self.others[to as usize].send(delay).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs() {
        let given = Phold {
            processes: 8,
            each: 2,
            remote: 500,
            lookahead: 1,
            mean: 5,
            end: 100,
            seed: 1,
        };
        assert!(phold(given).unwrap() > 0.0);
    }
}
