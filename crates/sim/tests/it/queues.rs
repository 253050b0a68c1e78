//! Queues whose means are known, in logical processes: customers that come, wait, are served and
//! go.

use motet_comm::World;
use motet_problems::{QueueProcess, Queues};
use motet_sim::{Mode, Resource, Sim, SimError, Simulation};

const GIVEN: Queues = Queues {
    queues: 4,
    customers: 40_000,
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
        let mean = |queue: &QueueProcess| {
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

/// Ticks in a unit of time.
const UNIT: f64 = 1e6;
/// How long a closed network runs, in units, after its warm-up.
const LONG: f64 = 200_000.0;

/// Customers that never leave go from station to station; `next` says to which, and how long its
/// mean service takes. The customers served in a unit of time and the mean length, by station.
fn closed(
    stations: usize,
    customers: usize,
    next: impl Fn(&Sim, usize) -> (usize, f64) + Clone + 'static,
) -> Vec<(f64, f64)> {
    let simulation = Simulation::new(3);
    let stations: Vec<Resource> = (0..stations)
        .map(|station| simulation.resource(format!("station {station}"), 1))
        .collect();
    for _ in 0..customers {
        let (stations, next) = (stations.clone(), next.clone());
        simulation.spawn_background("customer", async move |sim| {
            let mut at = 0;
            loop {
                let mean;
                (at, mean) = next(&sim, at);
                let _held = stations[at].request().await;
                sim.sleep(sim.exponential(UNIT * mean)).await;
            }
        });
    }
    let own = stations.clone();
    simulation.spawn("clock", async move |sim| {
        sim.sleep((1_000.0 * UNIT) as u64).await;
        own.iter().for_each(Resource::restart_statistics);
        sim.sleep((LONG * UNIT) as u64).await;
    });
    simulation.run().unwrap();
    let of = |station: &Resource| {
        let length = station.mean_in_use() + station.mean_waiting();
        (station.waits().count() as f64 / LONG, length)
    };
    stations.iter().map(of).collect()
}

#[track_caller]
fn is_within(found: f64, known: f64, within: f64) {
    assert!((found - known).abs() < within, "{found} and not {known}");
}

#[test]
fn sem_g193_a_balanced_closed_network_is_as_busy_as_the_formula_says() {
    let (stations, customers) = (4, 6);
    let found = closed(stations, customers, |_, at| ((at + 1) % 4, 1.0));
    let (m, n) = (stations as f64, customers as f64);
    for (rate, length) in found {
        is_within(rate, n / (n + m - 1.0), 0.015);
        is_within(length, n / m, 0.08);
    }
}

#[test]
fn sem_g193_a_central_server_is_as_busy_as_the_formula_says() {
    let next = |sim: &Sim, at: usize| match at {
        0 if sim.uniform() < 0.6 => (1, 2.0),
        0 => (2, 3.0),
        _ => (0, 1.0),
    };
    // By mean-value analysis: customers, those served in a unit at the centre, mean lengths.
    for (customers, rate, lengths) in [(5, 0.6261, Some([1.296, 1.852, 1.852])), (10, 0.7253, None)]
    {
        let found = closed(3, customers, next);
        is_within(found[0].0, rate, 0.01);
        for (found, known) in found.iter().zip(lengths.into_iter().flatten()) {
            is_within(found.1, known, 0.08);
        }
    }
}
