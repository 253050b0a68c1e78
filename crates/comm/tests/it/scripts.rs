//! Random programs that every rank follows, compared with a sequential reference.

use motet_comm::{CommError, Communicator, Line, Requests, Ring, RunError, World};
use motet_dispatch::Replay;
use motet_testkit::{Random, patience, stress, within};
use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

/// One step of a program; each changes the number that a rank holds.
#[derive(Debug, Clone, Copy)]
enum Step {
    Barrier,
    Allreduce,
    Allgather,
    Broadcast(usize),
    Reduce(usize),
    Gather(usize),
    Scatter(usize),
    Shift(isize),
    RingExchange,
    RingLeft,
    RingRight,
    LineExchange,
    /// Everyone sends to everyone, with a tag; received in another order.
    AllToAll(u32),
    /// Everyone sends some messages to one rank, which takes them from any source; the tag is the
    /// step's own, as a fast rank may be at a later such step already.
    AllToOne(usize, u32),
    Scan,
    Exscan,
    ReduceScatter,
    Alltoall,
    /// Two collectives that are started, a step on messages between, and waited for in the other
    /// order.
    Started,
    /// A communicator of every other rank, the last first, and what its ranks have together.
    Split,
    /// The same in place, on numbers.
    Slices(usize),
    /// Receives posted before anything is sent, and waited for as they come.
    Posted(u32),
}

/// A program, and how the ranks' pauses are drawn.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    seed: u64,
    steps: Vec<Step>,
}

impl Script {
    pub(crate) fn random(seed: u64, size: usize, length: u32) -> Self {
        let mut random = Random::new(seed);
        let mut step = |number: u32| {
            let (kind, root) = (random.below(22), random.below(size));
            match kind {
                0 => Step::Barrier,
                1 => Step::Allreduce,
                2 => Step::Allgather,
                3 => Step::Broadcast(root),
                4 => Step::Reduce(root),
                5 => Step::Gather(root),
                6 => Step::Scatter(root),
                7 => Step::Shift(random.below(4 * size) as isize - 2 * size as isize),
                8 => Step::RingExchange,
                9 => Step::RingLeft,
                10 => Step::RingRight,
                11 => Step::LineExchange,
                12 => Step::AllToAll(random.below(3) as u32),
                13 => Step::AllToOne(root, 10 + number),
                14 => Step::Scan,
                15 => Step::Exscan,
                16 => Step::ReduceScatter,
                17 => Step::Alltoall,
                18 => Step::Started,
                19 => Step::Split,
                20 => Step::Slices(root),
                _ => Step::Posted(1_000_000 + number),
            }
        };
        let steps = (0..length).map(&mut step).collect();
        Script { seed, steps }
    }

    /// The numbers that the ranks hold at the end, computed one after the other.
    pub(crate) fn reference(&self, size: usize) -> Vec<u64> {
        let mut held: Vec<u64> = (0..size as u64).collect();
        for step in &self.steps {
            held = after(*step, &held);
        }
        held
    }

    /// What one rank does. `at` is called before each step.
    pub(crate) async fn follow<E: From<CommError>>(
        &self,
        comm: &Communicator,
        mut at: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (rank, mut held) = (comm.rank(), comm.rank() as u64);
        let mut links = Links {
            ring: comm.ring().await?,
            line: comm.line().await?,
        };
        let mut random = Random::new(self.seed ^ (rank as u64 + 1) << 32);
        for (number, step) in self.steps.iter().enumerate() {
            at(number)?;
            dawdle(&mut random).await;
            held = links.make(*step, comm, held).await?;
        }
        Ok(held)
    }
}

/// Mixes two numbers; neither commutes nor cancels.
fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.rotate_left(23))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(17)
}

/// The map x -> a x + b as (a, b).
type FlagBarrier = (u64, u64);

/// The second map after the first: associative, but it does not commute.
fn compose(first: FlagBarrier, second: FlagBarrier) -> FlagBarrier {
    let a = first.0.wrapping_mul(second.0);
    (a, second.0.wrapping_mul(first.1).wrapping_add(second.1))
}

fn pair(held: u64) -> FlagBarrier {
    (held | 1, held.rotate_left(9))
}

fn composed(held: &[u64]) -> FlagBarrier {
    held.iter()
        .copied()
        .map(pair)
        .reduce(compose)
        .expect("there is a rank")
}

/// What the ranks hold after a step, from what they held before it.
fn after(step: Step, held: &[u64]) -> Vec<u64> {
    let size = held.len();
    let from =
        |rank: usize, by: isize| held[(rank as isize + by).rem_euclid(size as isize) as usize];
    let fold = |rank: usize| held.iter().fold(held[rank], |a, b| mix(a, *b));
    let only = |root: usize, value: u64| {
        let new = |rank: usize| mix(held[rank], if rank == root { value } else { 0 });
        (0..size).map(new).collect()
    };
    let each = |new: &dyn Fn(usize) -> u64| (0..size).map(new).collect();
    match step {
        Step::Barrier => held.to_vec(),
        Step::Allreduce => each(&|rank| mix(held[rank], composed(held).1)),
        Step::Allgather => each(&fold),
        Step::Broadcast(root) => each(&|rank| mix(held[rank], held[root])),
        Step::Reduce(root) => only(root, composed(held).1),
        Step::Gather(root) => only(root, fold(root)),
        Step::Scatter(root) => each(&|rank| mix(held[rank], mix(held[root], rank as u64))),
        Step::Shift(by) => each(&|rank| mix(held[rank], from(rank, -(by % size as isize)))),
        Step::RingExchange => each(&|rank| mix(mix(held[rank], from(rank, -1)), !from(rank, 1))),
        Step::RingLeft => each(&|rank| mix(held[rank], from(rank, 1))),
        Step::RingRight => each(&|rank| mix(held[rank], from(rank, -1))),
        Step::LineExchange => each(&|rank| {
            let left = if rank > 0 { held[rank - 1] } else { 0 };
            let right = if rank + 1 < size { !held[rank + 1] } else { 0 };
            mix(mix(held[rank], left), right)
        }),
        Step::AllToAll(_) => each(&|rank| {
            let came = |sum, source: usize| mix(sum, mix(held[source], rank as u64));
            (0..size).rev().fold(held[rank], came)
        }),
        Step::AllToOne(root, _) => {
            let sum = held
                .iter()
                .fold(0, |sum: u64, held| sum.wrapping_add(3 * (held >> 8)));
            only(root, sum)
        }
        more => after_more(more, held),
    }
}

/// As [`after`], for what is made of several calls.
fn after_more(step: Step, held: &[u64]) -> Vec<u64> {
    let size = held.len();
    let each = |new: &dyn Fn(usize) -> u64| (0..size).map(new).collect();
    match step {
        Step::Scan => each(&|rank| mix(held[rank], composed(&held[..=rank]).1)),
        Step::Exscan => each(&|rank| match rank {
            0 => held[0],
            rank => mix(held[rank], composed(&held[..rank]).1),
        }),
        Step::ReduceScatter => each(&|rank| {
            let turned = held.iter().map(|held| held.rotate_left(rank as u32));
            mix(held[rank], composed(&turned.collect::<Vec<_>>()).1)
        }),
        Step::Alltoall => each(&|rank| {
            let came = |sum, source: &u64| mix(sum, mix(*source, rank as u64));
            held.iter().fold(held[rank], came)
        }),
        Step::Started => each(&|rank| {
            let moved = mix(held[rank], held[(rank + size - 1) % size]);
            let fold = held.iter().fold(held[rank], |a, b| mix(a, *b));
            mix(mix(moved, fold), composed(held).1)
        }),
        Step::Split => each(&|rank| {
            let half: Vec<u64> = held
                .iter()
                .skip(rank % 2)
                .step_by(2)
                .rev()
                .copied()
                .collect();
            mix(held[rank], composed(&half).1)
        }),
        Step::Slices(root) => each(&|rank| {
            let sum = held
                .iter()
                .fold(0, |sum: u64, held| sum.wrapping_add(*held));
            mix(mix(held[rank], sum), held[root].wrapping_add(1))
        }),
        Step::Posted(_) => each(&|rank| held.iter().fold(held[rank], |sum, held| sum ^ held)),
        _ => unreachable!("`after` knows the others"),
    }
}

/// The topologies of one rank.
struct Links<'c> {
    ring: Ring<'c, u64>,
    line: Line<'c, u64>,
}

impl Links<'_> {
    /// Makes a step and returns what the rank holds after it.
    async fn make(&mut self, step: Step, comm: &Communicator, held: u64) -> Result<u64, CommError> {
        let (rank, size) = (comm.rank(), comm.size());
        let mine = |root| rank == root;
        Ok(match step {
            Step::Barrier => comm.barrier().await.map(|()| held)?,
            Step::Allreduce => mix(held, comm.allreduce(pair(held), compose).await?.1),
            Step::Allgather => comm.allgather(held).await?.into_iter().fold(held, mix),
            Step::Broadcast(root) => mix(
                held,
                comm.broadcast(root, mine(root).then_some(held)).await?,
            ),
            Step::Reduce(root) => {
                let total = comm.reduce(root, pair(held), compose).await?;
                mix(held, total.map_or(0, |total| total.1))
            }
            Step::Gather(root) => {
                let all = comm.gather(root, held).await?;
                mix(held, all.map_or(0, |all| all.into_iter().fold(held, mix)))
            }
            Step::Scatter(root) => {
                let parts = || (0..size as u64).map(|rank| mix(held, rank)).collect();
                mix(held, comm.scatter(root, mine(root).then(parts)).await?)
            }
            Step::Shift(by) => mix(held, comm.shift(held, by).await?),
            Step::RingExchange => {
                let (left, right) = self.ring.exchange(!held, held).await?;
                mix(mix(held, left), right)
            }
            Step::RingLeft => mix(held, self.ring.shift_left(held).await?),
            Step::RingRight => mix(held, self.ring.shift_right(held).await?),
            Step::LineExchange => {
                let (left, right) = self.line.exchange(!held, held).await?;
                mix(mix(held, left.unwrap_or(0)), right.unwrap_or(0))
            }
            Step::AllToAll(tag) => all_to_all(comm, held, tag).await?,
            Step::AllToOne(root, tag) => all_to_one(comm, held, root, tag).await?,
            Step::Posted(tag) => posted(comm, held, tag).await?,
            more => make_more(more, comm, held).await?,
        })
    }
}

/// As [`Links::make`], for what is made of several calls.
async fn make_more(step: Step, comm: &Communicator, held: u64) -> Result<u64, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    Ok(match step {
        Step::Scan => mix(held, comm.scan(pair(held), compose).await?.1),
        Step::Exscan => match comm.exscan(pair(held), compose).await? {
            Some(before) => mix(held, before.1),
            None => held,
        },
        Step::ReduceScatter => {
            let turned = (0..size as u32).map(|rank| pair(held.rotate_left(rank)));
            mix(
                held,
                comm.reduce_scatter(turned.collect(), compose).await?.1,
            )
        }
        Step::Alltoall => {
            let values = (0..size as u64).map(|rank| mix(held, rank)).collect();
            comm.alltoall(values).await?.into_iter().fold(held, mix)
        }
        Step::Started => {
            let total = comm.allreduce(pair(held), compose).start();
            let all = comm.allgather(held).start();
            let moved = mix(held, comm.shift(held, 1).await?);
            let fold = all.wait().await?.into_iter().fold(held, mix);
            mix(mix(moved, fold), total.wait().await?.1)
        }
        Step::Split => {
            let key = -rank.cast_signed();
            let half = comm
                .split(Some(rank % 2), key)
                .await?
                .expect("it has a colour");
            mix(held, half.allreduce(pair(held), compose).await?.1)
        }
        Step::Slices(root) => {
            let (mine, mut sums, mut told) = ([held, 1], [0; 2], [0, held.wrapping_add(1)]);
            comm.allreduce_into(&mine, &mut sums, u64::wrapping_add)
                .await?;
            comm.broadcast_into(root, &mut told).await?;
            mix(mix(held, sums[0]), told[1])
        }
        _ => unreachable!("`make` knows the others"),
    })
}

async fn all_to_all(comm: &Communicator, held: u64, tag: u32) -> Result<u64, CommError> {
    for dest in 0..comm.size() {
        comm.send(dest, tag, mix(held, dest as u64)).await?;
    }
    let mut new = held;
    for source in (0..comm.size()).rev() {
        new = mix(new, comm.recv(source, tag).await?);
    }
    Ok(new)
}

async fn posted(comm: &Communicator, held: u64, tag: u32) -> Result<u64, CommError> {
    let mut came: Requests<'_, u64> = (0..comm.size())
        .map(|source| comm.irecv(source, tag))
        .collect();
    for dest in 0..comm.size() {
        comm.send(dest, tag, held).await?;
    }
    let mut sum = held;
    while let Some((_, value)) = came.wait_any().await {
        sum ^= value?;
    }
    Ok(sum)
}

async fn all_to_one(
    comm: &Communicator,
    held: u64,
    root: usize,
    tag: u32,
) -> Result<u64, CommError> {
    for _ in 0..3 {
        comm.send(root, tag, held >> 8).await?;
    }
    let mut sum = 0u64;
    for _ in 0..if comm.rank() == root {
        3 * comm.size()
    } else {
        0
    } {
        sum = sum.wrapping_add(comm.recv(motet_comm::ANY_SOURCE, tag).await?);
    }
    Ok(mix(held, sum))
}

/// Computes or lets others run for a while, or does not.
async fn dawdle(random: &mut Random) {
    match random.below(8) {
        0 => {
            let mut pauses = random.below(4);
            poll_fn(|cx| {
                cx.waker().wake_by_ref();
                pauses = pauses.saturating_sub(1);
                if pauses == 0 {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
        1 => (0..random.below(3_000)).for_each(|_| std::hint::spin_loop()),
        2 => std::thread::yield_now(),
        _ => {}
    }
}

/// A world as the seed says: of one to twelve ranks on one to four threads, or at ports.
pub(crate) fn random_world(random: &mut Random) -> World {
    let size = 1 + random.below(12);
    let world = if random.below(4) == 0 {
        World::ports(size)
    } else {
        World::threads(size)
    };
    let world = world.workers(1 + random.below(4));
    if random.below(3) == 0 {
        world.pin(true)
    } else {
        world
    }
}

#[test]
fn prop_stress_random_programs_equal_the_sequential_reference() {
    within(patience(), || {
        stress(25, |seed| {
            let world = random_world(&mut Random::new(seed));
            let script = Script::random(seed, world.size(), 200);
            let body =
                async |comm: Communicator| script.follow::<CommError>(&comm, |_| Ok(())).await;
            let held = world
                .run(body)
                .unwrap_or_else(|e| panic!("seed {seed}, {world:?}: {e}"));
            assert_eq!(
                held,
                script.reference(world.size()),
                "seed {seed}, {world:?}"
            );
        });
    });
}

#[test]
fn sem_g99_programs_at_ports_equal_the_sequential_reference() {
    within(patience(), || {
        for (seed, size) in [(1, 1), (2, 2), (3, 3), (4, 7), (5, 16)] {
            for workers in [1, 2] {
                let world = World::ports(size).workers(workers);
                let script = Script::random(seed, size, 150);
                let body =
                    async |comm: Communicator| script.follow::<CommError>(&comm, |_| Ok(())).await;
                let held = world
                    .run(body)
                    .unwrap_or_else(|e| panic!("{seed}, {world:?}: {e}"));
                assert_eq!(held, script.reference(size), "seed {seed}, {world:?}");
            }
        }
    });
}

#[test]
fn sem_g111_programs_in_a_replay_equal_the_sequential_reference() {
    within(patience(), || {
        for seed in 1..=30 {
            let (size, replay) = (1 + seed as usize % 9, Replay::new(seed));
            let script = Script::random(seed, size, 150);
            let ended = World::threads(size).replayed(&replay, async |comm: Communicator| {
                script.follow::<CommError>(&comm, |_| Ok(())).await
            });
            let ended = ended.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            assert_eq!(ended.results, script.reference(size), "seed {seed}");
            assert!(ended.unmatched.is_empty(), "seed {seed}");
        }
    });
}

/// Why a rank of [`sem_g71_a_failure_at_a_random_place_ends_the_run`] ends.
#[derive(Debug)]
enum Planned {
    Failure(usize),
    Comm(CommError),
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Planned::Failure(number) => write!(f, "planned at {number}"),
            Planned::Comm(error) => write!(f, "{error}"),
        }
    }
}

impl From<CommError> for Planned {
    fn from(error: CommError) -> Self {
        Planned::Comm(error)
    }
}

#[test]
fn sem_g71_stress_a_failure_at_a_random_place_ends_the_run() {
    within(patience(), || {
        stress(150, |seed| {
            let mut random = Random::new(seed);
            let world = random_world(&mut random);
            let script = Script::random(seed, world.size(), 40);
            let (failing, place, panics) = (
                random.below(world.size()),
                random.below(40),
                random.below(8) == 0,
            );
            let body = async |comm: Communicator| {
                let fail = |number| match number == place && comm.rank() == failing {
                    true if panics => std::panic::resume_unwind(Box::new("planned")),
                    true => Err(Planned::Failure(number)),
                    false => Ok(()),
                };
                script.follow(&comm, fail).await
            };
            match world.run(body).expect_err("one rank fails") {
                RunError::Rank {
                    rank,
                    error: Planned::Failure(number),
                } => {
                    assert_eq!(
                        (rank, number, panics),
                        (failing, place, false),
                        "seed {seed}"
                    );
                }
                RunError::Panicked { rank, message } => {
                    assert_eq!(
                        (rank, &*message, panics),
                        (failing, "planned", true),
                        "seed {seed}"
                    );
                }
                other => panic!("seed {seed}, {world:?}: {other:?}"),
            }
        });
    });
}

#[test]
fn sem_g72_stress_a_rank_that_leaves_at_a_random_place_is_found() {
    within(patience(), || {
        stress(100, |seed| {
            let mut random = Random::new(seed);
            let world = random_world(&mut random);
            if world.size() == 1 {
                return;
            }
            let script = Script::random(seed, world.size(), 40);
            let (leaving, place) = (random.below(world.size()), random.below(40));
            let body = async |comm: Communicator| {
                let leave = |number| match number == place && comm.rank() == leaving {
                    true => Err(Planned::Failure(number)),
                    false => Ok(()),
                };
                match script.follow(&comm, leave).await {
                    Err(Planned::Comm(error)) => Err(error),
                    Err(Planned::Failure(_)) => Ok(()),
                    // Nobody gets past a barrier without the rank that has left.
                    Ok(_) => comm.barrier().await,
                }
            };
            let outcome = world.run(body);
            let stuck = matches!(&outcome, Err(RunError::Stuck(_)));
            assert!(stuck, "seed {seed}, {world:?}: {outcome:?}");
        });
    });
}
