//! Bodies that pull each other: every rank has some, and copies of all go round the ring of ranks.
//!
//! ```text
//!    ┌─► rank 0 ─► rank 1 ─► rank 2 ─┐      each step: whoever comes by pulls at those who are at home,
//!    └───────────────────────────────┘      and goes on to the right
//! ```
//!
//! Who comes by first depends on the number of ranks. The forces do not: each is an exact sum,
//! rounded once. Equal bodies at equal distances on a circle are known to go round as one. After a
//! quarter of a turn each is where another one began, and their energy is what it was. The bits are
//! the same for any number of ranks, on threads and on processes (`motet run -t 2 -m 2 -- nbody`).

use motet::comm::{ExactSum, Ring};
use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;
use std::f64::consts::{PI, TAU};

const BODIES: usize = 24;
/// For a quarter of a turn.
const STEPS: usize = 400;
/// All of them together weigh 1, on a circle of radius 1.
const MASS: f64 = 1.0 / BODIES as f64;

type Vector = [f64; 2];

/// The bodies of a rank.
struct Bodies {
    first: usize,
    places: Vec<Vector>,
    speeds: Vec<Vector>,
}

/// What pulls at each body, and how deep it sits in the field of the others.
struct Field {
    pulls: Vec<Vector>,
    depths: Vec<f64>,
}

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let alone = World::solo()
        .run(async |comm| quarter_turn(&comm).await)
        .expect("one rank does not fail")
        .remove(0)
        .0;
    let results = world
        .run(async |comm| -> Result<_, CommError> {
            // Every rank has a body; more of them have nothing to do.
            let color = (comm.rank() < BODIES).then_some(0);
            let Some(comm) = comm.split(color, 0).await? else {
                return Ok(None);
            };
            let (bodies, before, after) = quarter_turn(&comm).await?;
            let mut sum = 0_u64;
            for (body, place) in (bodies.first..).zip(&bodies.places) {
                let known = start((body + BODIES / 4) % BODIES).0;
                for axis in 0..2 {
                    assert!((place[axis] - known[axis]).abs() < 1e-5, "body {body}");
                    sum = sum.wrapping_add(mark(2 * body + axis, place[axis].to_bits()));
                }
                assert_eq!(*place, alone.places[body], "other bits than on one rank");
            }
            let drift = (after - before).abs() / before.abs();
            assert!(drift < 1e-9, "energy {before} became {after}");
            let sum = comm.allreduce(sum, u64::wrapping_add).await?;
            Ok(Some((after, sum)))
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        let (energy, sum) = results[0].expect("rank 0 has bodies");
        println!("nbody: {BODIES} bodies after {STEPS} steps, energy {energy}, {sum:016x}");
    }
}

/// Where a body is in the beginning, and how it moves: round the circle, just as fast as the others
/// can hold it.
fn start(body: usize) -> (Vector, Vector) {
    let (y, x) = (TAU * body as f64 / BODIES as f64).sin_cos();
    ([x, y], [-turning() * y, turning() * x])
}

/// The angle by which the circle turns in a unit of time.
fn turning() -> f64 {
    let others = (1..BODIES).map(|other| (PI * other as f64 / BODIES as f64).sin().recip());
    (0.25 * MASS * others.sum::<f64>()).sqrt()
}

/// The bodies of this rank after a quarter of a turn, and the energy of all before and after it.
async fn quarter_turn(comm: &Communicator) -> Result<(Bodies, f64, f64), CommError> {
    let begin = |rank: usize| BODIES * rank / comm.size();
    let first = begin(comm.rank());
    let (places, speeds) = (first..begin(comm.rank() + 1)).map(start).unzip();
    let mut bodies = Bodies {
        first,
        places,
        speeds,
    };
    let mut ring = comm.ring().await?;
    let step = TAU / 4.0 / turning() / STEPS as f64;
    let mut field = field(&bodies, &mut ring, comm.size()).await?;
    let before = energy(comm, &bodies, &field).await?;
    for _ in 0..STEPS {
        // Leapfrog: half of the pull, the whole way, the other half of the pull.
        add(&mut bodies.speeds, &field.pulls, 0.5 * step);
        add(&mut bodies.places, &bodies.speeds, step);
        field = self::field(&bodies, &mut ring, comm.size()).await?;
        add(&mut bodies.speeds, &field.pulls, 0.5 * step);
    }
    let after = energy(comm, &bodies, &field).await?;
    Ok((bodies, before, after))
}

fn add(to: &mut [Vector], vectors: &[Vector], factor: f64) {
    for (to, vector) in to.iter_mut().zip(vectors) {
        *to = [to[0] + factor * vector[0], to[1] + factor * vector[1]];
    }
}

/// What all bodies do to those of this rank.
async fn field(
    mine: &Bodies,
    ring: &mut Ring<'_, (usize, Vec<Vector>)>,
    ranks: usize,
) -> Result<Field, CommError> {
    let nothing = || [ExactSum::new(), ExactSum::new(), ExactSum::new()];
    let mut sums: Vec<[ExactSum; 3]> = mine.places.iter().map(|_| nothing()).collect();
    let mut others = (mine.first, mine.places.clone());
    for _ in 0..ranks {
        for ((body, here), sums) in (mine.first..).zip(&mine.places).zip(&mut sums) {
            for (other, there) in (others.0..).zip(&others.1) {
                if other != body {
                    let way = [there[0] - here[0], there[1] - here[1]];
                    let distance = (way[0] * way[0] + way[1] * way[1]).sqrt();
                    let pull = MASS / (distance * distance * distance);
                    sums[0].add(pull * way[0]);
                    sums[1].add(pull * way[1]);
                    sums[2].add(-MASS / distance);
                }
            }
        }
        others = ring.shift_right(others).await?;
    }
    assert_eq!(others.0, mine.first, "the copies have come home");
    Ok(Field {
        pulls: sums.iter().map(|s| [s[0].value(), s[1].value()]).collect(),
        depths: sums.iter().map(|sums| sums[2].value()).collect(),
    })
}

/// The energy of all bodies: that of motion, and half of each one's depth, since every pair is seen
/// from both ends.
async fn energy(comm: &Communicator, bodies: &Bodies, field: &Field) -> Result<f64, CommError> {
    let both = bodies.speeds.iter().zip(&field.depths);
    let parts =
        both.map(|(speed, depth)| 0.5 * MASS * (speed[0] * speed[0] + speed[1] * speed[1] + depth));
    comm.reproducible_sum(&parts.collect::<Vec<f64>>()).await
}
