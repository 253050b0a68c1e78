//! R147: random generators of different threads in one cache line, and apart.

use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::said::Said;
use crate::statistics::mean;
use motet_comm::{CommError, Communicator, World};
use motet_sim::mix;
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::thread;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const TIME: Quantity = Quantity::new("time per number", "ns");

/// Words of 8 bytes between the states of two generators.
const SEPARATIONS: [usize; 5] = [1, 4, 8, 16, 64];

/// Words of the largest cache line.
const LINE: usize = 16;

/// R147: random numbers of as many generators as threads, which lie in one array.
pub(crate) fn r147(setting: &Setting) -> Cases {
    let ranks = thread::cores().max(2);
    let numbers = setting.by_effort(1_000, 500_000, 5_000_000);
    let table: Arc<[AtomicU64]> = (0..(ranks + 1) * SEPARATIONS[4] + LINE)
        .map(|_| AtomicU64::new(1))
        .collect();
    let pin = setting.pins(ranks);
    let case = |separation: usize| {
        let point = Point::new()
            .with("separation", separation)
            .with("threads", ranks);
        let table = Arc::clone(&table);
        let in_table = move || {
            // The first state lies at the beginning of a line.
            let first = table.as_ptr().align_offset(LINE * size_of::<u64>());
            drawn(ranks, pin, |rank| {
                let state = &table[first + rank * separation];
                for _ in 0..numbers {
                    // Relaxed: nobody else reads or writes this state.
                    let next = step(state.load(Ordering::Relaxed));
                    state.store(next, Ordering::Relaxed);
                    black_box(mix(next));
                }
                numbers
            })
        };
        let alone = move || {
            drawn(ranks, pin, |rank| {
                let mut state = rank as u64;
                for _ in 0..numbers {
                    state = step(state);
                    black_box(mix(state));
                }
                numbers
            })
        };
        Case::new(point, &[TIME])
            .with("motet", in_table)
            .with("motet alone", alone)
    };
    Ok(SEPARATIONS.map(case).into())
}

/// `SplitMix64`'s step.
fn step(state: u64) -> u64 {
    state.wrapping_add(0x9E37_79B9_7F4A_7C15)
}

/// The mean time of a number, in ns, when each rank does `draw`, which says how many it has drawn.
fn drawn(ranks: usize, pin: bool, draw: impl Fn(usize) -> u64 + Sync) -> Result<f64, String> {
    let body = async |comm: Communicator| {
        comm.barrier().await?;
        let started = Instant::now();
        let numbers = draw(comm.rank());
        Ok::<f64, CommError>(started.elapsed().as_secs_f64() * 1e9 / numbers as f64)
    };
    let times = World::threads(ranks).pin(pin).run(body).said()?;
    Ok(mean(&times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs for the seed 1234567, as in the generator's reference code.
        let first = step(1_234_567);
        let numbers = [mix(first), mix(step(first))];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }
}
