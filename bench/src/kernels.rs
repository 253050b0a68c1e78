//! What the experiments of the suite compute: loops over blocks, products of matrices, clustering.
//! Each with motet's forms of it, and with what tells that a peer has computed the same.

pub(crate) mod loops;
pub(crate) mod matrices;

use ::rayon::ThreadPool;
use motet_sync::thread;
use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Hot enough that every point of the mixture has a share in every cluster. So no exponential is
/// left out, and every step of annealing costs the same.
pub(crate) const TEMPERATURE: f64 = 1.0;

/// Something that is made when it is first wanted, once, or the reason why it cannot be.
pub(crate) struct Lazy<T> {
    made: OnceCell<Result<T, String>>,
    make: Box<dyn Fn() -> Result<T, String>>,
}

impl<T> Lazy<T> {
    pub(crate) fn new(make: impl Fn() -> Result<T, String> + 'static) -> Lazy<T> {
        Lazy {
            made: OnceCell::new(),
            make: Box::new(make),
        }
    }

    /// The same, for several to share.
    pub(crate) fn shared(make: impl Fn() -> Result<T, String> + 'static) -> Rc<Lazy<T>> {
        Rc::new(Lazy::new(make))
    }

    /// What has been made so far.
    pub(crate) fn made(&self) -> Option<&T> {
        self.made.get()?.as_ref().ok()
    }

    pub(crate) fn get(&self) -> Result<&T, String> {
        self.made
            .get_or_init(&self.make)
            .as_ref()
            .map_err(Clone::clone)
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lazy").field(&self.made.get()).finish()
    }
}

/// The time of a round in µs, of as many rounds as last at least half the budget. Those before them
/// were fewer, and warmed up. The programs in other languages do the same. `run` does so many
/// rounds, and says how long they took.
pub(crate) fn time_us(
    budget_us: f64,
    mut run: impl FnMut(u32) -> Result<Duration, String>,
) -> Result<f64, String> {
    let mut rounds = 1_u32;
    loop {
        let us = run(rounds)?.as_secs_f64() * 1e6;
        if rounds > 1 && us >= budget_us / 2.0 {
            return Ok(us / f64::from(rounds));
        }
        rounds *= 2;
    }
}

/// So many rounds on rayon's pool, one after the other, and how long they took. Their caller is one
/// of its threads, as whoever calls motet's [loops](loops::Loops) is one of theirs.
pub(crate) fn rayon_rounds(
    pool: &ThreadPool,
    rounds: u32,
    round: impl Fn() + Send + Sync,
) -> Duration {
    pool.install(|| {
        let started = Instant::now();
        (0..rounds).for_each(|_| round());
        started.elapsed()
    })
}

/// Numbers of threads: powers of two, and the cores there are.
pub(crate) fn thread_counts() -> Vec<usize> {
    let cores = thread::cores();
    let mut counts: Vec<usize> = (0..)
        .map(|power| 1 << power)
        .take_while(|&n| n < cores)
        .collect();
    counts.push(cores);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_repeated_until_they_last() {
        let mut asked = Vec::new();
        let us = time_us(500.0, |rounds| {
            asked.push(rounds);
            Ok(Duration::from_micros(40) * rounds)
        });
        assert_eq!((us, asked), (Ok(40.0), vec![1, 2, 4, 8]));
        assert_eq!(time_us(1.0, |_| Err("no".to_owned())), Err("no".to_owned()));
    }

    #[test]
    fn what_cannot_be_made_is_tried_once() {
        let tries = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = std::rc::Rc::clone(&tries);
        let lazy: Lazy<u32> = Lazy::new(move || {
            counted.set(counted.get() + 1);
            Err("not here".to_owned())
        });
        assert_eq!(
            (lazy.get(), lazy.get()),
            (Err("not here".to_owned()), Err("not here".to_owned()))
        );
        assert_eq!(tries.get(), 1);
    }

    #[test]
    fn the_cores_are_among_the_numbers_of_threads() {
        let counts = thread_counts();
        assert!(
            counts.is_sorted() && counts.ends_with(&[thread::cores()]),
            "{counts:?}"
        );
    }
}
