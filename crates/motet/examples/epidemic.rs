//! An epidemic on a ring of towns: people fall ill, travel to the towns next to theirs, and
//! recover.
//!
//! ```text
//!   … ─ town 11 ─ town 12 ─ town 13 ─ …      an ill person meets people, and sends some of the illness on by train
//! ```
//!
//! Each town is a logical process, and each meeting, journey and recovery an event. The run is the
//! same in every mode and on any number of ranks (`motet run -t 2 -m 2 -- epidemic`); the program
//! compares all modes.

use motet::sim::{Logical, Mode, Model, Options, Out, SimError, Time, mix};
use motet::{Communicator, Current, World};
use serde::{Deserialize, Serialize};

const TOWNS: usize = 48;
const PEOPLE: u32 = 200;
/// Ticks of a day.
const DAY: f64 = 1000.0;
/// A train takes at least half a day: the lookahead.
const TRAIN: Time = 500;
/// When all is over: null messages go on until then.
const END: Time = 300_000;
/// Who is ill meets so many people in a day, and is ill for so many days.
const MEETINGS: f64 = 0.5;
const ILL: f64 = 5.0;

#[derive(Clone)]
struct Town {
    healthy: u32,
    recovered: u32,
    hash: u64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Event {
    /// Somebody who may fall ill is met.
    Meeting,
    /// Somebody who is ill meets people until then.
    IllUntil(Time),
    Recovers,
}

impl Town {
    fn next_meeting(until: Time, now: Time, out: &mut Out<'_, Event>) {
        let next = out.exponential(DAY / MEETINGS);
        if now + next < until {
            out.schedule(out.process(), next, Event::IllUntil(until));
        }
    }
}

impl Logical for Town {
    type Event = Event;

    fn start(&mut self, out: &mut Out<'_, Event>) {
        if out.process() == 0 {
            (0..3).for_each(|_| out.schedule(0, 1, Event::Meeting));
        }
    }

    fn handle(&mut self, now: Time, event: Event, out: &mut Out<'_, Event>) {
        self.hash = mix(self.hash ^ mix(now) ^ out.cause().number);
        match event {
            Event::Meeting => {
                // Whoever is met is healthy with this probability.
                let met = out.draw() % u64::from(PEOPLE);
                if met < u64::from(self.healthy) {
                    self.healthy -= 1;
                    let ill = out.exponential(DAY * ILL).max(1);
                    out.schedule(out.process(), ill, Event::Recovers);
                    Town::next_meeting(now + ill, now, out);
                }
            }
            Event::IllUntil(until) => {
                // One in eight who are met lives in a town next to this.
                let town = out.process();
                match out.draw() % 16 {
                    0 => out.schedule((town + 1) % TOWNS, TRAIN, Event::Meeting),
                    1 => out.schedule((town + TOWNS - 1) % TOWNS, TRAIN, Event::Meeting),
                    _ => out.schedule(town, 1, Event::Meeting),
                }
                Town::next_meeting(until, now, out);
            }
            Event::Recovers => self.recovered += 1,
        }
    }
}

fn main() {
    let options = Options {
        seed: 11,
        end: END,
        ..Options::default()
    };
    let neighbours = |town| [(town + 1) % TOWNS, (town + TOWNS - 1) % TOWNS];
    let links = (0..TOWNS).flat_map(|town| neighbours(town).map(|other| (town, other, TRAIN)));
    let town = |_| Town {
        healthy: PEOPLE,
        recovered: 0,
        hash: 0,
    };
    let model = Model::new(TOWNS, town, options).linked(links);
    let world = World::current().expect("an MPI library, if there are several processes");
    let results = world
        .run(async |comm| -> Result<_, SimError> {
            let first = spread(&comm, &model, Mode::Sequential).await?;
            for mode in [Mode::Windows, Mode::NullMessages, Mode::TimeWarp] {
                assert_eq!(spread(&comm, &model, mode).await?, first, "{mode:?}");
            }
            Ok(first)
        })
        .expect("the model keeps its promises");
    let [recovered, checksum] = results[0];
    // Who is ill infects 2.5 others while most are healthy: nine in ten fall ill (R₀ = 2.5, final
    // size 0.893).
    let share = recovered as f64 / f64::from(PEOPLE) / TOWNS as f64;
    assert!((0.82..0.96).contains(&share), "{share}");
    if world.process().0 == 0 {
        println!("epidemic: {share:.3} of all have been ill ({checksum:016x})");
    }
}

/// How many have recovered, and a checksum of when.
async fn spread<F: Fn(usize) -> Town>(
    comm: &Communicator,
    model: &Model<F>,
    mode: Mode,
) -> Result<[u64; 2], SimError> {
    let outcome = model.run(comm, mode).await?;
    let mut own = [0, 0];
    for (number, town) in (outcome.first as u64..).zip(&outcome.processes) {
        own[0] += u64::from(town.recovered);
        own[1] ^= mix(town.hash ^ number);
    }
    Ok(comm
        .allreduce(own, |a, b| [a[0] + b[0], a[1] ^ b[1]])
        .await?)
}
