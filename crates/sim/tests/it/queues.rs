//! Queues whose means are known, in logical processes: customers that come, wait, are served and
//! go.

use motet_comm::World;
use motet_problems::{Queue, Queues};
use motet_sim::{Mode, SimError};

const GIVEN: Queues = Queues {
    queues: 4,
    customers: 100_000,
    load: 0.8,
    seed: 11,
};

/// M/M/1 at load 0.8: the mean wait is 4, the variance of the mean of n waits 1976 / n.
#[track_caller]
fn is_near(mean: f64, waits: f64) {
    let deviation = (1976.0 / waits).sqrt();
    assert!((mean - 4.0).abs() < 4.0 * deviation, "{mean}");
}

#[test]
fn customers_wait_as_long_as_the_formula_says() {
    let model = GIVEN.model();
    let run = World::threads(2).run(async |comm| -> Result<_, SimError> {
        let outcome = model.run(&comm, Mode::Windows).await?;
        let mean = |queue: &Queue| {
            assert_eq!(queue.served(), GIVEN.customers);
            queue.waited() / f64::from(GIVEN.customers)
        };
        Ok(outcome.processes.iter().map(mean).collect::<Vec<f64>>())
    });
    let means: Vec<f64> = run.unwrap().concat();
    assert_eq!(means.len(), 4);
    is_near(
        means.iter().sum::<f64>() / 4.0,
        4.0 * f64::from(GIVEN.customers),
    );
}

#[test]
fn customers_of_the_plain_loop_wait_as_long() {
    let given = Queues {
        queues: 1,
        customers: 400_000,
        ..GIVEN
    };
    let (events, waited) = given.plain();
    assert_eq!(events, 2 * u64::from(given.customers));
    is_near(
        waited / f64::from(given.customers),
        f64::from(given.customers),
    );
}
