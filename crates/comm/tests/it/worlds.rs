//! The same body on every kind of world.

use crate::network::processes;
use motet_comm::{CommError, Communicator, RunError, World};
use motet_dispatch::Replay;
use motet_testkit::{patience, within};
use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::sync::Arc;

/// What a body of these tests returns.
pub(crate) type Outcome<R> = Result<R, CommError>;

/// Numbers of ranks that every operation is tried with.
const SIZES: [usize; 5] = [1, 2, 3, 4, 8];

/// Numbers of ranks at the levels of the tree on which ranks meet (nodes have eight children).
pub(crate) const TREES: [usize; 8] = [7, 9, 16, 17, 63, 64, 65, 100];

/// One rank alone, and every number of ranks on one thread, on two, on as many as the world takes
/// by itself, bound to cores and not.
pub(crate) fn worlds() -> Vec<World> {
    let sized = SIZES.into_iter().flat_map(worlds_of);
    [World::solo()].into_iter().chain(sized).collect()
}

/// Worlds of `size` ranks that share memory, or post to each other's ports.
pub(crate) fn worlds_of(size: usize) -> Vec<World> {
    let world = World::threads(size);
    let threads = [world.clone().workers(1), world.clone().workers(2), world];
    threads
        .into_iter()
        .flat_map(|world| [world.clone().pin(false), world.pin(true)])
        .chain([1, 2].map(|workers| World::ports(size).workers(workers)))
        .collect()
}

/// Seeds of the replays that every body is run in, too.
const SEEDS: [u64; 2] = [1, 2];

/// Processes, and ranks in each of them.
const LAYOUTS: [(usize, usize); 6] = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (5, 2)];

/// Runs `body` on every kind of world, and over several processes: rank `r` of `n` must return
/// `expected(r, n)`.
pub(crate) fn everywhere<R, F>(body: F, expected: impl Fn(usize, usize) -> R + Send + 'static)
where
    R: Send + PartialEq + Debug + 'static,
    F: AsyncFn(Communicator) -> Outcome<R> + Send + Sync + 'static,
{
    everywhere_in((worlds(), &SEEDS), LAYOUTS.to_vec(), body, expected);
}

/// As [`everywhere`], but not in a replay, for a body that waits for other threads.
pub(crate) fn where_threads_are<R, F>(
    body: F,
    expected: impl Fn(usize, usize) -> R + Send + 'static,
) where
    R: Send + PartialEq + Debug + 'static,
    F: AsyncFn(Communicator) -> Outcome<R> + Send + Sync + 'static,
{
    everywhere_in((worlds(), &[]), LAYOUTS.to_vec(), body, expected);
}

/// As [`everywhere`], with these numbers of ranks only.
pub(crate) fn with_ranks<R, F>(
    sizes: &[usize],
    body: F,
    expected: impl Fn(usize, usize) -> R + Send + 'static,
) where
    R: Send + PartialEq + Debug + 'static,
    F: AsyncFn(Communicator) -> Outcome<R> + Send + Sync + 'static,
{
    let of_size = |&size: &usize| {
        let counts = (2..=size.min(5)).filter(move |count| size.is_multiple_of(*count));
        counts.map(move |count| (count, size / count))
    };
    let layouts = sizes.iter().flat_map(of_size).collect();
    let worlds = sizes.iter().copied().flat_map(worlds_of);
    let alone = sizes.contains(&1).then(World::solo);
    everywhere_in(
        (worlds.chain(alone).collect(), &SEEDS),
        layouts,
        body,
        expected,
    );
}

fn everywhere_in<R, F>(
    (worlds, seeds): (Vec<World>, &'static [u64]),
    layouts: Vec<(usize, usize)>,
    body: F,
    expected: impl Fn(usize, usize) -> R + Send + 'static,
) where
    R: Send + PartialEq + Debug + 'static,
    F: AsyncFn(Communicator) -> Outcome<R> + Send + Sync + 'static,
{
    let body = Arc::new(body);
    within(patience(), move || {
        let sizes: BTreeSet<usize> = worlds.iter().map(World::size).collect();
        run_on(worlds, &*body, &expected);
        let seeded = |size| seeds.iter().map(move |&seed| (size, seed));
        for (size, seed) in sizes.into_iter().flat_map(seeded) {
            let ended = World::threads(size).replayed(&Replay::new(seed), &*body);
            let ended = ended.unwrap_or_else(|e| panic!("{size} ranks, seed {seed}: {e}"));
            let expected: Vec<R> = (0..size).map(|rank| expected(rank, size)).collect();
            assert_eq!(ended.results, expected, "{size} ranks, seed {seed}");
        }
        for (count, ranks) in layouts {
            let body = Arc::clone(&body);
            let results = processes(count, move |end| {
                let world = World::over(end, ranks);
                world
                    .run(&*body)
                    .unwrap_or_else(|e| panic!("{count} processes of {ranks}: {e}"))
            });
            let size = count * ranks;
            let expected: Vec<R> = (0..size).map(|rank| expected(rank, size)).collect();
            let results: Vec<R> = results.into_iter().flatten().collect();
            assert_eq!(results, expected, "{count} processes of {ranks}");
        }
    });
}

/// As [`everywhere`], on these worlds.
pub(crate) fn on<R, F>(
    worlds: Vec<World>,
    body: F,
    expected: impl Fn(usize, usize) -> R + Send + 'static,
) where
    R: Send + PartialEq + Debug,
    F: AsyncFn(Communicator) -> Outcome<R> + Send + Sync + 'static,
{
    within(patience(), move || run_on(worlds, &body, &expected));
}

fn run_on<R, F>(worlds: Vec<World>, body: &F, expected: &impl Fn(usize, usize) -> R)
where
    R: Send + PartialEq + Debug,
    F: AsyncFn(Communicator) -> Outcome<R> + Sync,
{
    for world in worlds {
        let size = world.size();
        let expected: Vec<R> = (0..size).map(|rank| expected(rank, size)).collect();
        let results = world.run(body).unwrap_or_else(|e| panic!("{world:?}: {e}"));
        assert_eq!(results, expected, "{world:?}");
    }
}

/// Runs `body` on every world with at least `least` ranks and hands the error to `check`.
pub(crate) fn fails_everywhere<R, E, F>(
    least: usize,
    body: F,
    check: impl Fn(usize, RunError<E>) + Send + 'static,
) where
    R: Send + Debug,
    E: Send + Debug + Display,
    F: AsyncFn(Communicator) -> Result<R, E> + Send + Sync + 'static,
{
    within(patience(), move || {
        for world in worlds() {
            if world.size() >= least {
                let error = world.run(&body).expect_err("the run does not end well");
                check(world.size(), error);
            }
        }
    });
}
