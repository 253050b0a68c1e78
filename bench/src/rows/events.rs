//! Events of simulations: PHOLD, queues, a gas station.
//!
//! Question: what does an event cost that the library orders, draws for and hands to its process,
//! and do ranks share the work? Definition: time of the whole run over the events (cars, for the
//! gas station). `plain` is one heap and one loop that does the same, without any library. nexosim
//! runs on one thread, its faster and repeatable way. SimPy tells the processor time of its own
//! run. Threats: the work of an event hides the rest; ranks on cores that others use.

use crate::contest::{Bar, Contest, ContestProgram};
use crate::measuring::Effort;
use crate::peers::nexosim;
use crate::peers::simpy::SimPy;
use crate::said::Said;
use motet_comm::World;
use motet_problems::{Phold, PholdProcess, Queues};
use motet_sim::{Container, Logical, Mode, Model, Out, Resource, Sim, SimError, Simulation, Time};
use motet_sync::thread;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// PHOLD's last vector: 1,024 processes with 16 events each.
const MANY: Phold = Phold::KNOWN[4].0;
/// 256 processes with 16 events each, a quarter of which goes away; a tenth of the delay is
/// lookahead.
const FEW: Phold = Phold {
    processes: 256,
    each: 16,
    remote: 250,
    lookahead: 10,
    mean: 90,
    end: 10_000,
    seed: 2,
};
/// What an event takes where handlers take long.
const LONG: Duration = Duration::from_micros(10);

/// The rows. `python` is one that has SimPy.
pub(crate) fn contests(effort: Effort, python: &Path) -> Vec<Contest> {
    // A trial is to be over at once, a quick run in seconds.
    let shorter = effort.pick(100, 4, 1);
    let until = |given: Phold| Phold {
        end: given.end / shorter,
        ..given
    };
    let (many, few) = (until(MANY), until(FEW));
    let queues = Queues {
        queues: 1,
        customers: 1_000_000 / shorter as u32,
        load: 0.8,
        seed: 3,
    };
    let long = Phold {
        end: many.end / effort.pick(2, 20, 20),
        ..many
    };
    let cores = thread::cores().max(2);
    vec![
        beside_plain(
            "PHOLD 1024 × 16, sequential",
            0.6,
            sequential(many),
            plain(many),
        ),
        // nexosim takes five times as long or more.
        beside_plain(
            "PHOLD 256 × 16, sequential",
            0.6,
            sequential(few),
            plain(few),
        )
        .beside("nexosim", move || nexosim::phold(few))
        .bar(Bar::AtMostTimes(0.2, "nexosim")),
        beside_plain(
            "M/M/1, sequential",
            0.4,
            on(queues.model(), Mode::Sequential, 1),
            Box::new(move || Ok(timed(|| queues.plain().0))),
        ),
        shared(
            "PHOLD 1024 × 16, windows, 1 rank",
            0.9,
            [on(many.model(), Mode::Windows, 1), sequential(many)],
        ),
        shared(
            format!("PHOLD 1024 × 16, windows, {cores} ranks"),
            1.6,
            [on(many.model(), Mode::Windows, cores), sequential(many)],
        ),
        shared(
            format!("PHOLD 1024 × 16, 10 µs an event, time warp, {cores} ranks"),
            1.3,
            [
                on(slow(long), Mode::TimeWarp, cores),
                on(slow(long), Mode::Sequential, 1),
            ],
        ),
        station(1_000_000 / shorter, python),
    ]
}

/// On one rank, beside the plain loop, of whose speed a share is to be reached.
fn beside_plain(row: &str, share: f64, motet: ContestProgram, plain: ContestProgram) -> Contest {
    Contest::new(row, "ns per event", motet)
        .beside("plain", plain)
        .bar(Bar::AtMostTimes(1.0 / share, "plain"))
}

/// A mode beside the sequential one, which it is to be so many times as fast as.
fn shared(row: impl Into<String>, times: f64, [motet, sequential]: [ContestProgram; 2]) -> Contest {
    Contest::new(row, "ns per event", motet)
        .beside("motet, sequential", sequential)
        .bar(Bar::AtMostTimes(1.0 / times, "motet, sequential"))
}

fn sequential(given: Phold) -> ContestProgram {
    on(given.model(), Mode::Sequential, 1)
}

fn plain(given: Phold) -> ContestProgram {
    Box::new(move || Ok(timed(|| given.plain().events)))
}

/// Time for an event, in ns, of what counts events.
fn timed(count: impl FnOnce() -> u64) -> f64 {
    let begin = Instant::now();
    let events = black_box(count());
    begin.elapsed().as_nanos() as f64 / events as f64
}

fn on<P, F>(model: Model<F>, mode: Mode, ranks: usize) -> ContestProgram
where
    P: Logical + Clone + Send,
    F: Fn(usize) -> P + Sync + 'static,
{
    Box::new(move || {
        let world = World::threads(ranks).pin(true);
        let times = world.run(async |comm| -> Result<_, SimError> {
            comm.barrier().await?;
            let begin = Instant::now();
            let outcome = model.run(&comm, mode).await?;
            let taken = begin.elapsed().as_nanos() as f64;
            Ok(taken / outcome.report.committed as f64)
        });
        Ok(times.said()?[0])
    })
}

/// A process of PHOLD whose events take long.
#[derive(Debug, Clone)]
struct Slow(PholdProcess);

fn slow(given: Phold) -> Model<impl Fn(usize) -> Slow + Sync> {
    given.model_of(Slow)
}

impl Logical for Slow {
    type Event = ();

    fn start(&mut self, out: &mut Out<'_, ()>) {
        self.0.start(out);
    }

    fn handle(&mut self, now: Time, (): (), out: &mut Out<'_, ()>) {
        let begin = Instant::now();
        while begin.elapsed() < LONG {
            std::hint::spin_loop();
        }
        self.0.handle(now, (), out);
    }
}

/// The gas station of SimPy's documentation, beside SimPy.
fn station(seconds: Time, python: &Path) -> Contest {
    let mut peer = SimPy::start(python);
    let motet = move || gas_station(seconds);
    Contest::new("gas station, processes", "µs per car", motet)
        .beside("SimPy", move || {
            let peer = peer.as_mut().map_err(|reason| reason.clone())?;
            let (cars, taken) = peer.gas_station(seconds)?;
            Ok(taken * 1e6 / cars as f64)
        })
        .bar(Bar::AtMostTimes(1.0 / 20.0, "SimPy"))
}

/// The time of a car, in µs.
fn gas_station(seconds: Time) -> Result<f64, String> {
    let begin = Instant::now();
    let simulation = Simulation::new(42);
    let pumps = simulation.resource("pumps", 2);
    let tank = simulation.container("tank", 200, 200);
    let (own, full) = (pumps.clone(), tank.clone());
    simulation.spawn("street", async move |sim| {
        while sim.now() < seconds {
            sim.sleep(sim.between(30, 300)).await;
            let (pumps, tank) = (own.clone(), tank.clone());
            sim.spawn("car", async move |sim| car(sim, pumps, tank).await);
        }
    });
    simulation.spawn_background("control", async move |sim| control(sim, full).await);
    simulation.run().said()?;
    let cars = pumps.waits().count();
    Ok(begin.elapsed().as_secs_f64() * 1e6 / cars as f64)
}

async fn car(sim: Sim, pumps: Resource, tank: Container) {
    let wanted = 50 - sim.between(5, 25);
    let _pump = pumps.request().await;
    tank.get(wanted).await;
    sim.sleep(wanted / 2).await;
}

/// Calls a truck when the tank is low.
async fn control(sim: Sim, tank: Container) {
    loop {
        if tank.level() * 4 < tank.capacity() {
            let full = tank.clone();
            let truck = sim.spawn("truck", async move |sim| {
                sim.sleep(300).await;
                full.put(full.capacity() - full.level()).await;
            });
            truck.await;
        }
        sim.sleep(10).await;
    }
}
