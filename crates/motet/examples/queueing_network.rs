//! A closed network of queues: customers go from station to station and never leave.
//!
//! ```text
//!    ┌─► station 0 ─► station 1 ─► station 2 ─► station 3 ─┐     each serves one customer at a time, in the order
//!    └─────────────────────────────────────────────────────┘     in which they come; a way takes a fixed time
//! ```
//!
//! How much the stations work is known (M. Reiser and S. Lavenberg, Mean-value analysis of closed
//! multichain queuing networks, 1980). Every mode gives the same run, on one rank and on several;
//! the program compares them (`motet run -t 2 -m 2 -- queueing_network` for processes).

use motet::sim::{Logical, Mode, Model, Options, Out, SimError, Time, mix};
use motet::{Communicator, Current, World};

const STATIONS: usize = 4;
const CUSTOMERS: usize = 6;
/// Ticks of a mean service.
const SERVICE: f64 = 1000.0;
/// Ticks from one station to the next: nothing comes sooner, so this is the lookahead.
const WAY: Time = 500;
const END: Time = 4_000_000;

/// A station; a customer that comes is served when those before it have gone.
#[derive(Clone, Default)]
struct Station {
    free: Time,
    served: u64,
    /// What happened here, and when.
    hash: u64,
}

impl Logical for Station {
    /// The number of a customer that comes.
    type Event = u32;

    fn start(&mut self, out: &mut Out<'_, u32>) {
        if out.process() == 0 {
            (0..CUSTOMERS as u32).for_each(|customer| out.schedule(0, 0, customer));
        }
    }

    fn handle(&mut self, now: Time, customer: u32, out: &mut Out<'_, u32>) {
        let service = out.exponential(SERVICE);
        self.free = self.free.max(now) + service;
        self.served += 1;
        self.hash = mix(self.hash ^ mix(now) ^ u64::from(customer));
        out.schedule(
            (out.process() + 1) % STATIONS,
            self.free - now + WAY,
            customer,
        );
    }
}

fn main() {
    let options = Options {
        seed: 4,
        end: END,
        ..Options::default()
    };
    let links = (0..STATIONS).map(|station| (station, (station + 1) % STATIONS, WAY));
    let model = Model::new(STATIONS, |_| Station::default(), options).linked(links);
    let world = World::current().expect("an MPI library, if there are several processes");
    let results = world
        .run(async |comm| -> Result<_, SimError> {
            let first = served(&comm, &model, Mode::Sequential).await?;
            for mode in [Mode::Windows, Mode::NullMessages, Mode::TimeWarp] {
                assert_eq!(served(&comm, &model, mode).await?, first, "{mode:?}");
            }
            Ok(first)
        })
        .expect("the model keeps its promises");
    let [served, checksum] = results[0];
    let share = served as f64 * SERVICE / END as f64 / STATIONS as f64;
    let known = known_share();
    assert!((share - known).abs() < 0.02, "{share} and not {known}");
    if world.process().0 == 0 {
        println!(
            "queueing_network: each station works {share:.3} of the time, {known:.3} by the formula ({checksum:016x})"
        );
    }
}

/// How much of the time a station works, by mean-value analysis: a customer that comes finds what
/// there would be without it.
fn known_share() -> f64 {
    let (mut there, mut rate) = (0.0, 0.0);
    for customers in 1..=CUSTOMERS {
        let stay = SERVICE * (1.0 + there);
        rate = customers as f64 / (STATIONS as f64 * (stay + WAY as f64));
        there = rate * stay;
    }
    rate * SERVICE
}

/// What all stations have served, and a checksum of when.
async fn served<F: Fn(usize) -> Station>(
    comm: &Communicator,
    model: &Model<F>,
    mode: Mode,
) -> Result<[u64; 2], SimError> {
    let outcome = model.run(comm, mode).await?;
    let mut own = [0, 0];
    for (number, station) in (outcome.first as u64..).zip(&outcome.processes) {
        own[0] += station.served;
        own[1] ^= mix(station.hash ^ number);
    }
    Ok(comm
        .allreduce(own, |a, b| [a[0] + b[0], a[1] ^ b[1]])
        .await?)
}
