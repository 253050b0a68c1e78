//! One row of a comparison: motet's program and its peers' in turn, and the bar between them.

use crate::limits;
use crate::statistics::median;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Runs a program once and says what it took; an error says why it cannot run here.
pub(crate) type ContestProgram = Box<dyn FnMut() -> Result<f64, String>>;

/// A row before it is measured.
pub(crate) struct Contest {
    /// What is measured.
    pub(crate) row: String,
    /// In what.
    pub(crate) unit: &'static str,
    /// Motet's program.
    pub(crate) motet: ContestProgram,
    /// The others, by name.
    pub(crate) peers: Vec<(&'static str, ContestProgram)>,
    /// What must hold, all of it; nothing: the row is for information.
    pub(crate) bars: Vec<Bar>,
    /// The limit of the machine that bounds the row.
    pub(crate) limit: Option<MachineLimit>,
    /// Only the first run of a process says anything: there is no other.
    pub(crate) cold: bool,
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
    pub peers: BTreeMap<&'static str, f64>,
    /// Motet over the peer, by its name: the median of the pairs.
    pub ratios: BTreeMap<&'static str, f64>,
    /// Peers that could not run, and why.
    pub absent: BTreeMap<&'static str, String>,
    /// What must hold; empty when the row is for information.
    pub bar: String,
    /// Whether it does; absent when there is no bar, or nothing to compare with.
    pub holds: Option<bool>,
    /// Pairs of runs.
    pub runs: usize,
    /// How fast the cores were: the worse of before and after the row.
    #[serde(flatten)]
    pub cores: CoreSpeed,
}

/// Pairs of motet's and one peer's results.
#[derive(Debug, Default)]
struct Pairs {
    motet: Vec<f64>,
    peer: Vec<f64>,
}

impl Contest {
    /// Motet alone, for information.
    pub(crate) fn new(
        row: impl Into<String>,
        unit: &'static str,
        motet: impl FnMut() -> Result<f64, String> + 'static,
    ) -> Contest {
        Contest {
            row: row.into(),
            unit,
            motet: Box::new(motet),
            peers: Vec::new(),
            bars: Vec::new(),
            limit: None,
            cold: false,
        }
    }

    /// Beside one more peer.
    pub(crate) fn beside(
        mut self,
        name: &'static str,
        peer: impl FnMut() -> Result<f64, String> + 'static,
    ) -> Contest {
        self.peers.push((name, Box::new(peer)));
        self
    }

    /// With one more bar.
    pub(crate) fn bar(mut self, bar: Bar) -> Contest {
        self.bars.push(bar);
        self
    }

    /// Of which only the first run of a process says anything.
    pub(crate) fn cold(self) -> Contest {
        Contest { cold: true, ..self }
    }

    /// Runs motet and each peer in turn, `runs` times.
    ///
    /// # Errors
    /// Why motet's program cannot run here.
    pub(crate) fn run(mut self, runs: usize) -> Result<CoreRecord, String> {
        let before = CoreSpeed::here();
        let mut absent = BTreeMap::new();
        let mut pairs: BTreeMap<&'static str, Pairs> = BTreeMap::new();
        let mut motet = Vec::new();
        let runs = if self.cold { 1 } else { runs };
        if !self.cold {
            // Once for nothing: what a program or its library sets up the first time is not
            // measured.
            (self.motet)()?;
        }
        if runs > 1 {
            // One that is run once pays for its start: most are processes, and start each time.
            for (name, peer) in &mut self.peers {
                if let Err(reason) = peer() {
                    absent.insert(*name, reason);
                }
            }
        }
        for _ in 0..runs {
            self.peers.retain(|(name, _)| !absent.contains_key(name));
            if self.peers.is_empty() {
                motet.push((self.motet)()?);
            }
            for (name, peer) in &mut self.peers {
                let ours = (self.motet)()?;
                motet.push(ours);
                let theirs = match peer() {
                    Ok(theirs) => theirs,
                    Err(reason) => {
                        absent.insert(*name, reason);
                        continue;
                    }
                };
                let pairs = pairs.entry(*name).or_default();
                pairs.motet.push(ours);
                pairs.peer.push(theirs);
            }
        }
        let cores = before.worse(&CoreSpeed::here());
        let outcome = RowOutcome {
            motet: median(&motet),
            pairs: &pairs,
        };
        let verdicts: Vec<Option<bool>> = self.bars.iter().map(|bar| outcome.meets(*bar)).collect();
        let bar: Vec<String> = self.bars.iter().map(ToString::to_string).collect();
        Ok(CoreRecord {
            row: self.row,
            unit: self.unit,
            motet: outcome.motet,
            motet_range: crate::statistics::range(&motet),
            limit: self.limit.map(|limit| limit.value),
            limit_name: self.limit.map(|limit| limit.name),
            peers: pairs.iter().map(|(n, p)| (*n, median(&p.peer))).collect(),
            ratios: pairs.iter().map(|(n, p)| (*n, p.ratio())).collect(),
            absent,
            bar: bar.join("; "),
            holds: all(&verdicts),
            runs,
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
struct RowOutcome<'a> {
    motet: f64,
    pairs: &'a BTreeMap<&'static str, Pairs>,
}

impl RowOutcome<'_> {
    /// Whether the bar holds; `None` when what it compares with is absent.
    fn meets(&self, bar: Bar) -> Option<bool> {
        let with = |peer: &str, holds: &dyn Fn(&Pairs) -> bool| self.pairs.get(peer).map(holds);
        match bar {
            Bar::AtMost(most) => Some(self.motet <= most),
            Bar::BelowPeers => {
                let below = |pairs: &Pairs| pairs.ratio() < 1.0;
                (!self.pairs.is_empty()).then(|| self.pairs.values().all(below))
            }
            Bar::AtMostTimes(times, peer) => with(peer, &|pairs| pairs.ratio() <= times),
            Bar::AtLeastTimes(times, peer) => with(peer, &|pairs| pairs.ratio() >= times),
            Bar::AtMostOver(more, peer) => with(peer, &|pairs| pairs.difference() <= more),
            Bar::Within(times, more, peer) => with(peer, &|pairs| {
                pairs.each(|ours, theirs| ours - times * theirs) <= more
            }),
        }
    }
}

impl Pairs {
    /// Motet over the peer.
    fn ratio(&self) -> f64 {
        self.each(|ours, theirs| ours / theirs)
    }

    /// Motet without the peer.
    fn difference(&self) -> f64 {
        self.each(|ours, theirs| ours - theirs)
    }

    /// The median of what `compare` says of each pair.
    fn each(&self, compare: impl Fn(f64, f64) -> f64) -> f64 {
        let pairs = self.motet.iter().zip(&self.peer);
        let compared: Vec<f64> = pairs
            .map(|(&ours, &theirs)| compare(ours, theirs))
            .collect();
        median(&compared)
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

impl fmt::Debug for Contest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contest")
            .field("row", &self.row)
            .field("bars", &self.bars)
            .finish_non_exhaustive()
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
        let constant = |value: f64| -> ContestProgram { Box::new(move || Ok(value)) };
        let contest = Contest {
            row: "row".to_owned(),
            unit: "ns",
            motet: constant(motet),
            peers: peers.iter().map(|&(n, v)| (n, constant(v))).collect(),
            bars: bars.to_vec(),
            limit: None,
            cold: false,
        };
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
        let contest = Contest {
            row: "row".to_owned(),
            unit: "bytes",
            motet: Box::new(move || {
                runs += 1.0;
                Ok(runs)
            }),
            peers: Vec::new(),
            bars: vec![Bar::AtMost(1.0)],
            limit: None,
            cold: true,
        };
        let record = contest.run(5).unwrap();
        assert_eq!((record.motet, record.runs), (1.0, 1));
    }

    #[test]
    fn a_ratio_is_that_of_a_pair() {
        // The machine grows slower from pair to pair; the ratio does not change.
        let slower = |first: f64| -> ContestProgram {
            let mut time = first;
            Box::new(move || {
                time *= 2.0;
                Ok(time)
            })
        };
        let contest = Contest {
            row: String::new(),
            unit: "ns",
            motet: slower(3.0),
            peers: vec![("one", slower(4.0))],
            bars: vec![Bar::AtMostTimes(0.75, "one")],
            limit: None,
            cold: false,
        };
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
            let contest = Contest {
                row: String::new(),
                unit: "ns",
                motet: Box::new(|| Ok(1.0)),
                peers: vec![
                    ("one", peer),
                    ("gone", Box::new(|| Err("not here".to_owned()))),
                ],
                bars: Vec::new(),
                limit: None,
                cold: false,
            };
            let record = contest.run(runs).unwrap();
            assert_eq!((count.get(), record.peers["one"]), (expected, 1.0));
            assert_eq!(record.absent["gone"], "not here");
        }
    }

    #[test]
    fn a_peer_that_cannot_run_is_named_with_its_reason() {
        let contest = Contest {
            row: "row".to_owned(),
            unit: "ns",
            motet: Box::new(|| Ok(1.0)),
            peers: vec![("gone", Box::new(|| Err("not here".to_owned())))],
            bars: vec![Bar::BelowPeers],
            limit: None,
            cold: false,
        };
        let record = contest.run(2).unwrap();
        assert_eq!(record.absent["gone"], "not here");
        assert_eq!((record.holds, record.motet), (None, 1.0));
    }
}
