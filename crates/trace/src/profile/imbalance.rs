//! Threads that compute longer than the others in a stage, and what an even share would save.

use super::overhead::largest_of;
use super::text::{percent, time};
use super::{Profile, StageProfile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One thread computes longer than the others in a stage, on average over its calls.
///
/// Times are averages over all calls of the stage. A stage that takes now longer on this thread,
/// now on that one is jitter and makes no finding. The longest of P threads that do the same is
/// above the mean by chance, by about e(P) standard errors. A finding is two standard errors more
/// than that above it. The standard error comes from the deviation of one stage, which also counts
/// what changes on all threads alike from call to call. Where stages vary much and are few, a small
/// imbalance is not told. Of a stage that comes once nobody can tell the two apart: it counts as
/// imbalance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Imbalance {
    /// The call at the end of the stage; empty for all stages to which some threads come more often
    /// than others, together.
    pub call: String,
    /// Where it is: file, line and column. Also empty for what ranks compute after their last call.
    pub site: String,
    /// How often the rank came to it.
    pub count: u64,
    /// The thread that computes longest, of those of all processes.
    pub thread: usize,
    /// The rank on it that computes longest, by its number in the world.
    pub rank: usize,
    /// How many ranks of the thread take part in the stage.
    pub ranks: usize,
    /// How much longer than the mean of the threads the thread computes, as a share of the mean.
    pub longer: f64,
    /// Seconds of the run that an even share would save. This is the computing of the thread less
    /// the mean, but no more than what the threads are idle on average.
    pub saved: f64,
    /// The same as a share of the run.
    pub share: f64,
}

impl Profile {
    /// The stages in which one thread computes longer than the others, on average over the stage's
    /// calls. They lose at least this share of the run by it. Those that lose most come first.
    ///
    /// Stages to which some threads come more often than others are taken together, as if they were
    /// one. What a stage loses is an upper bound where not all ranks meet in it.
    #[must_use]
    pub fn imbalances(&self, least_share: f64) -> Vec<Imbalance> {
        if self.threads < 2 || self.seconds <= 0.0 {
            return Vec::new();
        }
        let mut kinds: BTreeMap<(&str, &str), Vec<OfRank<'_>>> = BTreeMap::new();
        for ranked in &self.ranks {
            let thread = ranked.thread.min(self.threads - 1);
            for stage in &ranked.stages {
                let kind = kinds.entry((&stage.call, &stage.site)).or_default();
                kind.push(OfRank {
                    rank: ranked.rank,
                    thread,
                    stage,
                });
            }
        }
        let kinds = kinds.into_values().map(|kind| Kind::of(self.threads, kind));
        let is_even = |kind: &Kind<'_>| kind.is_even(self.ranks.len());
        let (mut kinds, uneven): (Vec<_>, Vec<_>) = kinds.partition(is_even);
        let others = uneven.into_iter().flat_map(|kind| kind.ranks).collect();
        kinds.push(Kind {
            is_several: true,
            ..Kind::of(self.threads, others)
        });
        let idle = self.idle_of_a_thread();
        let found = kinds
            .iter()
            .filter_map(|kind| kind.found(self.seconds, idle));
        let mut found: Vec<Imbalance> = found.filter(|found| found.share >= least_share).collect();
        found.sort_by(|one, other| other.saved.total_cmp(&one.saved));
        found
    }

    /// What a thread neither computes nor messages, on average.
    fn idle_of_a_thread(&self) -> f64 {
        let busy = self.ranks.iter().map(|rank| {
            let [computing, messaging, _] = rank.totals();
            computing + messaging
        });
        (self.seconds - busy.sum::<f64>() / self.threads as f64).max(0.0)
    }
}

/// So many standard errors above what chance gives to the longest of all threads.
const SURE: f64 = 2.0;

/// A difference from the mean that is none.
const ROUNDING: f64 = 1e-9;

/// The stages of one kind, or several, on one rank.
struct OfRank<'p> {
    rank: usize,
    thread: usize,
    stage: &'p StageProfile,
}

/// The stages of one kind, or all to which threads come more or less often.
struct Kind<'p> {
    threads: Vec<OfThread>,
    ranks: Vec<OfRank<'p>>,
    is_several: bool,
}

impl<'p> Kind<'p> {
    fn of(threads: usize, ranks: Vec<OfRank<'p>>) -> Self {
        let mut threads = vec![OfThread::default(); threads];
        for of_rank in &ranks {
            threads[of_rank.thread].add(of_rank.stage);
        }
        Kind {
            threads,
            ranks,
            is_several: false,
        }
    }

    /// All threads come to them equally often, or all ranks of the run do.
    fn is_even(&self, ranks: usize) -> bool {
        let threads = self.threads.iter().map(|thread| thread.count);
        let of_ranks = self.ranks.iter().map(|of_rank| of_rank.stage.count);
        all_equal(threads) || (self.ranks.len() == ranks && all_equal(of_ranks))
    }

    /// What is to be said of them, in a run of so many seconds in which a thread idles so long.
    fn found(&self, seconds: f64, idle: f64) -> Option<Imbalance> {
        let number = self.threads.len() as f64;
        let mean = self
            .threads
            .iter()
            .map(|thread| thread.computing)
            .sum::<f64>()
            / number;
        let longer = |one: &OfThread, other: &OfThread| one.computing.total_cmp(&other.computing);
        let each = self.threads.iter().enumerate();
        let (thread, longest) = each.max_by(|one, other| longer(one.1, other.1))?;
        let excess = longest.computing - mean;
        // In the mean each thread counts for 1/P.
        let all: f64 = self.threads.iter().map(|thread| thread.variance).sum();
        let variance = longest.variance * (1.0 - 2.0 / number) + all / (number * number);
        let by_chance = (largest_of(self.threads.len()) + SURE) * variance.max(0.0).sqrt();
        if excess <= mean * ROUNDING || excess <= by_chance {
            return None;
        }
        let mut there: BTreeMap<usize, OfThread> = BTreeMap::new();
        for of_rank in self.ranks.iter().filter(|of_rank| of_rank.thread == thread) {
            there.entry(of_rank.rank).or_default().add(of_rank.stage);
        }
        let ranks = there.len();
        let (rank, most) = there
            .into_iter()
            .max_by(|one, other| longer(&one.1, &other.1))?;
        let (call, site) = match self.ranks.first() {
            Some(first) if !self.is_several => (first.stage.call.clone(), first.stage.site.clone()),
            _ => (String::new(), String::new()),
        };
        let saved = excess.min(idle);
        Some(Imbalance {
            call,
            site,
            count: most.count,
            thread,
            rank,
            ranks,
            longer: excess / mean,
            saved,
            share: saved / seconds,
        })
    }
}

fn all_equal(mut counts: impl Iterator<Item = u64>) -> bool {
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}

/// The same on one thread.
#[derive(Default, Clone)]
struct OfThread {
    count: u64,
    computing: f64,
    /// Of `computing`, by what one stage deviates.
    variance: f64,
}

impl OfThread {
    fn add(&mut self, stage: &StageProfile) {
        self.count += stage.count;
        self.computing += stage.computing;
        if stage.count > 1 {
            let count = stage.count as f64;
            let of_one = stage.deviation * stage.deviation * count / (count - 1.0);
            self.variance += count * of_one;
        }
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Imbalance {
            call,
            site,
            count,
            thread,
            rank,
            ranks,
            longer,
            saved,
            share,
        } = self;
        match ranks {
            1 => write!(f, "rank {rank} computed ")?,
            _ => write!(
                f,
                "thread {thread} (of its {ranks} ranks most of all rank {rank}) computed "
            )?,
        }
        write!(f, "{} longer than the mean ", percent(*longer))?;
        if call.is_empty() {
            f.write_str("before calls that some threads make more often than others")?;
        } else if site.is_empty() {
            f.write_str("after the last call")?;
        } else {
            let times = if *count == 1 { "time" } else { "times" };
            write!(f, "in the stage {call} at {site}, {count} {times}")?;
        }
        write!(
            f,
            "; {} of the run ({}) would be saved by an even share",
            percent(*share),
            time(*saved)
        )
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::RankProfile;

    /// Stages of a rank on a thread: name, number, computing of each, deviation.
    fn rank(rank: usize, thread: usize, stages: &[(&str, u64, f64, f64)]) -> RankProfile {
        let stage = |&(call, count, grain, deviation): &(&str, u64, f64, f64)| StageProfile {
            call: call.to_owned(),
            site: "main.rs:1:2".to_owned(),
            count,
            computing: grain * count as f64,
            deviation,
            ..StageProfile::default()
        };
        RankProfile {
            rank,
            thread,
            stages: stages.iter().map(stage).collect(),
        }
    }

    #[test]
    fn sem_g328_ranks_that_share_a_thread_count_together() {
        // 5 ranks on 2 threads: 3 on the first, 2 on the other.
        let ranks = (0..5).map(|at| rank(at, at / 3, &[("barrier", 10, 0.1, 0.0)]));
        let profile = Profile::new(3.0, 2, ranks.collect());
        let found = profile.imbalances(0.0);
        assert_eq!(found.len(), 1, "{found:?}");
        let text = found[0].to_string();
        assert!(text.starts_with("thread 0 (of its 3 ranks"), "{text}");
        assert!(
            text.contains("20.0 % longer than the mean in the stage barrier"),
            "{text}"
        );
        assert!(
            text.contains("10 times; 16.7 % of the run (500.00 ms)"),
            "{text}"
        );
    }

    #[test]
    fn sem_g328_what_only_one_rank_does_is_found_without_a_stage() {
        let ranks = vec![
            rank(0, 0, &[("send", 1, 2.0, 0.0), ("barrier", 1, 0.0, 0.0)]),
            rank(1, 1, &[("recv", 1, 0.0, 0.0), ("barrier", 1, 0.0, 0.0)]),
        ];
        let found = Profile::new(2.0, 2, ranks).imbalances(0.01);
        let [one] = &found[..] else {
            panic!("one finding: {found:?}");
        };
        assert_eq!((&*one.call, one.rank), ("", 0));
        assert!((one.share - 0.5).abs() < 1e-9, "{one}");
        assert!(
            one.to_string().contains("some threads make more often"),
            "{one}"
        );
    }

    #[test]
    fn sem_g328_chance_grows_with_the_deviation_and_the_number_of_threads() {
        let found = |threads: usize, deviation: f64| {
            let longer = |at| if at == 1 { 0.11 } else { 0.1 };
            let of = |at| rank(at, at, &[("barrier", 100, longer(at), deviation)]);
            Profile::new(11.0, threads, (0..threads).map(of).collect()).imbalances(0.0)
        };
        // Of 4 threads the excess is 0.75 s in 100 stages, and chance gives 3.03 standard errors.
        assert_eq!(found(4, 0.025).len(), 1);
        assert_eq!(found(4, 0.030).len(), 0);
        assert_eq!(
            found(64, 0.025).len(),
            0,
            "one of so many is that long by chance"
        );
    }

    #[test]
    fn one_thread_has_nobody_to_share_with() {
        let alone = Profile::new(1.0, 1, vec![rank(0, 0, &[("barrier", 1, 1.0, 0.0)])]);
        assert_eq!(alone.imbalances(0.0), []);
        assert_eq!(Profile::new(0.0, 2, Vec::new()).imbalances(0.0), []);
    }
}
