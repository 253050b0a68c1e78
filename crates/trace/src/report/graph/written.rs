//! What the ranks of a process do as bytes, for the process that asks.

use super::{RankNow, WaitGraph, WaitNow};
use crate::report::written::{WrittenMessage, WrittenWait, message, read_message, read_wait, wait};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

#[derive(Serialize, Deserialize)]
struct Written {
    after: Duration,
    ranks: Vec<WrittenRank>,
    unmatched: Vec<WrittenMessage>,
    members: Vec<(u32, Vec<usize>)>,
}

#[derive(Serialize, Deserialize)]
enum WrittenRank {
    Running(Duration, Option<WrittenWait>),
    Waiting(Vec<WrittenNow>, bool),
    Elsewhere(Duration, Option<WrittenWait>),
    Finished,
    Unknown,
}

#[derive(Serialize, Deserialize)]
struct WrittenNow {
    wait: WrittenWait,
    waited: Duration,
    call: u64,
    entrances: Vec<String>,
    peers: Option<Vec<usize>>,
    started: bool,
}

/// The bytes of what the ranks of one process do.
pub(super) fn write(graph: &WaitGraph) -> Vec<u8> {
    let last = |after: &Option<_>| after.as_ref().map(wait);
    let now = |now: &WaitNow| WrittenNow {
        wait: wait(&now.wait),
        waited: now.waited,
        call: now.call,
        entrances: now.entrances.clone(),
        peers: now.peers.clone(),
        started: now.started,
    };
    let rank = |rank: &RankNow| match rank {
        RankNow::Running { lasted, after } => WrittenRank::Running(*lasted, last(after)),
        RankNow::Waiting { waits, woken } => {
            WrittenRank::Waiting(waits.iter().map(now).collect(), *woken)
        }
        RankNow::Elsewhere { lasted, after } => WrittenRank::Elsewhere(*lasted, last(after)),
        RankNow::Finished => WrittenRank::Finished,
        RankNow::Unknown => WrittenRank::Unknown,
    };
    let members = graph.members.iter();
    let written = Written {
        after: graph.after,
        ranks: graph.ranks.iter().map(rank).collect(),
        unmatched: graph.unmatched.iter().map(message).collect(),
        members: members
            .map(|(number, all)| (*number, all.to_vec()))
            .collect(),
    };
    postcard::to_stdvec(&written).expect("a report can be written")
}

/// What such bytes say.
pub(super) fn read(bytes: &[u8]) -> Option<WaitGraph> {
    let (written, []) = postcard::take_from_bytes::<Written>(bytes).ok()? else {
        return None;
    };
    let last = |after: Option<WrittenWait>| after.as_ref().map(read_wait);
    let now = |now: WrittenNow| WaitNow {
        wait: read_wait(&now.wait),
        waited: now.waited,
        call: now.call,
        entrances: now.entrances,
        peers: now.peers,
        started: now.started,
    };
    let rank = |rank| match rank {
        WrittenRank::Running(lasted, after) => {
            let after = last(after);
            RankNow::Running { lasted, after }
        }
        WrittenRank::Waiting(waits, woken) => {
            let waits = waits.into_iter().map(now).collect();
            RankNow::Waiting { waits, woken }
        }
        WrittenRank::Elsewhere(lasted, after) => {
            let after = last(after);
            RankNow::Elsewhere { lasted, after }
        }
        WrittenRank::Finished => RankNow::Finished,
        WrittenRank::Unknown => RankNow::Unknown,
    };
    let ranks = written.ranks.into_iter().map(rank).collect();
    let unmatched = written.unmatched.iter().map(read_message).collect();
    let mut graph = WaitGraph::of(written.after, ranks, unmatched);
    for (communicator, members) in written.members {
        graph.note(communicator, &Some(Arc::from(members)));
    }
    Some(graph)
}
