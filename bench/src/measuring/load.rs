//! What else runs on the machine while something is measured.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// Reads how much processor time has gone by; the tests put readings of their own here.
pub(super) trait Watch: fmt::Debug {
    /// The time until now, as the system counts it; `None` where it does not tell.
    fn read(&mut self) -> Option<Reading>;
}

/// Times from one beginning that is always the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// Real time.
    pub(super) wall: Duration,
    /// Processor time of this process and of all that it has started.
    pub(super) own: Duration,
    /// Processor time of all processes, with what the host of a virtual machine has taken away.
    pub(super) busy: Duration,
    /// Processors that are counted, also those that the process may not use.
    pub(super) cores: usize,
}

/// The system's own numbers, on Linux.
#[derive(Debug)]
pub(super) struct System {
    begun: Instant,
}

/// Milliseconds of a tick of the system's counters: `USER_HZ` is 100 on every Linux.
const TICK_MS: u64 = 10;
/// Others' share of all processors, above which a measurement is disturbed.
const SHARE: f64 = 0.05;
/// So little says nothing of one time between readings: counters of several processes tick apart.
/// Over several times such errors add up as their squares do.
const LEAST: Duration = Duration::from_millis(30);

/// What has gone by between two readings, or several times between two.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Elapsed {
    /// Time of all processors.
    all: Duration,
    /// What others had of it.
    others: Duration,
    /// Times between readings.
    times: u32,
}

impl Reading {
    /// What has gone by since then.
    pub(super) fn since(&self, then: &Reading) -> Elapsed {
        let own = self.own.saturating_sub(then.own);
        let busy = self.busy.saturating_sub(then.busy);
        let wall = self.wall.saturating_sub(then.wall);
        Elapsed {
            all: wall * u32::try_from(self.cores).unwrap_or(u32::MAX),
            others: busy.saturating_sub(own),
            times: 1,
        }
    }
}

impl Elapsed {
    /// The share of all processors that others had, when it is too much.
    pub(super) fn disturbed(&self) -> Option<f64> {
        let all = self.all.as_secs_f64().max(f64::MIN_POSITIVE);
        let share = self.others.as_secs_f64() / all;
        let least = LEAST.mul_f64(f64::from(self.times).sqrt());
        (share > SHARE && self.others > least).then_some(share.min(1.0))
    }
}

impl AddAssign for Elapsed {
    fn add_assign(&mut self, more: Elapsed) {
        self.all += more.all;
        self.others += more.others;
        self.times += more.times;
    }
}

impl System {
    pub(super) fn new() -> System {
        System {
            begun: Instant::now(),
        }
    }
}

impl Watch for System {
    fn read(&mut self) -> Option<Reading> {
        let told = fs::read_to_string("/proc/stat").ok()?;
        Some(Reading {
            wall: self.begun.elapsed(),
            own: ticks(family(std::process::id())?),
            busy: ticks(busy(&told)?),
            cores: processors(&told).max(1),
        })
    }
}

fn ticks(count: u64) -> Duration {
    Duration::from_millis(count.saturating_mul(TICK_MS))
}

/// The ticks in which a processor did something: user, nice, system, interrupts and stolen time.
fn busy(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal
    let at = |place: usize| fields.get(place).copied().unwrap_or(0);
    Some([0, 1, 2, 5, 6, 7].into_iter().map(at).sum())
}

/// The processors that the ticks of all are the sum of.
fn processors(stat: &str) -> usize {
    let names = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    names
        .filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
        .count()
}

/// The ticks of a process and of all that it has started, alive or waited for.
fn family(root: u32) -> Option<u64> {
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // One that has ended meanwhile is with its parent's.
        if let Ok(stat) = fs::read_to_string(entry.path().join("stat")) {
            processes.extend(process(&stat).map(|process| (id, process)));
        }
    }
    let belongs = |mut id: u32| {
        // A chain of parents is short; a cycle can come only from numbers used again.
        for _ in 0..64 {
            if id == root {
                return true;
            }
            let Some((parent, _)) = processes.get(&id) else {
                return false;
            };
            id = *parent;
        }
        false
    };
    let all = processes.iter().filter(|(id, _)| belongs(**id));
    Some(all.map(|(_, (_, ticks))| ticks).sum())
}

/// The parent of a process and its ticks, with those of its children that have ended.
fn process(stat: &str) -> Option<(u32, u64)> {
    // The name, in brackets, may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let times = fields.get(11..15)?.iter();
    let ticks = times.map(|time| time.parse::<u64>().unwrap_or(0)).sum();
    Some((parent, ticks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_testkit::patience;

    fn reading(wall_ms: u64, own_ms: u64, busy_ms: u64) -> Reading {
        Reading {
            wall: Duration::from_millis(wall_ms),
            own: Duration::from_millis(own_ms),
            busy: Duration::from_millis(busy_ms),
            cores: 2,
        }
    }

    #[test]
    fn others_are_what_is_busy_and_not_own() {
        let then = reading(0, 0, 500);
        let quiet = reading(1_000, 1_900, 2_400).since(&then);
        assert_eq!(quiet.disturbed(), None);
        let loud = reading(1_000, 1_000, 2_500).since(&then);
        let share = loud.disturbed();
        assert!((share.unwrap() - 0.5).abs() < 1e-9, "{share:?}");
        // So little may be a tick that was counted late.
        let short = reading(10, 10, 530).since(&then);
        assert_eq!(short.disturbed(), None);
        // Over several times it tells, though each of them alone would not, when they are no errors
        // of counting.
        let (mut many, mut rare) = (short, short);
        many += short;
        assert_eq!(many.disturbed(), None);
        many += short;
        assert!(many.disturbed().is_some());
        rare += quiet;
        assert_eq!(rare.disturbed(), None);
    }

    #[test]
    fn the_systems_lines_are_read() {
        assert_eq!(busy("cpu  1 2 3 400 50 6 7 8 0 0\ncpu0 1\n"), Some(27));
        assert_eq!(busy("intr 7\n"), None);
        assert_eq!(
            processors("cpu  1 2\ncpu0 1\ncpu1 1\ncpu15 3\nintr 7\ncpufreq 1\n"),
            3
        );
        let stat = "12 (a) b) S 7 12 12 0 -1 4 1 2 3 4 10 20 30 40 20 0 1";
        assert_eq!(process(stat), Some((7, 100)));
    }

    #[test]
    fn ticks_of_many_processors_are_counted_on() {
        // More than 2^32: those of 64 processors that are busy for eight days.
        let seconds = 64 * 8 * 86_400;
        assert_eq!(ticks(seconds * 100), Duration::from_secs(seconds));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn own_time_is_part_of_what_is_busy() {
        let mut system = System::new();
        let then = system.read().unwrap();
        let begun = Instant::now();
        let now = loop {
            let now = system.read().unwrap();
            if now.own.saturating_sub(then.own) >= Duration::from_millis(20) {
                break now;
            }
            assert!(begun.elapsed() < patience(), "{now:?} {then:?}");
        };
        assert!(now.busy >= then.busy && now.wall > then.wall);
    }
}
