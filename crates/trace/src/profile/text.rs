//! A profile in words.

use super::{Overhead, OverheadModel, Profile, RankProfile, StageProfile};
use std::collections::BTreeMap;
use std::fmt;

/// More ranks or stages than this are not shown; all are in the value.
const SHOWN: usize = 32;
/// Stages that lose less than this share of the run to a rank that computes longer have no line.
const WORTH_A_LINE: f64 = 0.01;
/// No more of them have one.
const MOST_LINES: usize = 8;
/// The efficiency that the model is asked about.
const GOAL: f64 = 0.9;

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ranks on {} threads, {}",
            self.ranks.len(),
            self.threads,
            time(self.seconds)
        )?;
        writeln!(
            f,
            "{:>6} {:>6} {:>10} {:>10} {:>10}",
            "rank", "thread", "computing", "messaging", "waiting"
        )?;
        for ranked in self.ranks.iter().take(SHOWN) {
            let [computing, messaging, waiting] = ranked.totals().map(time);
            let RankProfile { rank, thread, .. } = ranked;
            writeln!(
                f,
                "{rank:>6} {thread:>6} {computing:>10} {messaging:>10} {waiting:>10}"
            )?;
        }
        if self.ranks.len() > SHOWN {
            writeln!(f, "       and {} more ranks", self.ranks.len() - SHOWN)?;
        }
        self.write_stages(f)?;
        for imbalance in self.imbalances(WORTH_A_LINE).iter().take(MOST_LINES) {
            writeln!(f, "{imbalance}")?;
        }
        write!(f, "{}", self.overhead())?;
        match self.model() {
            Some(model) => write!(f, "\n{model}"),
            None => {
                f.write_str("\nno stage computes: what another grain would give cannot be told")
            }
        }
    }
}

/// The stages of one kind on all ranks.
#[derive(Default)]
struct Kind<'p> {
    ranks: Vec<&'p StageProfile>,
    computing: f64,
}

impl Kind<'_> {
    fn sum(&self, of: fn(&StageProfile) -> f64) -> f64 {
        self.ranks.iter().map(|stage| of(stage)).sum()
    }

    fn count(&self) -> u64 {
        self.ranks.iter().map(|stage| stage.count).sum()
    }

    /// How much more the rank computes that computes most than the mean.
    fn imbalance(&self) -> f64 {
        let most = self
            .ranks
            .iter()
            .map(|stage| stage.computing)
            .fold(0.0, f64::max);
        match self.computing > 0.0 {
            true => most * self.ranks.len() as f64 / self.computing - 1.0,
            false => 0.0,
        }
    }

    /// The standard deviation over the mean of one stage on one rank: its mean over the ranks, by
    /// computing.
    fn jitter(&self) -> f64 {
        match self.computing > 0.0 {
            true => self.sum(|stage| stage.jitter() * stage.computing) / self.computing,
            false => 0.0,
        }
    }
}

impl Profile {
    /// One line for each kind of stage, those with the most time first.
    fn write_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: BTreeMap<(&str, &str), Kind<'_>> = BTreeMap::new();
        for stage in self.ranks.iter().flat_map(|rank| &rank.stages) {
            let kind = kinds.entry((&stage.call, &stage.site)).or_default();
            kind.ranks.push(stage);
            kind.computing += stage.computing;
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        let all =
            |kind: &Kind<'_>| kind.sum(|stage| stage.computing + stage.messaging + stage.waiting);
        kinds.sort_by(|(_, one), (_, other)| all(other).total_cmp(&all(one)));
        writeln!(
            f,
            "{:>9} {:>10} {:>10} {:>10} {:>10} {:>9} {:>7}  stage",
            "count", "grain", "computing", "messaging", "waiting", "imbalance", "jitter"
        )?;
        let shown = kinds.len().min(SHOWN);
        for ((call, site), kind) in &kinds[..shown] {
            let grain = kind.computing / kind.count().max(1) as f64;
            let times = [
                grain,
                kind.computing,
                kind.sum(|stage| stage.messaging),
                kind.sum(|stage| stage.waiting),
            ];
            let [grain, computing, messaging, waiting] = times.map(time);
            let at = if site.is_empty() { "" } else { " at " };
            writeln!(
                f,
                "{:>9} {grain:>10} {computing:>10} {messaging:>10} {waiting:>10} {:>9} {:>7}  {call}{at}{site}",
                kind.count(),
                percent(kind.imbalance()),
                percent(kind.jitter()),
            )?;
        }
        match kinds.len() - shown {
            0 => Ok(()),
            more => writeln!(f, "          and {more} more stages"),
        }
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overhead {
            overhead,
            efficiency,
            messaging,
            imbalance,
            jitter,
            waiting,
        } = self;
        write!(
            f,
            "overhead f = {overhead:.4} = messaging {messaging:.4} + imbalance {imbalance:.4} + jitter {jitter:.4} \
             + waiting {waiting:.4}; efficiency {:.1} %\n\
             (f = (P·T(P) − T(1))/T(1), with all computing of the ranks for T(1): work that all repeat, and memory that \
             they share, cannot be told from one run)",
            100.0 * efficiency
        )
    }
}

impl fmt::Display for OverheadModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OverheadModel {
            per_stage,
            intercept,
            grain,
            threads,
        } = self;
        write!(
            f,
            "model f = a/grain + b with a = {} (messaging and waiting of a stage), b = {intercept:.4} (imbalance and \
             jitter), at a grain of {}",
            time(*per_stage),
            time(*grain)
        )?;
        match self.grain_for(GOAL) {
            Some(grain) => write!(
                f,
                "\n{} % need a grain of {} or more (a/(1/ε − 1 − b))",
                100.0 * GOAL,
                time(grain)
            )?,
            None => write!(
                f,
                "\n{} % are out of reach at any grain: b alone takes more",
                100.0 * GOAL
            )?,
        }
        match self.threads_for(GOAL) {
            Some(most) if most < usize::MAX / 2 => write!(
                f,
                "; the same problem keeps them on up to {most} threads, where it ran on {threads}"
            )?,
            _ => {}
        }
        f.write_str("\n(that a and b stay so with another grain or number of threads cannot be told from one run)")
    }
}

/// A time that people read.
pub(super) fn time(seconds: f64) -> String {
    match seconds.abs() {
        long if long >= 1.0 => format!("{seconds:.2} s"),
        short if short >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        short if short >= 1e-6 => format!("{:.2} us", seconds * 1e6),
        shorter if shorter > 0.0 => format!("{:.1} ns", seconds * 1e9),
        _ => "0".to_owned(),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
