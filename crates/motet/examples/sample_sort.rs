//! Sorting by regular samples: each rank sorts its keys, all agree where to cut, and everybody
//! sends everybody what lies between the cuts.
//!
//! ```text
//!  rank 0  sorts ─► samples ─┐             ┌─► [ a … f ) ─┐              ┌─► all of [ a … f ), merged
//!                            ├─ the cuts ──┤              ├─ all to all ─┤
//!  rank 1  sorts ─► samples ─┘             └─► [ f … z ] ─┘              └─► all of [ f … z ], merged
//! ```
//!
//! The result is that of a plain sort, for any number of ranks, on threads and on processes
//! (`motet run -t 2 -m 2 -- sample_sort`). No rank gets much more than its share, however the keys
//! are distributed (Shi and Schaeffer, *Parallel sorting by regular sampling*, 1992).

use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;

const KEYS: usize = 60_000;
/// Samples of each rank.
const SAMPLES: usize = 64;

/// A key and where it was: no two are equal.
type Key = (u64, u32);

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let mut expected: Vec<Key> = (0..KEYS).map(key).collect();
    expected.sort_unstable();
    let sums = world
        .run(async |comm| -> Result<_, CommError> {
            let mine = sort(&comm).await?;
            assert!(mine.len() <= most(comm.size()), "{} keys", mine.len());
            let before = comm.exscan(mine.len(), |a, b| a + b).await?.unwrap_or(0);
            assert_eq!(mine, expected[before..before + mine.len()]);
            let marks = mine
                .iter()
                .enumerate()
                .map(|(at, &(key, from))| mark(before + at, key.rotate_left(32) ^ u64::from(from)));
            let sum = marks.fold(0, u64::wrapping_add);
            let all = |a: (usize, u64), b: (usize, u64)| (a.0 + b.0, a.1.wrapping_add(b.1));
            comm.allreduce((mine.len(), sum), all).await
        })
        .expect("no rank fails");
    let (keys, sum) = sums[0];
    assert_eq!(keys, KEYS);
    if world.process().0 == 0 {
        println!("sample_sort: {keys} keys in order, {sum:016x}");
    }
}

/// The key that is at a place before: small ones are far more frequent, and many are equal.
fn key(at: usize) -> Key {
    let random = mark(at, 0);
    let place = u32::try_from(at).expect("there are not so many");
    (random >> (random % 60), place)
}

/// The keys of this rank when all are sorted.
async fn sort(comm: &Communicator) -> Result<Vec<Key>, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut mine: Vec<Key> = (KEYS * rank / size..KEYS * (rank + 1) / size)
        .map(key)
        .collect();
    mine.sort_unstable();
    let samples: Vec<Key> = (0..SAMPLES)
        .map(|sample| mine[mine.len() * sample / SAMPLES])
        .collect();
    let mut samples = comm.allgather(samples).await?.concat();
    samples.sort_unstable();
    let cuts = samples.iter().step_by(SAMPLES).skip(1);
    let mut parts = Vec::new();
    for cut in cuts.rev() {
        let at = mine.partition_point(|key| key < cut);
        parts.push(mine.split_off(at));
    }
    parts.push(mine);
    parts.reverse();
    let mut came = comm.alltoall(parts).await?.concat();
    // It finds that these are sorted one by one, and merges them.
    came.sort();
    Ok(came)
}

/// How many keys a rank can get at most. Between two cuts there are as many samples as each rank
/// has taken. Every sample stands for so many keys of its rank, and each rank may have that many
/// more before its first.
fn most(ranks: usize) -> usize {
    let keys = KEYS.div_ceil(ranks).div_ceil(SAMPLES);
    (SAMPLES + ranks) * keys
}
