//! One row of a comparison: a case of the suite, motet's program first, and the bars between them.

use crate::limits;
use crate::measuring::{Case, MeasuringMethod, Point, Quantity, measured};
use crate::statistics::{Spread, median};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Runs a program once and says what it took; an error says why it cannot run here.
pub(crate) type ContestProgram = Box<dyn FnMut() -> Result<f64, String>>;

/// A row before it is measured.
#[derive(Debug)]
pub(crate) struct Contest {
    /// What is measured.
    pub(crate) row: String,
    /// Motet's program and then the peers', with one quantity.
    case: Case,
    /// What must hold, all of it; nothing: the row is for information.
    bars: Vec<Bar>,
    /// The limit of the machine that bounds the row.
    limit: Option<MachineLimit>,
    /// Only the first run of a process says anything: there is no other.
    cold: bool,
}

/// A limit of the machine, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MachineLimit {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
}

/// What a row must come up to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    /// At most this much.
    AtMost(f64),
    /// Less than every peer.
    BelowPeers,
    /// At most so many times this peer.
    AtMostTimes(f64, &'static str),
    /// At least so many times this peer.
    AtLeastTimes(f64, &'static str),
    /// At most so much more than this peer.
    AtMostOver(f64, &'static str),
    /// At most so many times this peer and so much more.
    Within(f64, f64, &'static str),
}

/// A row as it was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoreRecord {
    /// What was measured.
    pub row: String,
    /// In what.
    pub unit: &'static str,
    /// Motet: the median.
    pub motet: f64,
    /// Motet: the least and the most.
    pub motet_range: (f64, f64),
    /// The limit of the machine that bounds the row.
    pub limit: Option<f64>,
    /// R, a cache line to another core and back, or A, an allocation plus a push and pop.
    pub limit_name: Option<&'static str>,
    /// The peers' medians, by name.
    pub peers: BTreeMap<String, f64>,
    /// Motet over the peer, by its name: the median of the rounds.
    pub ratios: BTreeMap<String, f64>,
    /// Peers that could not run, and why.
    pub absent: BTreeMap<String, String>,
    /// What must hold; empty when the row is for information.
    pub bar: String,
    /// Whether it does; absent when there is no bar, or nothing to compare with.
    pub holds: Option<bool>,
    /// Rounds, each with a run of every program.
    pub runs: usize,
    /// Others had too much of the processors.
    pub disturbed: bool,
    /// How fast the cores were: the worse of before and after the row.
    #[serde(flatten)]
    pub cores: CoreSpeed,
}

impl Contest {
    /// Motet alone, for information.
    pub(crate) fn new(
        row: impl Into<String>,
        unit: &'static str,
        motet: impl FnMut() -> Result<f64, String> + 'static,
    ) -> Contest {
        let row = row.into();
        let point = Point::new().with("row", row.as_str());
        Contest {
            row,
            case: Case::new(point, &[Quantity::new("cost", unit)]).with("motet", motet),
            bars: Vec::new(),
            limit: None,
            cold: false,
        }
    }

    /// Beside one more peer.
    pub(crate) fn beside(
        self,
        name: &'static str,
        peer: impl FnMut() -> Result<f64, String> + 'static,
    ) -> Contest {
        let case = self.case.with(name, peer);
        Contest { case, ..self }
    }

    /// With one more bar.
    pub(crate) fn bar(mut self, bar: Bar) -> Contest {
        self.bars.push(bar);
        self
    }

    /// Bounded by a limit of the machine.
    pub(crate) fn within(self, limit: Option<MachineLimit>) -> Contest {
        Contest { limit, ..self }
    }

    /// Of which only the first run of a process says anything.
    pub(crate) fn cold(self) -> Contest {
        Contest { cold: true, ..self }
    }

    /// Measures so many rounds, each with a run of every program.
    ///
    /// # Errors
    /// Why motet's program cannot run here.
    pub(crate) fn run(self, runs: usize) -> Result<CoreRecord, String> {
        let (runs, warm) = match (self.cold, runs) {
            (true, _) => (1, 0),
            // A peer that is run once pays for its start: most are processes, and start each time.
            (false, 1) => (1, 1),
            (false, runs) => (runs, usize::MAX),
        };
        let unit = self.case.quantities[0].unit;
        let names: Vec<String> = self
            .case
            .series
            .iter()
            .map(|one| one.name.clone())
            .collect();
        let before = CoreSpeed::here();
        let plan = measured(MeasuringMethod::rounds(runs, warm), vec![self.case], |_| ());
        let cores = before.worse(&CoreSpeed::here());
        let motet = plan.values(0, 0, 0)?;
        let (mut peers, mut absent) = (BTreeMap::new(), BTreeMap::new());
        for (at, name) in names.into_iter().enumerate().skip(1) {
            match plan.values(0, at, 0) {
                Ok(values) => drop(peers.insert(name, values)),
                Err(reason) => drop(absent.insert(name, reason)),
            }
        }
        let spread = Spread::of(&motet);
        let bar: Vec<String> = self.bars.iter().map(ToString::to_string).collect();
        let values = RowValues { motet, peers };
        let verdicts: Vec<Option<bool>> = self.bars.iter().map(|bar| values.meets(*bar)).collect();
        let by_peer = |of: fn(&RowValues, &[f64]) -> f64| {
            let all = values.peers.iter();
            all.map(|(name, peer)| (name.clone(), of(&values, peer)))
                .collect()
        };
        Ok(CoreRecord {
            row: self.row,
            unit,
            motet: spread.median,
            motet_range: (spread.min, spread.max),
            limit: self.limit.map(|limit| limit.value),
            limit_name: self.limit.map(|limit| limit.name),
            peers: by_peer(|_, peer| median(peer)),
            ratios: by_peer(RowValues::ratio),
            absent,
            bar: bar.join("; "),
            holds: all(&verdicts),
            runs,
            disturbed: plan.disturbed(0),
            cores,
        })
    }
}

/// How fast cores are, and how two lie to each other, which a host may change. What takes two is
/// absent on one core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoreSpeed {
    /// A cache line to another core and back, in µs.
    pub roundtrip_us: Option<f64>,
    /// What two cores do together, as times what one does alone.
    pub two_cores: Option<f64>,
    /// Sums that a core does in a cycle while two work. Fewer than at other times where others use
    /// the same core.
    pub sums_per_cycle: Option<f64>,
    /// The clock of a core, in GHz.
    pub clock_ghz: f64,
}

impl CoreSpeed {
    fn here() -> CoreSpeed {
        let two = limits::two_cores();
        CoreSpeed {
            roundtrip_us: limits::roundtrip_us(),
            two_cores: two.map(|two| two.times),
            sums_per_cycle: two.map(|two| two.sums_per_cycle),
            clock_ghz: limits::clock_ghz(),
        }
    }

    fn worse(&self, other: &CoreSpeed) -> CoreSpeed {
        let pick = |one: Option<f64>, other: Option<f64>, pick: fn(f64, f64) -> f64| {
            one.zip(other).map(|(one, other)| pick(one, other))
        };
        CoreSpeed {
            roundtrip_us: pick(self.roundtrip_us, other.roundtrip_us, f64::max),
            two_cores: pick(self.two_cores, other.two_cores, f64::min),
            sums_per_cycle: pick(self.sums_per_cycle, other.sums_per_cycle, f64::min),
            clock_ghz: self.clock_ghz.min(other.clock_ghz),
        }
    }
}

/// What the bars are judged by.
struct RowValues {
    /// Motet, round by round.
    motet: Vec<f64>,
    /// The peers that ran, in the same rounds.
    peers: BTreeMap<String, Vec<f64>>,
}

impl RowValues {
    /// Whether the bar holds; `None` when what it compares with is absent.
    fn meets(&self, bar: Bar) -> Option<bool> {
        let with = |peer: &str, holds: &dyn Fn(&[f64]) -> bool| {
            self.peers.get(peer).map(|values| holds(values))
        };
        match bar {
            Bar::AtMost(most) => Some(median(&self.motet) <= most),
            Bar::BelowPeers => {
                let below = |peer: &Vec<f64>| self.ratio(peer) < 1.0;
                (!self.peers.is_empty()).then(|| self.peers.values().all(below))
            }
            Bar::AtMostTimes(times, peer) => with(peer, &|peer| self.ratio(peer) <= times),
            Bar::AtLeastTimes(times, peer) => with(peer, &|peer| self.ratio(peer) >= times),
            Bar::AtMostOver(more, peer) => with(peer, &|peer| {
                self.each(peer, |ours, theirs| ours - theirs) <= more
            }),
            Bar::Within(times, more, peer) => with(peer, &|peer| {
                self.each(peer, |ours, theirs| ours - times * theirs) <= more
            }),
        }
    }

    /// Motet over the peer.
    fn ratio(&self, peer: &[f64]) -> f64 {
        self.each(peer, |ours, theirs| ours / theirs)
    }

    /// The median of what `compare` says of each round.
    fn each(&self, peer: &[f64], compare: impl Fn(f64, f64) -> f64) -> f64 {
        Spread::of_rounds(&self.motet, peer, compare).median
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |times: &f64| (times * 100.0).round() / 100.0;
        match self {
            Bar::AtMost(most) => write!(f, "≤ {most}"),
            Bar::BelowPeers => f.write_str("< every peer"),
            Bar::AtMostTimes(times, peer) => write!(f, "≤ {} × {peer}", shown(times)),
            Bar::AtLeastTimes(times, peer) => write!(f, "≥ {} × {peer}", shown(times)),
            Bar::AtMostOver(more, peer) => write!(f, "≤ {peer} + {more}"),
            Bar::Within(times, more, peer) => write!(f, "≤ {} × {peer} + {more}", shown(times)),
        }
    }
}

/// One that fails decides; else one that cannot be judged leaves all open.
fn all(verdicts: &[Option<bool>]) -> Option<bool> {
    if verdicts.contains(&Some(false)) {
        Some(false)
    } else if verdicts.is_empty() || verdicts.contains(&None) {
        None
    } else {
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contest whose programs give these values again and again.
    fn contest(motet: f64, peers: &[(&'static str, f64)], bars: &[Bar]) -> CoreRecord {
        let contest = Contest::new("row", "ns", move || Ok(motet));
        let contest = peers.iter().fold(contest, |contest, &(name, value)| {
            contest.beside(name, move || Ok(value))
        });
        let contest = bars.iter().fold(contest, |contest, bar| contest.bar(*bar));
        contest.run(3).unwrap()
    }

    #[test]
    fn bars_are_judged_by_their_arithmetic() {
        let peers = [("one", 100.0), ("two", 50.0)];
        for (bar, motet, holds) in [
            (Bar::AtMost(80.0), 80.0, true),
            (Bar::AtMost(80.0), 80.1, false),
            (Bar::BelowPeers, 49.0, true),
            (Bar::BelowPeers, 50.0, false),
            (Bar::BelowPeers, 99.0, false),
            (Bar::AtMostTimes(1.5, "one"), 150.0, true),
            (Bar::AtMostTimes(1.5, "one"), 151.0, false),
            (Bar::AtLeastTimes(0.5, "two"), 25.0, true),
            (Bar::AtLeastTimes(0.5, "two"), 24.0, false),
            (Bar::AtMostOver(10.0, "two"), 60.0, true),
            (Bar::Within(1.5, 10.0, "two"), 85.0, true),
            (Bar::Within(1.5, 10.0, "two"), 86.0, false),
            (Bar::AtMostOver(10.0, "two"), 61.0, false),
        ] {
            let record = contest(motet, &peers, &[bar]);
            assert_eq!(record.holds, Some(holds), "{bar} at {motet}");
        }
    }

    #[test]
    fn every_bar_of_a_row_must_hold() {
        let peers = [("one", 100.0)];
        let both = [Bar::AtMost(80.0), Bar::BelowPeers];
        assert_eq!(contest(70.0, &peers, &both).holds, Some(true));
        assert_eq!(contest(90.0, &peers, &both).holds, Some(false));
        let missing = [Bar::AtMost(80.0), Bar::AtMostTimes(2.0, "none")];
        assert_eq!(contest(70.0, &peers, &missing).holds, None);
        assert_eq!(contest(90.0, &peers, &missing).holds, Some(false));
        assert_eq!(contest(90.0, &peers, &[]).holds, None);
    }

    #[test]
    fn a_cold_row_runs_once() {
        let mut runs = 0.0;
        let motet = move || {
            runs += 1.0;
            Ok(runs)
        };
        let contest = Contest::new("row", "bytes", motet);
        let contest = contest.bar(Bar::AtMost(1.0)).cold();
        let record = contest.run(5).unwrap();
        assert_eq!((record.motet, record.runs), (1.0, 1));
    }

    #[test]
    fn a_ratio_is_that_of_a_round() {
        // The machine grows slower from round to round; the ratio does not change.
        let slower = |first: f64| -> ContestProgram {
            let mut time = first;
            Box::new(move || {
                time *= 2.0;
                Ok(time)
            })
        };
        let contest = Contest::new("row", "ns", slower(3.0))
            .beside("one", slower(4.0))
            .bar(Bar::AtMostTimes(0.75, "one"));
        let record = contest.run(5).unwrap();
        assert_eq!(record.ratios["one"], 0.75);
        assert_eq!(record.holds, Some(true));
    }

    #[test]
    fn who_is_run_once_is_not_run_for_nothing() {
        for (runs, expected) in [(1, 1), (3, 4)] {
            let count = std::rc::Rc::new(std::cell::Cell::new(0));
            let counted = std::rc::Rc::clone(&count);
            let peer: ContestProgram = Box::new(move || {
                counted.set(counted.get() + 1);
                Ok(1.0)
            });
            let contest = Contest::new("row", "ns", || Ok(1.0))
                .beside("one", peer)
                .beside("gone", || Err("not here".to_owned()));
            let record = contest.run(runs).unwrap();
            assert_eq!((count.get(), record.peers["one"]), (expected, 1.0));
            assert_eq!(record.absent["gone"], "not here");
        }
    }

    #[test]
    fn a_peer_that_cannot_run_is_named_with_its_reason() {
        let contest = Contest::new("row", "ns", || Ok(1.0))
            .beside("gone", || Err("not here".to_owned()))
            .bar(Bar::BelowPeers);
        let record = contest.run(2).unwrap();
        assert_eq!(record.absent["gone"], "not here");
        assert_eq!((record.holds, record.motet), (None, 1.0));
    }
}
