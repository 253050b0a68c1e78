//! The wait-for graph in words.

use super::{CollectiveNow, RankNow, WaitGraph, WaitNow};
use crate::report::{Wait, WaitOperation};
use std::fmt::{self, Write};
use std::time::Duration;

/// More messages, cycles or ranks of a kind than this are counted only.
const SHOWN: usize = 20;

/// Tells what ranks are.
type Is = fn(&RankNow) -> bool;

impl fmt::Display for WaitGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_counts(f)?;
        self.write_ranks(f)?;
        for (process, ranks) in &self.silent {
            let s = if ranks.len() == 1 { "" } else { "s" };
            let ranks = ranks.clone().collect::<Vec<_>>();
            write!(
                f,
                "\n  process {process} (rank{s} {}) has not answered",
                Ranks(&ranks)
            )?;
        }
        for collective in self.collectives() {
            write!(f, "\n  {collective}")?;
        }
        for message in self.unmatched.iter().take(SHOWN) {
            write!(f, "\n  not received yet: {message}")?;
        }
        more(f, self.unmatched.len(), "messages")?;
        self.write_knots(f)
    }
}

impl WaitGraph {
    fn write_counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "who waits for whom, {} after the beginning: of {} ranks ",
            Time(self.after),
            self.ranks.len()
        )?;
        let kinds: [(&str, Is); 5] = [
            ("run", |now| matches!(now, RankNow::Running { .. })),
            ("wait for ranks", |now| {
                matches!(now, RankNow::Waiting { .. })
            }),
            ("wait for something else", |now| {
                matches!(now, RankNow::Elsewhere { .. })
            }),
            ("have finished", |now| matches!(now, RankNow::Finished)),
            ("are not known", |now| matches!(now, RankNow::Unknown)),
        ];
        let counts =
            kinds.map(|(what, is)| (what, self.ranks.iter().filter(|now| is(now)).count()));
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts = counts.map(|(what, count)| format!("{count} {what}"));
        f.write_str(&counts.collect::<Vec<_>>().join(", "))
    }

    /// One line for each rank; ranks next to each other that do the same share one.
    fn write_ranks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = 0;
        for group in self.ranks.chunk_by(RankNow::does_as) {
            match group.len() {
                1 => write!(f, "\n  rank {first}: ")?,
                len => write!(f, "\n  ranks {first}-{}: ", first + len - 1)?,
            }
            first += group.len();
            self.write_group(f, group)?;
        }
        Ok(())
    }

    fn write_group(&self, f: &mut fmt::Formatter<'_>, group: &[RankNow]) -> fmt::Result {
        let one = group.len() == 1;
        match &group[0] {
            RankNow::Finished => f.write_str("finished"),
            RankNow::Unknown => f.write_str("not known"),
            RankNow::Running { after, .. } => {
                f.write_str(if one { "runs" } else { "run" })?;
                since(f, group, after.as_ref())
            }
            RankNow::Elsewhere { after, .. } => {
                f.write_str(if one { "waits" } else { "wait" })?;
                f.write_str(" for something that is no message of a rank,")?;
                since(f, group, after.as_ref())
            }
            RankNow::Waiting { waits, woken } => {
                for (i, wait) in waits.iter().enumerate() {
                    let alternative = i > 0 && waits[i - 1].call == wait.call;
                    f.write_str(match (i, alternative) {
                        (0, _) if one => "waits in ",
                        (0, _) => "wait in ",
                        (_, true) => " or ",
                        (_, false) => " and ",
                    })?;
                    self.write_wait(f, wait)?;
                }
                let times = group
                    .iter()
                    .flat_map(RankNow::waits)
                    .map(|wait| wait.waited);
                write_times(f, times)?;
                if *woken {
                    f.write_str("; woken, but its thread runs something else")?;
                }
                Ok(())
            }
        }
    }

    fn write_wait(&self, f: &mut fmt::Formatter<'_>, now: &WaitNow) -> fmt::Result {
        let Wait {
            operation,
            location,
            communicator,
        } = now.wait;
        write!(f, "{operation}")?;
        if communicator != 0 {
            write!(f, " of communicator {communicator}")?;
        }
        if let Some(peer) = peer(&operation).filter(|_| communicator != 0) {
            write!(f, " (rank {} of the world)", self.world(communicator, peer))?;
        }
        if let Some(peers) = &now.peers {
            let mut peers: Vec<usize> = peers.clone();
            peers.sort_unstable();
            peers.dedup();
            write!(f, " for ranks {}", Ranks(&peers))?;
        }
        write!(f, " at {location}")?;
        for entrance in &now.entrances {
            write!(f, " ({entrance})")?;
        }
        Ok(())
    }

    fn write_knots(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = self.cycles();
        for cycle in cycles.iter().take(SHOWN) {
            f.write_str("\n  cycle: ")?;
            for rank in cycle.iter().take(SHOWN) {
                write!(f, "{rank} → ")?;
            }
            if cycle.len() > SHOWN {
                write!(f, "… ({} ranks) → ", cycle.len())?;
            }
            write!(f, "{}", cycle[0])?;
        }
        more(f, cycles.len(), "cycles")?;
        let stuck = self.stuck();
        if !stuck.is_empty() {
            let ranks = Ranks(&stuck);
            write!(
                f,
                "\n  cannot go on: {ranks}; unless a message is on its way to one of them"
            )?;
        }
        let all_wait = self.ranks.iter().any(|now| !now.waits().is_empty());
        for (what, ranks) in [
            ("others wait for, and it runs", self.holding_up()),
            ("nobody waits for", self.unawaited()),
        ] {
            if all_wait && !ranks.is_empty() {
                write!(f, "\n  {what}: {}", Ranks(&ranks))?;
            }
        }
        Ok(())
    }
}

impl RankNow {
    /// Whether both are shown in one line.
    fn does_as(&self, other: &RankNow) -> bool {
        match (self, other) {
            (RankNow::Finished, RankNow::Finished) | (RankNow::Unknown, RankNow::Unknown) => true,
            (RankNow::Running { after, .. }, RankNow::Running { after: other, .. })
            | (RankNow::Elsewhere { after, .. }, RankNow::Elsewhere { after: other, .. }) => {
                after == other
            }
            (
                RankNow::Waiting { waits, woken },
                RankNow::Waiting {
                    waits: others,
                    woken: other,
                },
            ) => {
                let what = |wait: &WaitNow| (wait.wait, wait.peers.clone(), wait.entrances.clone());
                woken == other && waits.iter().map(what).eq(others.iter().map(what))
            }
            _ => false,
        }
    }
}

impl fmt::Display for CollectiveNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.wait.operation)?;
        if self.wait.communicator != 0 {
            write!(f, " of communicator {}", self.wait.communicator)?;
        }
        let (come, missing) = (Ranks(&self.come), Ranks(&self.missing));
        match (self.missing.is_empty(), self.started) {
            (true, _) => write!(f, ": all have come"),
            (false, false) => write!(f, ": {come} have come, {missing} have not"),
            (false, true) => write!(f, ", started: {come} wait in it, {missing} do not"),
        }
    }
}

/// The rank that an operation is for, by its number in the communicator.
fn peer(operation: &WaitOperation) -> Option<usize> {
    use crate::address::Source;
    match *operation {
        WaitOperation::Recv { source, .. } | WaitOperation::Probe { source, .. } => match source {
            Source::Rank(rank) => Some(rank),
            Source::Any | Source::Null | Source::Outside => None,
        },
        WaitOperation::Ssend { dest: peer, .. }
        | WaitOperation::Send { dest: peer, .. }
        | WaitOperation::NeighbourRoom { peer }
        | WaitOperation::Neighbour { peer, .. } => Some(peer),
        WaitOperation::Collective { .. } => None,
    }
}

/// For how long, and since which call.
fn since(f: &mut fmt::Formatter<'_>, group: &[RankNow], after: Option<&Wait>) -> fmt::Result {
    let lasted = group.iter().filter_map(|now| match now {
        RankNow::Running { lasted, .. } | RankNow::Elsewhere { lasted, .. } => Some(*lasted),
        _ => None,
    });
    write_times(f, lasted)?;
    match after {
        None => f.write_str(", since the beginning"),
        Some(wait) => write!(f, ", since {} at {}", wait.operation, wait.location),
    }
}

fn write_times(f: &mut fmt::Formatter<'_>, times: impl Iterator<Item = Duration>) -> fmt::Result {
    let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
    for time in times {
        (least, most) = (least.min(time), most.max(time));
    }
    let (least, most) = (Time(least).to_string(), Time(most).to_string());
    match least == most {
        true => write!(f, " for {most}"),
        false => write!(f, " for {least} to {most}"),
    }
}

fn more(f: &mut fmt::Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    match count.checked_sub(SHOWN) {
        None | Some(0) => Ok(()),
        Some(rest) => write!(f, "\n  and {rest} more {what}"),
    }
}

/// A time that people read.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            long if long >= Duration::from_secs(1) => write!(f, "{:.1} s", long.as_secs_f64()),
            short => write!(f, "{:.0} ms", short.as_secs_f64() * 1e3),
        }
    }
}

/// Ranks in ascending order, neighbours as a range.
struct Ranks<'a>(&'a [usize]);

impl fmt::Display for Ranks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs: Vec<&[usize]> = self.0.chunk_by(|one, next| one + 1 == *next).collect();
        for (i, run) in runs.iter().take(SHOWN).enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match **run {
                [one] => write!(f, "{one}")?,
                [one, two] => write!(f, "{one}, {two}")?,
                [first, .., last] => write!(f, "{first}-{last}")?,
                [] => {}
            }
        }
        if runs.len() > SHOWN {
            let shown: usize = runs.iter().take(SHOWN).map(|run| run.len()).sum();
            f.write_char(' ')?;
            write!(f, "and {} more", self.0.len() - shown)?;
        }
        Ok(())
    }
}
