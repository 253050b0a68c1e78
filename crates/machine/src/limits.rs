//! The limits of the machine that messages meet, measured where and when the messages are.

use crossbeam_deque::Worker;
use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicU32, Ordering};
use motet_sync::{spin_loop, thread};
use std::hint::black_box;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// A cache line to another core and back, in µs: two pinned threads hand a number to and fro.
/// `None` on a machine with one core.
#[must_use]
pub fn roundtrip_us() -> Option<f64> {
    const TRIPS: u32 = 10_000;
    let cores = core_affinity::get_core_ids().filter(|cores| cores.len() > 1)?;
    let lines: Arc<[CachePadded<AtomicU32>; 2]> = Arc::default();
    // The last two cores: the first is often the busiest with other things.
    let [here, there] = [cores[cores.len() - 1], cores[cores.len() - 2]];
    let echo = thread::spawn({
        let lines = Arc::clone(&lines);
        move || {
            core_affinity::set_for_current(there);
            for trip in 1..=TRIPS {
                wait_for(|| lines[0].load(Ordering::Acquire) == trip);
                lines[1].store(trip, Ordering::Release);
            }
        }
    });
    let call = thread::spawn(move || {
        core_affinity::set_for_current(here);
        let mut started = Instant::now();
        for trip in 1..=TRIPS {
            if trip == TRIPS / 10 {
                // The first tenth warms up, and waits for the other thread to start.
                started = Instant::now();
            }
            lines[0].store(trip, Ordering::Release);
            wait_for(|| lines[1].load(Ordering::Acquire) == trip);
        }
        started.elapsed().as_secs_f64() * 1e6 / f64::from(TRIPS - TRIPS / 10)
    });
    let time = call.join().ok();
    echo.join().ok().and(time)
}

/// What two cores do that compute at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoCores {
    /// As times what one of them does alone: 2 where they share nothing. A host may put two virtual
    /// cores on the two threads of one core: little more than 1 then.
    pub times: f64,
    /// Sums that wait for nothing, in a cycle of the [clock](clock_ghz), on the core that does
    /// fewer. They are less than at other times on the same machine where somebody else uses the
    /// second thread of that core.
    pub sums_per_cycle: f64,
}

/// What two cores do that compute at once. `None` on a machine with one core.
#[must_use]
pub fn two_cores() -> Option<TwoCores> {
    let cores = core_affinity::get_core_ids().filter(|cores| cores.len() > 1)?;
    // As above.
    let two = [cores[cores.len() - 1], cores[cores.len() - 2]];
    let start = |core, of: u32, there: &Arc<AtomicU32>| {
        let there = Arc::clone(there);
        thread::spawn(move || {
            core_affinity::set_for_current(core);
            // Relaxed: they only begin together.
            there.fetch_add(1, Ordering::Relaxed);
            wait_for(|| there.load(Ordering::Relaxed) >= of);
            sums_per_us()
        })
    };
    let alone = two.map(|core| start(core, 1, &Arc::default()).join());
    let there = Arc::default();
    let together = two.map(|core| start(core, 2, &there)).map(|it| it.join());
    let (mut times, mut least) = (0.0, f64::INFINITY);
    for (both, alone) in together.into_iter().zip(alone) {
        let both = both.ok()?;
        times += both / alone.ok()?;
        least = both.min(least);
    }
    let sums_per_cycle = least / (clock_ghz() * 1e3);
    Some(TwoCores {
        times,
        sums_per_cycle,
    })
}

/// The clock of a core, in GHz. It is found by steps of an exclusive or and a multiplication, each
/// of which waits for the one before. Such a step takes four cycles on most cores. The best of
/// some, each of which an interrupt may have lengthened.
#[must_use]
pub fn clock_ghz() -> f64 {
    const STEPS: u32 = 50_000;
    const CYCLES: f64 = 4.0;
    let (mut number, mask, factor) = (1_u64, black_box(0x5555), black_box(0x9e37_79b9_7f4a_7c15));
    let mut run = || {
        let started = Instant::now();
        for _ in 0..STEPS {
            number = (number ^ mask).wrapping_mul(factor);
        }
        black_box(number);
        f64::from(STEPS) * CYCLES / started.elapsed().as_secs_f64() / 1e9
    };
    (0..9).map(|_| run()).fold(0.0, f64::max)
}

/// How much arithmetic a core does that waits for nothing: sums of many chains, which fill its
/// units, per µs.
fn sums_per_us() -> f64 {
    const SPAN: Duration = Duration::from_millis(2);
    const CHAINS: usize = 16;
    const STEPS: usize = 1000;
    let (mut chains, mut sums, started) = ([1_u64; CHAINS], 0, Instant::now());
    loop {
        // In registers: memory between the steps would be what they wait for.
        for _ in 0..STEPS {
            chains = chains.map(|chain| chain.wrapping_add(chain >> 3));
        }
        black_box(&mut chains);
        sums += CHAINS * STEPS;
        let span = started.elapsed();
        if span >= SPAN {
            return sums as f64 / (span.as_secs_f64() * 1e6);
        }
    }
}

/// One allocation plus one push and pop on a deque, in µs.
#[must_use]
pub fn spawn_us() -> f64 {
    const COUNT: u64 = 20_000;
    let deque = Worker::new_lifo();
    let started = Instant::now();
    for i in 0..COUNT {
        deque.push(Box::new(i));
        black_box(deque.pop());
    }
    started.elapsed().as_secs_f64() * 1e6 / COUNT as f64
}

/// From the moment a thread is woken to the moment it runs, in µs. It is the median over wake-ups
/// of a thread that has slept for a millisecond.
#[must_use]
pub fn wakeup_us() -> f64 {
    const WAKEUPS: usize = 31;
    let (wake, woken) = mpsc::channel::<Instant>();
    let sleeper = thread::spawn(move || {
        let late = woken.iter().map(|at| at.elapsed().as_secs_f64() * 1e6);
        late.collect::<Vec<f64>>()
    });
    for _ in 0..WAKEUPS {
        thread::park_timeout(Duration::from_millis(1));
        if wake.send(Instant::now()).is_err() {
            break;
        }
    }
    drop(wake);
    let mut late = sleeper.join().unwrap_or_default();
    late.sort_by(f64::total_cmp);
    late.get(late.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A copy in memory, from arrays that no cache holds, in GB/s (1e9 bytes, counted once): the best
/// of some.
#[must_use]
pub fn copy_gb_per_s() -> f64 {
    const BYTES: usize = 64 << 20;
    let from = vec![1_u8; BYTES];
    let mut to = vec![0_u8; BYTES];
    let mut copy = || {
        let started = Instant::now();
        to.copy_from_slice(black_box(&from));
        black_box(&to);
        BYTES as f64 / started.elapsed().as_secs_f64() / 1e9
    };
    (0..5).map(|_| copy()).fold(0.0, f64::max)
}

/// Spins until `come` says so, and gives the core away now and then: another thread brings it.
pub fn wait_for(come: impl Fn() -> bool) {
    let mut rounds = 0u32;
    while !come() {
        rounds += 1;
        if rounds < 10_000 {
            spin_loop();
        } else {
            // The other thread does not run: another process may have its core.
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_measured() {
        assert!(spawn_us() > 0.0);
        assert!((0.1..20.0).contains(&clock_ghz()), "{}", clock_ghz());
        assert!(wakeup_us() > 0.0);
        assert!(copy_gb_per_s() > 0.0);
        if thread::cores() > 1 {
            assert!(roundtrip_us().unwrap() > 0.0);
            let two = two_cores().unwrap();
            assert!(two.times > 0.0 && two.sums_per_cycle > 0.0, "{two:?}");
        }
    }
}
