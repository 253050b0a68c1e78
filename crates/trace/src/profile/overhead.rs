//! The overhead of a run, its parts, and what another grain would give.

use super::{Profile, RankProfile, StageProfile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The overhead f = (P·T(P) − T(1))/T(1) of a run on P threads. It is estimated from the run's
/// profile alone, in parts that add up to it (papers E12, R115).
///
/// T(1) is taken to be all computing of all ranks: what one rank alone would compute. Two things
/// cannot be told from one run: work that all ranks repeat, and computing that is slower beside
/// others because the memory is shared. `motet cluster --scaling` measures both.
///
/// C is the computing of all ranks, M their messaging. What a thread neither computes nor messages
/// until the run ends is its idle time: I = P·T(P) − C − M. The parts are:
///
/// - messaging = M/C;
/// - imbalance: of I, what would be left if all stages took their mean. With `C(w)` the computing
///   of thread w it is P·max C(w) − C. Work may move from thread to thread from stage to stage.
///   Then the sum of the same over those stages in which all threads take part equally often
///   counts, if that is more;
/// - jitter: of the rest of I, what ranks that wait for the slowest of each stage lose to
///   fluctuation. It is the sum over those stages of n·P·e(P)·σ. Here n is their number, σ the
///   deviation of one (from its mean distance, so that rare long ones do not dominate). `e(P)` is
///   the mean of the largest of P normal numbers;
/// - waiting: the rest of I: messages on their way, ranks that wait in turn, the beginning and the
///   end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Overhead {
    /// f: the sum of the parts.
    pub overhead: f64,
    /// ε = 1/(1 + f).
    pub efficiency: f64,
    /// Of f: packing, sending, combining.
    pub messaging: f64,
    /// Of f: threads that have less to compute wait for those that have more.
    pub imbalance: f64,
    /// Of f: stages that take now more, now less, on this thread or that.
    pub jitter: f64,
    /// Of f: everything else.
    pub waiting: f64,
}

/// How the overhead depends on the grain: f = a/grain + b.
///
/// The grain is the mean computing of a stage. From one run ([`Profile::model`]) a is the messaging
/// and waiting of a stage, which do not depend on what is computed: a = (messaging +
/// waiting)·grain. `b` is the imbalance and jitter, which are in proportion to it: b = imbalance +
/// jitter. That they stay what they are at another grain cannot be told from one run;
/// [`OverheadModel::fit`] finds a and b from several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OverheadModel {
    /// a: seconds that a stage costs beside its computing.
    pub per_stage: f64,
    /// b: the overhead that no grain makes smaller.
    pub intercept: f64,
    /// The grain of the run, in seconds; of several, the mean.
    pub grain: f64,
    /// The threads of the run; of several, of the first.
    pub threads: usize,
}

impl Profile {
    /// The overhead of the run and its parts. All 0 when nothing was computed.
    #[must_use]
    pub fn overhead(&self) -> Overhead {
        let threads = self.threads.max(1) as f64;
        let [computing, messaging] = [0, 1].map(|part| -> f64 {
            let ranks = self.ranks.iter();
            ranks.map(|rank| rank.totals()[part]).sum()
        });
        if computing <= 0.0 {
            return Overhead::of([0.0; 4]);
        }
        let idle = (threads * self.seconds - computing - messaging).max(0.0);
        let together = self.together();
        let apart: f64 = together.iter().map(Together::imbalance).sum();
        let imbalance = self.imbalance(computing).max(apart).min(idle);
        let jitter: f64 = together.iter().map(Together::jitter).sum();
        let jitter = jitter.min(idle - imbalance);
        let waiting = idle - imbalance - jitter;
        Overhead::of([messaging, imbalance, jitter, waiting].map(|part| part / computing))
    }

    /// The mean computing of a stage, in seconds; the ends of the ranks are none.
    #[must_use]
    pub fn grain(&self) -> f64 {
        let stages = || self.ranks.iter().flat_map(RankProfile::calls);
        let count: u64 = stages().map(|stage| stage.count).sum();
        match count {
            0 => 0.0,
            count => stages().map(|stage| stage.computing).sum::<f64>() / count as f64,
        }
    }

    /// What the overhead would be with another grain, as far as one run tells; `None` when no stage
    /// computes.
    #[must_use]
    pub fn model(&self) -> Option<OverheadModel> {
        let (overhead, grain) = (self.overhead(), self.grain());
        (grain > 0.0).then_some(OverheadModel {
            per_stage: (overhead.messaging + overhead.waiting) * grain,
            intercept: overhead.imbalance + overhead.jitter,
            grain,
            threads: self.threads,
        })
    }

    /// Seconds of computing that threads with less of it are short of, if each waits at the end
    /// only.
    fn imbalance(&self, computing: f64) -> f64 {
        let mut threads = vec![0.0; self.threads.max(1)];
        for rank in &self.ranks {
            if let Some(thread) = threads.get_mut(rank.thread) {
                *thread += rank.totals()[0];
            }
        }
        let most = threads.iter().copied().fold(0.0, f64::max);
        most * threads.len() as f64 - computing
    }

    /// The stages in which all threads take part equally often.
    fn together(&self) -> Vec<Together> {
        let mut all: BTreeMap<(&str, &str), Vec<(usize, &StageProfile)>> = BTreeMap::new();
        for rank in &self.ranks {
            for stage in rank.calls() {
                let same = all.entry((&stage.call, &stage.site)).or_default();
                same.push((rank.thread, stage));
            }
        }
        let all = all.into_values();
        all.filter_map(|stages| Together::of(self.threads, &stages))
            .collect()
    }
}

impl RankProfile {
    /// The stages that end with a call.
    pub(super) fn calls(&self) -> impl Iterator<Item = &StageProfile> {
        self.stages.iter().filter(|stage| !stage.site.is_empty())
    }
}

/// The stages of one kind, if all threads take part in them equally often.
struct Together {
    /// By thread.
    computing: Vec<f64>,
    /// How often each thread came to them.
    count: f64,
    /// Of one, on a thread.
    deviation: f64,
}

/// A normal number's standard deviation over its mean distance from the mean: √(π/2).
const DEVIATION_OF_SPREAD: f64 = 1.253_314_137_315_500_3;

impl Together {
    fn of(threads: usize, stages: &[(usize, &StageProfile)]) -> Option<Self> {
        let mut computing = vec![0.0; threads];
        let mut counts = vec![0; threads];
        let mut squares = 0.0;
        for (thread, stage) in stages {
            *computing.get_mut(*thread)? += stage.computing;
            counts[*thread] += stage.count;
            let deviation = stage.spread * DEVIATION_OF_SPREAD;
            squares += deviation * deviation * stage.count as f64;
        }
        let count = *counts.first()?;
        let equal = count > 0 && counts.iter().all(|other| *other == count);
        equal.then(|| Together {
            computing,
            count: count as f64,
            deviation: (squares / (count as f64 * threads as f64)).sqrt(),
        })
    }

    fn imbalance(&self) -> f64 {
        let most = self.computing.iter().copied().fold(0.0, f64::max);
        most * self.computing.len() as f64 - self.computing.iter().sum::<f64>()
    }

    fn jitter(&self) -> f64 {
        let threads = self.computing.len();
        self.count * threads as f64 * largest_of(threads) * self.deviation
    }
}

/// The mean of the largest of so many normal numbers, in standard deviations. It is exact for up to
/// four. Beyond that it is by Blom's approximation (G. Blom, Statistical estimates and transformed
/// beta-variables, 1958) to within two hundredths.
pub(super) fn largest_of(numbers: usize) -> f64 {
    match numbers {
        0 | 1 => 0.0,
        2 => 0.564_189_583_547_756_3,
        3 => 0.846_284_375_321_634_4,
        4 => 1.029_375_373_003_964,
        more => quantile((more as f64 - 0.375) / (more as f64 + 0.25)),
    }
}

/// The normal distribution's quantile above one half, to within 4.5e-4 (M. Abramowitz and I.
/// Stegun, Handbook of Mathematical Functions, 1964, 26.2.23).
fn quantile(probability: f64) -> f64 {
    let t = (-2.0 * (1.0 - probability).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

impl Overhead {
    /// Of messaging, imbalance, jitter and waiting.
    fn of(parts: [f64; 4]) -> Self {
        let overhead = parts.iter().sum();
        let [messaging, imbalance, jitter, waiting] = parts;
        Overhead {
            overhead,
            efficiency: 1.0 / (1.0 + overhead),
            messaging,
            imbalance,
            jitter,
            waiting,
        }
    }
}

impl OverheadModel {
    /// The overhead at a grain, in seconds.
    #[must_use]
    pub fn overhead(&self, grain: f64) -> f64 {
        self.per_stage / grain + self.intercept
    }

    /// The smallest grain, in seconds, with this efficiency; `None` when none has it.
    #[must_use]
    pub fn grain_for(&self, efficiency: f64) -> Option<f64> {
        let room = 1.0 / efficiency - 1.0 - self.intercept;
        (room > 0.0).then(|| self.per_stage.max(0.0) / room)
    }

    /// The most threads on which the same problem, cut into as many more pieces, has this
    /// efficiency. The grain is then in inverse proportion to their number. `None` when no number
    /// has it. That a and b do not depend on the number of threads cannot be told from one run, nor
    /// from several on as many.
    #[must_use]
    pub fn threads_for(&self, efficiency: f64) -> Option<usize> {
        let grain = self.grain_for(efficiency)?;
        let threads = self.threads as f64 * self.grain / grain;
        // Where a stage costs nothing, there is no limit.
        Some(threads.clamp(0.0, usize::MAX as f64) as usize).filter(|&threads| threads > 0)
    }

    /// The line through the overheads of several runs over the inverse of their grains, by least
    /// squares; `None` unless there are two different grains.
    #[must_use]
    pub fn fit(profiles: &[Profile]) -> Option<OverheadModel> {
        let grains: Vec<f64> = profiles.iter().map(Profile::grain).collect();
        if grains.iter().any(|&grain| grain <= 0.0) {
            return None;
        }
        let count = grains.len() as f64;
        let overheads = profiles.iter().map(|profile| profile.overhead().overhead);
        let points: Vec<(f64, f64)> = grains
            .iter()
            .map(|grain| 1.0 / grain)
            .zip(overheads)
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let mixed: f64 = points
            .iter()
            .map(|point| (point.0 - x) * (point.1 - y))
            .sum();
        let square: f64 = points
            .iter()
            .map(|point| (point.0 - x) * (point.0 - x))
            .sum();
        // Equal grains have no line; rounding is not a difference.
        (square > 1e-18 * x * x * count).then(|| OverheadModel {
            per_stage: mixed / square,
            intercept: y - x * mixed / square,
            grain: grains.iter().sum::<f64>() / count,
            threads: profiles[0].threads,
        })
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::profile::{Called, ProfileClock, Recorder};
    use std::cell::Cell;
    use std::panic::Location;
    use std::time::Duration;

    std::thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Times of one stage of one rank, in microseconds.
    #[derive(Clone, Copy)]
    struct Times {
        computing: f64,
        messaging: f64,
    }

    fn computing(computing: f64) -> Times {
        let messaging = 0.0;
        Times {
            computing,
            messaging,
        }
    }

    fn pass(us: f64) {
        NOW.set(NOW.get() + Duration::from_nanos((us * 1e3) as u64));
    }

    /// The profile of ranks that meet after each stage, and go on `latency` microseconds after the
    /// last has come. There are `kinds` kinds of stages, in turn.
    fn simulate(
        ranks: usize,
        stages: usize,
        kinds: usize,
        latency: f64,
        times: impl Fn(usize, usize) -> Times,
    ) -> Profile {
        let location = Location::caller();
        let names = ["a", "b", "c", "d"];
        let clock = ProfileClock::Own(|| NOW.get());
        NOW.set(Duration::ZERO);
        let recorders: Vec<Recorder> = (0..ranks).map(|_| Recorder::new(clock)).collect();
        let mut begun = Duration::ZERO;
        for stage in 0..stages {
            let name = names[stage % kinds];
            let mut last = Duration::ZERO;
            for (rank, recorder) in recorders.iter().enumerate() {
                let Times {
                    computing,
                    messaging,
                } = times(rank, stage);
                NOW.set(begun);
                pass(computing);
                recorder.enter(Called { name, location });
                pass(messaging);
                recorder.wait();
                last = last.max(NOW.get());
            }
            NOW.set(last);
            pass(latency);
            recorders.iter().for_each(Recorder::leave);
            begun = NOW.get();
        }
        let ended = recorders.iter().enumerate();
        let ranks = ended.map(|(rank, recorder)| recorder.finish(rank, rank).0);
        Profile::new(begun.as_secs_f64(), recorders.len(), ranks.collect())
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-6
    }

    /// Numbers from -1 to 1 with a bell-shaped distribution, always the same.
    fn noise(rank: usize, stage: usize) -> f64 {
        let mut state = (rank * 7919 + stage * 104_729 + 1) as u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        next();
        (0..12).map(|_| next()).sum::<f64>() / 6.0 - 1.0
    }

    fn parts(profile: &Profile) -> [f64; 4] {
        let Overhead {
            overhead,
            efficiency,
            messaging,
            imbalance,
            jitter,
            waiting,
        } = profile.overhead();
        let parts = [messaging, imbalance, jitter, waiting];
        assert!(close(parts.iter().sum(), overhead), "{profile}");
        assert!(close(efficiency * (1.0 + overhead), 1.0));
        assert!(parts.iter().all(|part| *part >= 0.0), "{profile}");
        let computing: f64 = profile.ranks.iter().map(|rank| rank.totals()[0]).sum();
        let measured = profile.threads as f64 * profile.seconds / computing - 1.0;
        assert!(close(overhead, measured), "{overhead} {measured}");
        parts
    }

    #[test]
    fn ranks_that_do_the_same_have_no_overhead() {
        let profile = simulate(4, 100, 2, 0.0, |_, _| computing(10.0));
        assert!(parts(&profile).iter().all(|part| close(*part, 0.0)));
        assert!(close(profile.grain(), 10e-6));
        let model = profile.model().unwrap();
        assert_eq!((model.per_stage, model.grain_for(0.9)), (0.0, Some(0.0)));
        assert_eq!(model.threads_for(0.9), Some(usize::MAX));
    }

    #[test]
    fn a_rank_with_twice_the_work_is_imbalance() {
        let twice = |rank, _| computing(if rank == 1 { 20.0 } else { 10.0 });
        let [messaging, imbalance, jitter, waiting] = parts(&simulate(4, 100, 1, 0.0, twice));
        // 4 · 20 of which 50 are computing.
        assert!(close(imbalance, 0.6));
        assert!(
            [messaging, jitter, waiting]
                .iter()
                .all(|part| close(*part, 0.0))
        );
    }

    #[test]
    fn work_that_moves_from_rank_to_rank_is_imbalance_stage_by_stage() {
        let moves =
            |rank: usize, stage: usize| computing(if stage % 4 == rank { 20.0 } else { 10.0 });
        let profile = simulate(4, 100, 4, 0.0, moves);
        let totals: Vec<f64> = profile.ranks.iter().map(|rank| rank.totals()[0]).collect();
        assert!(
            totals.iter().all(|total| close(*total, totals[0])),
            "in the end all did the same"
        );
        let [_, imbalance, jitter, waiting] = parts(&profile);
        assert!(close(imbalance, 0.6), "{profile}");
        assert!(close(jitter + waiting, 0.0), "{profile}");
    }

    #[test]
    fn work_that_fluctuates_is_jitter() {
        for ranks in [2, 4, 8] {
            let fluctuates = |rank, stage| computing(10.0 * (1.0 + 0.5 * noise(rank, stage)));
            let profile = simulate(ranks, 10_000, 1, 0.0, fluctuates);
            let [messaging, imbalance, jitter, waiting] = parts(&profile);
            let all = messaging + imbalance + jitter + waiting;
            assert!(all > 0.03, "{profile}");
            assert!(jitter > 0.85 * all, "{ranks} ranks: {profile}");
            let stage = &profile.ranks[0].stages[0];
            assert!((0.07..0.1).contains(&stage.jitter()), "{profile}");
        }
    }

    #[test]
    fn messages_on_their_way_are_waiting_and_packing_them_is_messaging() {
        let times = |_, _| Times {
            computing: 10.0,
            messaging: 2.0,
        };
        let profile = simulate(4, 100, 1, 1.0, times);
        let [messaging, imbalance, jitter, waiting] = parts(&profile);
        assert!(close(messaging, 0.2) && close(waiting, 0.1), "{profile}");
        assert!(close(imbalance + jitter, 0.0));
    }

    #[test]
    fn the_model_of_one_run_foretells_a_run_with_another_grain() {
        let run = |grain: f64| {
            let times = move |rank, _| Times {
                computing: if rank == 0 { 1.05 * grain } else { grain },
                messaging: 0.5,
            };
            simulate(4, 100, 1, 1.5, times)
        };
        let model = run(10.0).model().unwrap();
        for grain in [5.0, 20.0, 100.0] {
            let longer = run(grain);
            let told = model.overhead(longer.grain());
            assert!(
                (told - longer.overhead().overhead).abs() < 2e-3,
                "{told} {longer}"
            );
        }
        // a = 2 us, b = 0.15/4.05: ε = 0.9 needs 2 us/(1/9 − b).
        let grain = model.grain_for(0.9).unwrap();
        assert!(
            (grain * 1e6 - 2.0 / (1.0 / 9.0 - 0.15 / 4.05)).abs() < 0.2,
            "{grain}"
        );
        assert_eq!(
            model.threads_for(0.9),
            Some(1),
            "the grain is too small for 4 already"
        );
        assert_eq!(model.grain_for(0.99), None, "b alone takes more");
        assert_eq!(model.threads_for(0.99), None);
    }

    #[test]
    fn a_line_is_fitted_to_several_runs() {
        let run = |grain| simulate(2, 100, 1, 1.0, move |_, _| computing(grain));
        let runs = [run(5.0), run(10.0), run(40.0)];
        let model = OverheadModel::fit(&runs).unwrap();
        assert!((model.per_stage * 1e6 - 1.0).abs() < 1e-3, "{model}");
        assert!(model.intercept.abs() < 1e-3, "{model}");
        assert_eq!(OverheadModel::fit(&runs[..1]), None);
        assert_eq!(OverheadModel::fit(&[run(5.0), run(5.0)]), None);
        assert_eq!(OverheadModel::fit(&[]), None);
    }

    #[test]
    fn the_mean_of_the_largest_is_that_of_the_tables() {
        for (numbers, mean) in [
            (2, 0.5642),
            (5, 1.1630),
            (8, 1.4236),
            (20, 1.8675),
            (100, 2.5076),
        ] {
            assert!((largest_of(numbers) - mean).abs() < 0.02, "{numbers}");
        }
    }

    #[test]
    fn nothing_computed_is_no_overhead() {
        let nothing = Profile::new(0.0, 2, Vec::new());
        assert_eq!(nothing.overhead(), Overhead::of([0.0; 4]));
        assert_eq!(nothing.model(), None);
        assert!(nothing.to_string().contains("no stage computes"));
    }
}
