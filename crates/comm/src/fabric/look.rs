//! What the ranks here do, seen from another thread.

use super::local_ranks::LocalRanks;
use crate::rank_slot::Seen;
use crate::report::{RankNow, WaitGraph, WaitNow};
use std::time::Instant;

/// Messages of one rank that nobody has received: more are not looked at, since their mailbox is
/// locked meanwhile.
const MESSAGES: usize = 4;

impl LocalRanks {
    /// What the ranks here do now. They need not help, and do not notice.
    pub(crate) fn look(&self) -> WaitGraph {
        let now = Instant::now();
        let after = now.saturating_duration_since(self.begun);
        let mut graph = WaitGraph::of(after, Vec::new(), self.unmatched(MESSAGES));
        graph.ranks.reserve(self.size());
        let open = self.entrances.open();
        for (place, slot) in self.slots().enumerate() {
            let seen = slot.look();
            for listed in &seen.waits {
                graph.note(listed.why.wait.communicator, &listed.why.members);
            }
            let mut rank = self.rank_now(&seen, now);
            if let RankNow::Waiting { waits, .. } = &mut rank {
                let doors = || open.iter().filter(|door| door.place == place);
                for wait in waits {
                    let may_end = doors().filter(|door| door.may_end(&wait.wait));
                    wait.entrances = may_end.map(|door| (door.note)()).collect();
                }
            }
            graph.ranks.push(rank);
        }
        graph
    }

    fn rank_now(&self, seen: &Seen, now: Instant) -> RankNow {
        if seen.finished {
            return RankNow::Finished;
        }
        let waits = seen.waits.iter().map(|listed| {
            let waited = now.saturating_duration_since(listed.since);
            WaitNow::new(listed.number, &listed.why, waited)
        });
        let waits: Vec<WaitNow> = waits.collect();
        if !waits.is_empty() {
            let woken = seen.woken;
            return RankNow::Waiting { waits, woken };
        }
        let since = seen.last.map_or(self.begun, |(_, ended)| ended);
        let (lasted, after) = (
            now.saturating_duration_since(since),
            seen.last.map(|(wait, _)| wait),
        );
        match seen.suspended {
            true => RankNow::Elsewhere { lasted, after },
            false => RankNow::Running { lasted, after },
        }
    }
}
