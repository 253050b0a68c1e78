//! `docs/moving/workers.py`, a program in Python with mpi4py, moved line by line as
//! `docs/MOVING.md` tells. It has objects by broadcast and gather, numbers by reduce, tasks handed
//! out to whoever asks.
//!
//! It runs on the world that it was started in (`motet run -t 2 -m 2 -- moved_workers`), and on
//! ranks of its own.

use motet::comm::{ANY_SOURCE, ANY_TAG, Tag};
use motet::{CommError, Communicator, Current, World};
use serde::{Deserialize, Serialize};

const READY: Tag = 1;
const DONE: Tag = 2;
const WORK: Tag = 3;
const STOP: Tag = 4;
const BINS: usize = 10;
const SETTINGS: Settings = Settings {
    count: 1000,
    tasks: 40,
};

#[derive(Clone, Serialize, Deserialize)]
struct Settings {
    count: usize,
    tasks: usize,
}

#[derive(Serialize, Deserialize)]
struct Task {
    number: usize,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
struct Counted {
    task: usize,
    inside: usize,
}

/// What rank 0 has found, in the end.
#[derive(Debug, PartialEq)]
struct Found {
    inside: usize,
    by_distance: Vec<i64>,
}

fn main() {
    let started = World::current().expect("an MPI library, if there are several processes");
    let alone = alone(&SETTINGS);
    check(&started, &alone);
    // Where there are other processes it is their turn, and not that of ranks of each one's own.
    let own = if started.process().1 > 1 {
        &[][..]
    } else {
        &[2, 3, 5]
    };
    for &ranks in own {
        for world in [World::threads(ranks), World::ports(ranks)] {
            check(&world, &alone);
        }
    }
    check(&World::solo(), &alone);
    let points = SETTINGS.count * SETTINGS.tasks;
    let pi_is = 4.0 * alone.inside as f64 / points as f64;
    assert!((pi_is - std::f64::consts::PI).abs() < 0.02);
    if started.process().0 == 0 {
        println!(
            "moved_workers: {} of {points} points inside: pi is about {pi_is:.4}; by distance: {:?}",
            alone.inside, alone.by_distance
        );
    }
}

/// Runs the program on a world, and compares what its first rank finds with what is found without
/// ranks.
fn check(world: &World, alone: &Found) {
    let (process, processes) = world.process();
    let found = world.run(pi);
    if world.size() * processes < 2 {
        found.expect_err("nobody is there to work for rank 0");
        return;
    }
    let found = found.expect("no rank fails");
    let (first, others) = found.split_first().expect("there are ranks");
    assert_eq!(first.as_ref(), (process == 0).then_some(alone));
    assert!(others.iter().all(Option::is_none));
}

/// The program that every rank runs.
async fn pi(comm: Communicator) -> Result<Option<Found>, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    if size < 2 {
        let problem = "one rank hands out, so there must be two at least".to_owned();
        return Err(CommError::Arguments { problem });
    }
    let settings = comm.broadcast(0, (rank == 0).then_some(SETTINGS)).await?;

    // How many points at which distance.
    let mut bins = [0_i64; BINS];
    let (mut inside, mut done) = (0, 0);
    if rank == 0 {
        inside = master(&comm, tasks(settings.tasks)).await?;
    } else {
        done = work(&comm, settings.count, &mut bins).await?;
    }

    let mut total = [0; BINS];
    comm.reduce_into(0, &bins, &mut total, |a, b| a + b).await?;
    let shares = comm.gather(0, done).await?;
    let Some(shares) = shares else {
        return Ok(None);
    };
    assert_eq!(shares.iter().sum::<usize>(), settings.tasks);
    Ok(Some(Found {
        inside,
        by_distance: total.to_vec(),
    }))
}

/// Hands out the tasks, and adds up what comes back.
async fn master(comm: &Communicator, mut tasks: Vec<Task>) -> Result<usize, CommError> {
    let (mut inside, mut stopped) = (0, 0);
    let mut open = vec![true; tasks.len()];
    while stopped < comm.size() - 1 {
        let status = comm.probe(ANY_SOURCE, ANY_TAG).await?.status;
        let worker = status.source;
        if status.tag == DONE {
            let counted: Counted = comm.recv(worker, DONE).await?;
            assert!(std::mem::take(&mut open[counted.task]), "done once");
            inside += counted.inside;
            continue;
        }
        comm.recv::<()>(worker, READY).await?;
        if let Some(task) = tasks.pop() {
            comm.send(worker, WORK, Some(task)).await?;
        } else {
            comm.send(worker, STOP, None::<Task>).await?;
            stopped += 1;
        }
    }
    Ok(inside)
}

/// Asks for tasks until there are none; how many there were.
async fn work(
    comm: &Communicator,
    count: usize,
    bins: &mut [i64; BINS],
) -> Result<usize, CommError> {
    let mut done = 0;
    loop {
        comm.send(0, READY, ()).await?;
        let Some(task) = comm.recv::<Option<Task>>(0, ANY_TAG).await? else {
            return Ok(done);
        };
        let counted = Counted {
            task: task.number,
            inside: count_points(task.seed, count, bins),
        };
        comm.send(0, DONE, counted).await?;
        done += 1;
    }
}

fn tasks(tasks: usize) -> Vec<Task> {
    let task = |number| Task {
        number,
        seed: 7 * number as u64,
    };
    (0..tasks).map(task).collect()
}

/// Notes the distance of each point; how many lie inside the circle.
fn count_points(seed: u64, count: usize, bins: &mut [i64; BINS]) -> usize {
    let mut inside = 0;
    for (x, y) in points(seed).take(count) {
        let square = x * x + y * y;
        bins[(square * BINS as f64 / 2.0) as usize] += 1;
        inside += usize::from(square < 1.0);
    }
    inside
}

/// Points of the unit square, the same wherever they are made.
fn points(seed: u64) -> impl Iterator<Item = (f64, f64)> {
    let mut state = seed;
    let mut number = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    std::iter::repeat_with(move || (number(), number()))
}

/// The same without ranks.
fn alone(settings: &Settings) -> Found {
    let mut bins = [0; BINS];
    let count = |task: Task| count_points(task.seed, settings.count, &mut bins);
    let inside = tasks(settings.tasks).into_iter().map(count).sum();
    Found {
        inside,
        by_distance: bins.to_vec(),
    }
}
