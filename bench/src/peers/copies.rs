//! The copies that a collective of ranks on two threads cannot do without. Two threads make them
//! that do nothing else but wait for each other once a round.
//!
//! Who waits may give the call up, and take its numbers with it, while others read. So each copies
//! in, once for each thread that reads, and the others copy out. Room that both threads write to
//! goes to and fro as the ranks' own does.

use crate::limits::wait_for;
use motet_sync::atomic::{AtomicU32, Ordering};
use motet_sync::{CachePadded, Mutex, thread};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Of which collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopiedCollective {
    /// The numbers of rank 0 for all others.
    Broadcast,
    /// As many of each for each.
    Alltoall,
}

/// What the two threads share.
#[derive(Default)]
struct Between {
    /// The round that each has come to.
    at: [CachePadded<AtomicU32>; 2],
    /// Used in turn.
    far: [CachePadded<Mutex<Vec<f64>>>; 2],
}

/// One thread, with half of the ranks, of which each has so many numbers for each.
struct Side {
    of: usize,
    ranks: usize,
    length: usize,
    between: Arc<Between>,
    /// What the ranks have, and what comes to them, rank by rank.
    values: Vec<f64>,
    came: Vec<f64>,
    near: Vec<f64>,
}

/// The time of a round of so many ranks, in µs; rounds last about `budget_us`.
pub(crate) fn run(
    copies: CopiedCollective,
    (ranks, length): (usize, usize),
    budget_us: f64,
) -> Result<f64, String> {
    const FIRST: u32 = 200;
    let first = rounds(copies, (ranks, length), FIRST)?;
    let fit = (budget_us / first).clamp(f64::from(FIRST), 1e8);
    rounds(copies, (ranks, length), fit as u32)
}

fn rounds(
    copies: CopiedCollective,
    (ranks, length): (usize, usize),
    rounds: u32,
) -> Result<f64, String> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if cores.len() < 2 {
        return Err("there is one core".to_owned());
    }
    let between = Arc::<Between>::default();
    let threads = [0, 1].map(|of| {
        let (between, core) = (Arc::clone(&between), cores[of]);
        thread::spawn(move || {
            core_affinity::set_for_current(core);
            Side::new(of, (ranks, length), copies, between).run(copies, rounds)
        })
    });
    let [one, other] = threads.map(|thread| thread.join());
    let time = one.and_then(|one| Ok(one.max(other?)));
    time.map_err(|_| "a thread has panicked".to_owned())
}

impl Side {
    fn new(
        of: usize,
        (ranks, length): (usize, usize),
        copies: CopiedCollective,
        between: Arc<Between>,
    ) -> Self {
        let (own, all) = (ranks / 2, ranks * length);
        let (each, near) = match copies {
            CopiedCollective::Broadcast => (length, length),
            CopiedCollective::Alltoall => (all, own * own * length),
        };
        // As much goes to the other side.
        between.far[of].lock().resize(near, 0.0);
        Side {
            of,
            ranks: own,
            length,
            between,
            values: vec![1.0; own * each],
            came: vec![0.0; own * each],
            near: vec![0.0; near],
        }
    }

    /// The time of a round, in µs.
    fn run(&mut self, copies: CopiedCollective, rounds: u32) -> f64 {
        self.meet(1);
        let started = Instant::now();
        for round in 0..rounds {
            match copies {
                CopiedCollective::Broadcast => self.broadcast(round),
                CopiedCollective::Alltoall => self.alltoall(round),
            }
            black_box(&mut self.came);
        }
        self.meet(rounds + 2);
        started.elapsed().as_secs_f64() * 1e6 / f64::from(rounds)
    }

    fn meet(&self, number: u32) {
        let [own, other] = [self.of, 1 - self.of].map(|of| &self.between.at[of]);
        // Release, and Acquire: who goes on finds filled what the other has filled before.
        own.store(number, Ordering::Release);
        // The other may be ahead by one.
        wait_for(|| other.load(Ordering::Acquire) >= number);
    }

    fn broadcast(&mut self, round: u32) {
        let far = &self.between.far[round as usize % 2];
        if self.of == 0 {
            far.lock().copy_from_slice(&self.values[..self.length]);
        }
        self.meet(round + 2);
        let ranks = self.came.chunks_mut(self.length);
        if self.of == 0 {
            self.near.copy_from_slice(&self.values[..self.length]);
            ranks
                .skip(1)
                .for_each(|came| came.copy_from_slice(&self.near));
        } else {
            let mut far = far.lock();
            ranks.for_each(|came| came.copy_from_slice(&far));
            // A line that was written last by its reader is filled again many times as fast.
            far.iter_mut().step_by(8).for_each(|number| *number = 2.0);
        }
    }

    fn alltoall(&mut self, round: u32) {
        let (own, length) = (self.ranks, self.length);
        // Part `of` of rank `rank` here, whose parts are those of all ranks.
        let of_all = |rank: usize, of: usize| (rank * 2 * own + of) * length;
        let of_half = |rank: usize, of: usize| (rank * own + of) * length;
        let (here, there) = (self.of * own, (1 - self.of) * own);
        let mut far = self.between.far[(self.of + round as usize) % 2].lock();
        for (rank, to) in pairs(own) {
            let (from, at) = (of_all(rank, there + to), of_half(rank, to));
            far[at..at + length].copy_from_slice(&self.values[from..from + length]);
            if rank != to {
                let from = of_all(rank, here + to);
                self.near[at..at + length].copy_from_slice(&self.values[from..from + length]);
            }
        }
        drop(far);
        self.meet(round + 2);
        let far = self.between.far[(self.of + 1 + round as usize) % 2].lock();
        for (rank, of) in pairs(own) {
            let (from, to) = (of_half(of, rank), of_all(rank, there + of));
            self.came[to..to + length].copy_from_slice(&far[from..from + length]);
            let to = of_all(rank, here + of);
            let own = of_all(rank, here + rank);
            let part = match rank == of {
                true => &self.values[own..own + length],
                false => &self.near[from..from + length],
            };
            self.came[to..to + length].copy_from_slice(part);
        }
    }
}

fn pairs(ranks: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..ranks).flat_map(move |one| (0..ranks).map(move |other| (one, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the ranks of both sides have after some rounds, each of which begins with other
    /// numbers.
    fn after(copies: CopiedCollective, ranks: usize, length: usize, rounds: u32) -> Vec<Vec<f64>> {
        let between = Arc::<Between>::default();
        let threads = [0, 1].map(|of| {
            let between = Arc::clone(&between);
            thread::spawn(move || {
                let mut side = Side::new(of, (ranks, length), copies, between);
                side.meet(1);
                for round in 0..rounds {
                    let first = (round as usize * 2 + of) * 1000;
                    let values = side.values.iter_mut().enumerate();
                    values.for_each(|(at, value)| *value = (first + at) as f64);
                    match copies {
                        CopiedCollective::Broadcast => side.broadcast(round),
                        CopiedCollective::Alltoall => side.alltoall(round),
                    }
                }
                side.came
            })
        });
        threads.map(|thread| thread.join().unwrap()).into()
    }

    #[test]
    fn all_that_a_collective_brings_is_copied() {
        let came = after(CopiedCollective::Broadcast, 4, 3, 5);
        let told = [8000.0, 8001.0, 8002.0];
        assert_eq!(
            came[0],
            [&[0.0; 3][..], &told].concat(),
            "not the root's own"
        );
        assert_eq!(came[1], [told, told].concat());
        let came = after(CopiedCollective::Alltoall, 4, 2, 3);
        for (rank, came) in came.iter().flat_map(|came| came.chunks(8)).enumerate() {
            for (of, part) in came.chunks(2).enumerate() {
                let first = ((4 + of / 2) * 1000 + of % 2 * 8 + rank * 2) as f64;
                assert_eq!(part, [first, first + 1.0], "{rank} of {of}");
            }
        }
    }

    #[test]
    fn rounds_are_timed() {
        if thread::cores() > 1 {
            assert!(run(CopiedCollective::Alltoall, (8, 16), 100.0).unwrap() > 0.0);
        }
    }
}
