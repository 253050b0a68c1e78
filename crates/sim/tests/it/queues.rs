//! Queues whose means are known, in logical processes: customers that come, wait, are served and go.

use motet_comm::World;
use motet_sim::{Logical, Mode, Model, Options, Out, SimError, Time};

/// Ticks in a unit of time.
const UNIT: f64 = 1e6;

/// A queue with one server; customers come to it from itself, as many as are asked for.
#[derive(Clone)]
struct Queue {
    /// Customers per unit of time, of a server that serves one.
    rate: f64,
    customers: u32,
    /// Of the last customer: when it came, and when it is served.
    came: Time,
    free: Time,
    /// The sum of all waits, in ticks.
    waited: u128,
    served: u32,
}

#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
enum Event {
    Comes,
    Goes,
}

impl Logical for Queue {
    type Event = Event;

    fn start(&mut self, out: &mut Out<'_, Event>) {
        out.schedule(out.process(), 0, Event::Comes);
    }

    fn handle(&mut self, now: Time, event: Event, out: &mut Out<'_, Event>) {
        if let Event::Goes = event {
            self.served += 1;
            return;
        }
        self.came = now;
        let begin = self.free.max(now);
        self.waited += u128::from(begin - now);
        self.free = begin + out.exponential(UNIT);
        out.schedule(out.process(), self.free - now, Event::Goes);
        self.customers -= 1;
        if self.customers > 0 {
            let gap = out.exponential(UNIT / self.rate);
            out.schedule(out.process(), gap, Event::Comes);
        }
    }
}

#[test]
fn customers_wait_as_long_as_the_formula_says() {
    const CUSTOMERS: u32 = 100_000;
    let make = |_| Queue {
        rate: 0.8,
        customers: CUSTOMERS,
        came: 0,
        free: 0,
        waited: 0,
        served: 0,
    };
    let options = Options {
        seed: 11,
        lookahead: 1,
        ..Options::default()
    };
    let model = Model::new(4, make, options);
    let run = World::threads(2).run(async |comm| -> Result<_, SimError> {
        let outcome = model.run(&comm, Mode::Windows).await?;
        let mean = |queue: &Queue| {
            assert_eq!(queue.served, CUSTOMERS);
            queue.waited as f64 / f64::from(CUSTOMERS) / UNIT
        };
        Ok(outcome.processes.iter().map(mean).collect::<Vec<f64>>())
    });
    let means: Vec<f64> = run.unwrap().concat();
    assert_eq!(means.len(), 4);
    // M/M/1 at load 0.8: the mean wait is 4, the variance of the mean of n waits 1976 / n (four queues here).
    let deviation = (1976.0 / f64::from(CUSTOMERS) / 4.0).sqrt();
    let mean = means.iter().sum::<f64>() / 4.0;
    assert!(
        (mean - 3.2 / 0.8).abs() < 4.0 * deviation,
        "{mean} of {means:?}"
    );
}
