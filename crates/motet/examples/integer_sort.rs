//! The integer sort of the NAS parallel benchmarks (IS). It ranks 2^23 keys ten times, each time
//! with two keys changed, and checks the ranks of five keys against the published ones.
//!
//! ```text
//!  keys ─► buckets ─► sizes of all buckets (allreduce) ─► who gets which ─► keys to their ranks (alltoallv) ─► counted
//! ```
//!
//! Classes S and A: `integer_sort A`. It runs on threads and on processes
//! (`motet run -m 2 -- integer_sort A`). It says on standard error how many keys it has ranked in a
//! second, as the programs of the suite do. (D. Bailey et al., *The NAS parallel benchmarks*,
//! RNR-94-007, 1994; NPB 3, program IS.)

use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;
use std::time::Instant;

const ITERATIONS: u32 = 10;
const BUCKETS: usize = 1 << 10;

/// A size of the problem.
#[derive(Debug, Clone, Copy)]
struct Class {
    name: &'static str,
    /// Logarithms of the number of keys, and of their range.
    keys: u32,
    range: u32,
    /// Places of the keys that are checked, and their ranks in iteration 0.
    places: [usize; 5],
    ranks: [u32; 5],
    /// The first three of them go up with the iterations, the others down. How far they are in the
    /// first.
    shift: i64,
}

const CLASSES: [Class; 2] = [
    Class {
        name: "S",
        keys: 16,
        range: 11,
        places: [48427, 17148, 23627, 62548, 4431],
        ranks: [0, 18, 346, 64917, 65463],
        shift: 0,
    },
    Class {
        name: "A",
        keys: 23,
        range: 19,
        places: [2_112_377, 662_041, 5_336_171, 3_642_833, 4_250_760],
        ranks: [104, 17523, 123_928, 8_288_932, 8_388_264],
        shift: -1,
    },
];

impl Class {
    /// Logarithm of the number of different keys in a bucket.
    fn width(self) -> u32 {
        self.range - BUCKETS.ilog2()
    }
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "S".to_owned());
    let Some(class) = CLASSES.into_iter().find(|class| class.name == name) else {
        eprintln!("there is no class {name}: name S or A");
        std::process::exit(2);
    };
    let world = World::current().expect("an MPI library, if there are several processes");
    let (seconds, sum) = world
        .run(async |comm| sort(&comm, class).await)
        .expect("no rank fails")[0];
    if world.process().0 == 0 {
        let ranked = f64::from(ITERATIONS) * f64::from(1 << class.keys);
        let rate = ranked / seconds / 1e6;
        eprintln!("{seconds:.4} s, {rate:.1} million keys ranked in a second");
        println!("integer_sort: class {name}, ranks as published, {sum:016x}");
    }
}

/// Ranks the keys as often as the benchmark says; the time in seconds, and a checksum of the keys
/// in order.
async fn sort(comm: &Communicator, class: Class) -> Result<(f64, u64), CommError> {
    let (rank, size, all) = (comm.rank(), comm.size(), 1 << class.keys);
    let begin = all * rank / size;
    let mut keys = made(class, begin..all * (rank + 1) / size);
    let mine: Vec<u32> = class
        .places
        .iter()
        .map(|place| place.checked_sub(begin))
        .map(|at| at.and_then(|at| keys.get(at)).copied().unwrap_or(0))
        .collect();
    let mut checked = vec![0; mine.len()];
    comm.allreduce_into(&mine, &mut checked, u32::max).await?;
    let mut sorter = Sorter::new(class, size);
    // Once for nothing, as the benchmark has it.
    sorter.rank(comm, &mut keys, 1).await?;
    comm.barrier().await?;
    let begun = Instant::now();
    for iteration in 1..=ITERATIONS {
        sorter.rank(comm, &mut keys, iteration).await?;
        sorter.check(&checked, iteration);
    }
    let seconds = comm
        .allreduce(begun.elapsed().as_secs_f64(), f64::max)
        .await?;
    Ok((seconds, sorter.check_all(comm).await?))
}

/// The keys at these places: each the mean of four numbers of the generator of the suite.
fn made(class: Class, places: std::ops::Range<usize>) -> Vec<u32> {
    const FACTOR: u64 = 1_220_703_125;
    const MASK: u64 = (1 << 46) - 1;
    let next = |seed: u64, factor: u64| (u128::from(seed) * u128::from(factor)) as u64 & MASK;
    // The seed at the first of these places: the factor to the power of four times as many steps.
    let (mut seed, mut power, mut steps) = (314_159_265, FACTOR, 4 * places.start);
    while steps > 0 {
        if steps % 2 == 1 {
            seed = next(seed, power);
        }
        power = next(power, power);
        steps /= 2;
    }
    let mut number = || {
        seed = next(seed, FACTOR);
        seed as f64 * f64::powi(2.0, -46)
    };
    let quarter = f64::from(1 << class.range) / 4.0;
    places
        .map(|_| (quarter * (number() + number() + number() + number())) as u32)
        .collect()
}

/// What is used again in each iteration.
struct Sorter {
    class: Class,
    /// The keys of this rank, bucket by bucket; and those that have come.
    sorted: Vec<u32>,
    came: Vec<u32>,
    /// Keys in each bucket, here and in all ranks.
    sizes: Vec<u32>,
    totals: Vec<u32>,
    /// The first bucket of each rank; then their number.
    firsts: Vec<usize>,
    /// Of each key of this rank's range, how many of the range are less or equal. Then the first
    /// key of the range, and how many keys are below it.
    ranks: Vec<u32>,
    first: usize,
    below: u32,
}

impl Sorter {
    fn new(class: Class, size: usize) -> Self {
        Sorter {
            class,
            sorted: Vec::new(),
            came: Vec::new(),
            sizes: vec![0; BUCKETS],
            totals: vec![0; BUCKETS],
            firsts: vec![0; size + 1],
            ranks: Vec::new(),
            first: 0,
            below: 0,
        }
    }

    /// The bucket of a key: those of a bucket are neighbours.
    fn bucket(&self, key: u32) -> usize {
        (key >> self.class.width()) as usize
    }

    /// Ranks the keys once.
    async fn rank(
        &mut self,
        comm: &Communicator,
        keys: &mut [u32],
        iteration: u32,
    ) -> Result<(), CommError> {
        if comm.rank() == 0 {
            keys[iteration as usize] = iteration;
            keys[(iteration + ITERATIONS) as usize] = (1 << self.class.range) - iteration;
        }
        self.fill_buckets(keys);
        let (sizes, totals) = (&self.sizes, &mut self.totals);
        comm.allreduce_into(sizes, totals, |a, b| a + b).await?;
        self.share_buckets(comm.size());
        let of = |rank: usize| self.firsts[rank]..self.firsts[rank + 1];
        let sum = |sizes: &[u32]| sizes.iter().sum::<u32>() as usize;
        let counts: Vec<usize> = (0..comm.size())
            .map(|rank| sum(&self.sizes[of(rank)]))
            .collect();
        let (own, first) = (of(comm.rank()), self.firsts[comm.rank()]);
        self.came.resize(sum(&self.totals[own.clone()]), 0);
        self.below = self.totals[..first].iter().sum();
        comm.alltoallv_into(&self.sorted, &counts, &mut self.came)
            .await?;
        self.count(own);
        Ok(())
    }

    fn fill_buckets(&mut self, keys: &[u32]) {
        let mut sizes = vec![0; BUCKETS];
        keys.iter().for_each(|&key| sizes[self.bucket(key)] += 1);
        let mut places = Vec::with_capacity(BUCKETS);
        let mut end = 0;
        for size in &sizes {
            places.push(end);
            end += size;
        }
        self.sorted.resize(keys.len(), 0);
        for &key in keys {
            let place = &mut places[self.bucket(key)];
            self.sorted[*place as usize] = key;
            *place += 1;
        }
        self.sizes = sizes;
    }

    /// Gives each rank neighbouring buckets with about as many keys as every other.
    fn share_buckets(&mut self, ranks: usize) {
        let all: u64 = 1 << self.class.keys;
        let (mut sum, mut rank) = (0, 1);
        for (bucket, &total) in self.totals.iter().enumerate() {
            sum += u64::from(total);
            while rank < ranks && sum * ranks as u64 >= all * rank as u64 {
                self.firsts[rank] = bucket + 1;
                rank += 1;
            }
        }
        self.firsts[ranks] = BUCKETS;
    }

    /// Counts the keys that have come, which are in these buckets.
    fn count(&mut self, buckets: std::ops::Range<usize>) {
        let width = 1 << self.class.width();
        let first = buckets.start * width;
        self.first = first;
        self.ranks.clear();
        self.ranks.resize(buckets.len() * width, 0);
        for &key in &self.came {
            self.ranks[key as usize - first] += 1;
        }
        let mut sum = 0;
        for rank in &mut self.ranks {
            sum += *rank;
            *rank = sum;
        }
    }

    /// Compares the ranks of those of the checked keys that have come here with the published ones.
    fn check(&self, checked: &[u32], iteration: u32) {
        for (at, &key) in checked.iter().enumerate() {
            let Some(place) = (key as usize).checked_sub(self.first) else {
                continue;
            };
            if place >= self.ranks.len() {
                continue;
            }
            let less = place.checked_sub(1).map_or(0, |before| self.ranks[before]);
            let far = i64::from(iteration) + self.class.shift;
            let sign = if at < 3 { 1 } else { -1 };
            let right = i64::from(self.class.ranks[at]) + sign * far;
            assert_eq!(
                i64::from(less + self.below),
                right,
                "key {at}, iteration {iteration}"
            );
        }
    }

    /// Puts the keys in order, and checks that no rank begins below the end of another and that
    /// none is lost; a checksum.
    async fn check_all(&self, comm: &Communicator) -> Result<u64, CommError> {
        let mut sorted = self.came.clone();
        sorted.sort_unstable();
        let ends = (sorted.first().copied(), sorted.last().copied());
        let all = comm.allgather((ends, sorted.len())).await?;
        let keys = all.iter().map(|(_, keys)| keys).sum::<usize>();
        assert_eq!(keys, 1 << self.class.keys);
        let ends: Vec<u32> = all
            .iter()
            .filter_map(|((first, last), _)| Some([(*first)?, (*last)?]))
            .flatten()
            .collect();
        assert!(ends.is_sorted());
        let below = self.below as usize;
        let marks = sorted.iter().enumerate();
        let marks = marks.map(|(at, &key)| mark(below + at, u64::from(key)));
        let sum = marks.fold(0, u64::wrapping_add);
        comm.allreduce(sum, u64::wrapping_add).await
    }
}
