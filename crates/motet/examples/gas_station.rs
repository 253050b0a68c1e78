//! A gas station in virtual time: cars, two pumps, a tank, and a truck that is called when the tank
//! is low.
//!
//! ```text
//!   car ─► pump (2) ─► tank ─► drives on          control, each 10 s: tank low? ─► truck, 300 s later ─► tank full
//! ```
//!
//! The model is that of SimPy's examples. With the name of a file it writes a picture of the pumps
//! there.

use motet::sim::{Container, Resource, Sim, Simulation, timeline};

const SECONDS: u64 = 100_000;
const STATION: u64 = 200;
const CAR: u64 = 50;

async fn car(sim: Sim, pumps: Resource, tank: Container) {
    let wanted = CAR - sim.between(5, 25);
    let _pump = pumps.request().await;
    tank.get(wanted).await;
    // Two litres in a second.
    sim.sleep(wanted / 2).await;
}

async fn control(sim: Sim, tank: Container) {
    loop {
        if tank.level() * 4 < tank.capacity() {
            let full = tank.clone();
            let truck = sim.spawn("truck", async move |sim| {
                sim.sleep(300).await;
                let litres = full.capacity() - full.level();
                full.put(litres).await;
                litres
            });
            truck.await;
        }
        sim.sleep(10).await;
    }
}

fn main() {
    let simulation = Simulation::new(42);
    let pumps = simulation.resource("pumps", 2);
    let tank = simulation.container("tank", STATION, STATION);
    pumps.keep_history();
    let (own, full) = (pumps.clone(), tank.clone());
    simulation.spawn("street", async move |sim| {
        let mut cars = 0;
        while sim.now() < SECONDS {
            sim.sleep(sim.between(30, 300)).await;
            let (pumps, tank) = (own.clone(), full.clone());
            sim.spawn("car", async move |sim| car(sim, pumps, tank).await);
            cars += 1;
        }
        cars
    });
    simulation.spawn_background("control", async move |sim| control(sim, tank).await);
    simulation
        .run()
        .expect("the truck comes whenever it is called");
    let waits = pumps.waits();
    assert!(
        (500..800).contains(&waits.count()),
        "one in 165 s: {waits:?}"
    );
    assert!(waits.least() == 0.0 && waits.most() <= 900.0, "{waits:?}");
    let busy = pumps.mean_in_use();
    assert!((0.05..1.5).contains(&busy), "{busy}");
    println!(
        "gas_station: {} cars, {:.1} s of waiting on average, {busy:.3} pumps busy",
        waits.count(),
        waits.mean()
    );
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(file, timeline(&[&pumps])).expect("the picture can be written");
    }
}
