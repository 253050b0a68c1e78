//! A bank in virtual time: customers who give up when they have waited too long, and one who has
//! all the patience there is.
//!
//! Without impatience it is the queue M/M/1, whose mean wait is known: the program compares.

use motet::sim::{BatchMeans, Simulation};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Ticks in a minute.
const MINUTE: f64 = 1e6;
const CUSTOMERS: u64 = 100_000;

/// The mean wait in minutes of those who are served, its standard error, and the share of those who
/// give up.
fn bank(patience: Option<f64>) -> (f64, f64, f64) {
    let simulation = Simulation::new(7);
    let counter = simulation.resource("counter", 1);
    let waits = Rc::new(RefCell::new(BatchMeans::new(1_000, 1_000)));
    let lost = Rc::new(Cell::new(0_u64));
    let (all, gone) = (Rc::clone(&waits), Rc::clone(&lost));
    simulation.spawn("door", async move |sim| {
        for _ in 0..CUSTOMERS {
            sim.sleep(sim.exponential(MINUTE / 0.8)).await;
            let (counter, waits, gone) = (counter.clone(), Rc::clone(&all), Rc::clone(&gone));
            sim.spawn("customer", async move |sim| {
                let came = sim.now();
                let limit = patience.map_or(u64::MAX, |mean| sim.exponential(mean * MINUTE));
                let Some(_clerk) = sim.timeout(limit, counter.request()).await else {
                    gone.set(gone.get() + 1);
                    return;
                };
                waits.borrow_mut().add((sim.now() - came) as f64 / MINUTE);
                sim.sleep(sim.exponential(MINUTE)).await;
            });
        }
    });
    simulation
        .run()
        .expect("the clerk serves everybody who stays");
    let waits = waits.borrow();
    let lost = lost.get() as f64 / CUSTOMERS as f64;
    (waits.mean(), waits.standard_error(), lost)
}

fn main() {
    let (patient, error, none) = bank(None);
    assert_eq!(none, 0.0);
    // M/M/1 at load 0.8: the mean wait is 4, the variance of the mean of n waits 1976 / n.
    let deviation = (1976.0 / CUSTOMERS as f64).sqrt();
    assert!(
        (patient - 4.0).abs() < 4.0 * deviation,
        "{patient} ± {error}"
    );
    let (impatient, _, lost) = bank(Some(5.0));
    assert!(impatient < patient && lost > 0.05, "{impatient}, {lost}");
    println!(
        "bank_queue: patient customers wait {patient:.2} ± {error:.2} minutes; with patience of 5 minutes {impatient:.2}, and {:.0} % leave",
        100.0 * lost
    );
}
