//! E19: results of different threads in one cache line, and apart.

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::said::Said;
use crate::statistics::{deviation, mean};
use motet_comm::World;
use motet_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;
use std::time::Instant;

const TIME: Quantity = Quantity::new("time per addition", "ns");
const FLUCTUATION: Quantity = Quantity::new("standard deviation / mean", "");
const CLUSTERING: Quantity = Quantity::new("time per clustered point", "ns");

/// Clusters of the clustering, and the sums of each: how many points, and their coordinates.
const CLUSTERS: usize = 10;
const SUMS: usize = 3;

/// Words between the results of two threads.
const SEPARATIONS: [usize; 5] = [1, 4, 8, 16, 1024];

/// Bytes: a multiple of every processor's cache line.
const LINE: usize = 128;

/// E19: sums of random numbers, kept closer together and further apart.
pub(crate) fn e19(setting: &Setting) -> Cases {
    let threads = thread::cores().max(2);
    let additions = setting.by_effort(1_000, 200_000, 2_000_000);
    let repetitions = setting.by_effort(2, 20, 100);
    let case = |separation: usize| {
        let point = Point::new()
            .with("separation", separation)
            .with("threads", threads);
        let sums = Sums::new((threads, setting.pins(threads)), separation, additions);
        let each = move |run: fn(&Arc<Sums>, Job) -> Result<f64, String>| {
            let sums = Arc::clone(&sums);
            move || {
                let times = |job: Job| {
                    let times = (0..repetitions).map(|_| run(&sums, job));
                    times.collect::<Result<Vec<f64>, String>>()
                };
                let (added, clustered) = (times(Sums::add)?, times(Sums::cluster)?);
                let fluctuation = deviation(&added) / mean(&added);
                Ok([mean(&added), fluctuation, mean(&clustered)])
            }
        };
        Case::new(point, &[TIME, FLUCTUATION, CLUSTERING])
            .with("motet", each(on_ranks))
            .beside(setting, "threads", each(on_threads))
            .beside(setting, "rayon", each(on_rayon))
    };
    Ok(SEPARATIONS.map(case).into())
}

/// What a thread does: the time of one of its parts, in ns.
type Job = fn(&Sums, usize) -> f64;

/// The array of results.
#[derive(Debug)]
struct Sums {
    kept: Vec<AtomicU64>,
    /// The first word of a line, where the results begin.
    first: usize,
    threads: usize,
    /// The threads are bound to their cores.
    pin: bool,
    separation: usize,
    additions: u64,
}

/// Where threads without ranks wait for each other, awake: all go on at the same moment.
#[derive(Debug)]
struct CountBarrier {
    missing: AtomicUsize,
}

impl CountBarrier {
    fn new(threads: usize) -> CountBarrier {
        CountBarrier {
            missing: AtomicUsize::new(threads),
        }
    }

    fn wait(&self) {
        // Release and acquire: who goes on sees what all others did before they came.
        self.missing.fetch_sub(1, Ordering::AcqRel);
        while self.missing.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
    }
}

impl Sums {
    fn new((threads, pin): (usize, bool), separation: usize, additions: u64) -> Arc<Sums> {
        let words =
            (CLUSTERS * SUMS * threads * separation).max(1 << 16) + LINE / size_of::<AtomicU64>();
        let kept: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Sums {
            first: kept.as_ptr().align_offset(LINE),
            kept,
            threads,
            pin,
            separation,
            additions,
        })
    }

    /// The result of thread `number`.
    fn kept(&self, number: usize) -> &AtomicU64 {
        &self.kept[self.first + number * self.separation]
    }

    /// Adds to one of the sums of thread `number`.
    fn keep(&self, number: usize, sum: usize, addend: f64) {
        let stretch = self.threads * self.separation;
        let kept = &self.kept[self.first + sum * stretch + number * self.separation];
        // Relaxed: nobody else reads or writes this sum.
        let new = f64::from_bits(kept.load(Ordering::Relaxed)) + addend;
        kept.store(new.to_bits(), Ordering::Relaxed);
    }

    /// A step of K-means by thread `number`: the time of a point, in ns.
    fn cluster(&self, number: usize) -> f64 {
        const BATCH: usize = 1024;
        let points = crate::mixture::mixture(BATCH);
        let centres = &points.values()[..2 * CLUSTERS];
        let rounds = (self.additions as usize / 16).div_ceil(BATCH);
        let started = Instant::now();
        for point in (0..rounds).flat_map(|_| points.values().chunks_exact(2)) {
            let (mut near, mut least) = (0, f64::INFINITY);
            for (k, centre) in centres.chunks_exact(2).enumerate() {
                let (x, y) = (point[0] - centre[0], point[1] - centre[1]);
                let square = x * x + y * y;
                if square < least {
                    (near, least) = (k, square);
                }
            }
            for (sum, addend) in [1.0, point[0], point[1]].into_iter().enumerate() {
                self.keep(number, near * SUMS + sum, addend);
            }
        }
        started.elapsed().as_secs_f64() * 1e9 / (rounds * BATCH) as f64
    }

    /// What thread `number` does: the time of an addition, in ns.
    fn add(&self, number: usize) -> f64 {
        let kept = self.kept(number);
        let mut random = number as u64 + 1;
        let started = Instant::now();
        for _ in 0..self.additions {
            // A linear congruential generator (Knuth's constants); the high bits are as good as
            // needed.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let addend = (random >> 11) as f64;
            // Relaxed: nobody else reads or writes this result.
            let sum = f64::from_bits(kept.load(Ordering::Relaxed)) + addend;
            kept.store(sum.to_bits(), Ordering::Relaxed);
        }
        started.elapsed().as_secs_f64() * 1e9 / self.additions as f64
    }
}

fn on_ranks(sums: &Arc<Sums>, job: Job) -> Result<f64, String> {
    let world = World::threads(sums.threads).pin(sums.pin);
    let times = world.run(async |comm| {
        comm.barrier().await?;
        Ok::<f64, motet_comm::CommError>(job(sums, comm.rank()))
    });
    times.map(|times| mean(&times)).said()
}

fn on_threads(sums: &Arc<Sums>, job: Job) -> Result<f64, String> {
    let together = Arc::new(CountBarrier::new(sums.threads));
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let spawn = |number| {
        let (sums, together) = (Arc::clone(sums), Arc::clone(&together));
        let core = cores.get(number).copied().filter(|_| sums.pin);
        thread::spawn(move || {
            core.map(core_affinity::set_for_current);
            together.wait();
            job(&sums, number)
        })
    };
    let threads: Vec<_> = (0..sums.threads).map(spawn).collect();
    let times = threads.into_iter().map(|thread| {
        let ended = thread.join();
        ended.map_err(|_| "a thread panicked".to_owned())
    });
    Ok(mean(&times.collect::<Result<Vec<f64>, String>>()?))
}

fn on_rayon(sums: &Arc<Sums>, job: Job) -> Result<f64, String> {
    let pool = crate::peers::rayon::pool(sums.threads, sums.pin)?;
    let together = CountBarrier::new(sums.threads);
    Ok(mean(&pool.broadcast(|context| {
        together.wait();
        job(sums, context.index())
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_keeps_a_sum_of_its_own() {
        for run in [on_ranks, on_threads, on_rayon] {
            let sums = Sums::new((2, false), 4, 100);
            assert!(run(&sums, Sums::add).unwrap() > 0.0);
            let kept =
                |at: usize| f64::from_bits(sums.kept[sums.first + at].load(Ordering::Relaxed));
            assert!(kept(0) > 0.0 && kept(4) > 0.0 && kept(0) != kept(4));
            assert_eq!(kept(1), 0.0);
            assert!(run(&sums, Sums::cluster).unwrap() > 0.0);
        }
    }

    #[test]
    fn nobody_goes_on_before_all_have_come() {
        let (barrier, come) = (
            Arc::new(CountBarrier::new(3)),
            Arc::new(AtomicUsize::new(0)),
        );
        let threads = [(); 3].map(|()| {
            let (barrier, come) = (Arc::clone(&barrier), Arc::clone(&come));
            thread::spawn(move || {
                come.fetch_add(1, Ordering::Relaxed);
                barrier.wait();
                come.load(Ordering::Relaxed)
            })
        });
        assert_eq!(threads.map(|thread| thread.join().unwrap()), [3; 3]);
    }

    #[test]
    fn four_words_apart_share_a_line() {
        for threads in [2, 3, 17] {
            let sums = Sums::new((threads, false), 4, 1);
            let line = |number| std::ptr::from_ref(sums.kept(number)).addr() / 64;
            assert_eq!(std::ptr::from_ref(sums.kept(0)).addr() % LINE, 0);
            assert_eq!(line(0), line(1));
            assert!(threads < 3 || line(2) != line(1));
        }
    }
}
