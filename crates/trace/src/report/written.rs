//! Reports as bytes, for other processes.

use super::{RankState, Unmatched, Wait, WaitOperation, WaitReport};
use crate::CallSite;
use crate::address::{Source, TagMatch};
use crate::known;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Written {
    /// `None` for a rank that has finished.
    ranks: Vec<Option<Vec<WrittenWait>>>,
    unmatched: Vec<WrittenMessage>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WrittenWait {
    operation: WrittenOperation,
    site: WrittenSite,
    communicator: u32,
}

#[derive(Serialize, Deserialize)]
enum WrittenOperation {
    Recv(WrittenSource, Option<u32>),
    Ssend(usize, u32),
    Send(usize, u32),
    Probe(WrittenSource, Option<u32>),
    NeighbourRoom(usize),
    Neighbour(usize, String),
    Collective(String, Option<usize>),
}

#[derive(Serialize, Deserialize)]
enum WrittenSource {
    Any,
    Rank(usize),
    Null,
    Outside,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WrittenMessage {
    dest: usize,
    source: usize,
    tag: u32,
    communicator: u32,
    type_name: String,
    site: WrittenSite,
}

/// File, line, column.
type WrittenSite = (String, u32, u32);

/// The bytes of a report.
pub(super) fn write(report: &WaitReport) -> Vec<u8> {
    let rank = |state: &RankState| match state {
        RankState::Finished => None,
        RankState::Waiting(waits) => Some(waits.iter().map(wait).collect()),
    };
    let written = Written {
        ranks: report.ranks.iter().map(rank).collect(),
        unmatched: report.unmatched.iter().map(message).collect(),
    };
    postcard::to_stdvec(&written).expect("a report can be written")
}

/// The report of such bytes.
pub(super) fn read(bytes: &[u8]) -> Option<WaitReport> {
    let (written, []) = postcard::take_from_bytes::<Written>(bytes).ok()? else {
        return None;
    };
    let rank = |waits: Option<Vec<WrittenWait>>| match waits {
        None => RankState::Finished,
        Some(waits) => RankState::Waiting(waits.iter().map(read_wait).collect()),
    };
    Some(WaitReport {
        ranks: written.ranks.into_iter().map(rank).collect(),
        unmatched: written.unmatched.iter().map(read_message).collect(),
    })
}

pub(super) fn message(message: &Unmatched) -> WrittenMessage {
    WrittenMessage {
        dest: message.dest,
        source: message.source,
        tag: message.tag,
        communicator: message.communicator,
        type_name: message.type_name.to_owned(),
        site: site(message.location),
    }
}

pub(super) fn read_message(message: &WrittenMessage) -> Unmatched {
    Unmatched {
        dest: message.dest,
        source: message.source,
        tag: message.tag,
        communicator: message.communicator,
        type_name: known(&message.type_name),
        location: read_site(&message.site),
    }
}

pub(super) fn wait(wait: &Wait) -> WrittenWait {
    let operation = match wait.operation {
        WaitOperation::Recv { source, tag } => {
            WrittenOperation::Recv(write_source(source), write_tag(tag))
        }
        WaitOperation::Ssend { dest, tag } => WrittenOperation::Ssend(dest, tag),
        WaitOperation::Send { dest, tag } => WrittenOperation::Send(dest, tag),
        WaitOperation::Probe { source, tag } => {
            WrittenOperation::Probe(write_source(source), write_tag(tag))
        }
        WaitOperation::NeighbourRoom { peer } => WrittenOperation::NeighbourRoom(peer),
        WaitOperation::Neighbour { peer, name } => {
            WrittenOperation::Neighbour(peer, name.to_owned())
        }
        WaitOperation::Collective { name, root } => {
            WrittenOperation::Collective(name.to_owned(), root)
        }
    };
    WrittenWait {
        operation,
        site: site(wait.location),
        communicator: wait.communicator,
    }
}

pub(super) fn read_wait(written: &WrittenWait) -> Wait {
    let operation = match &written.operation {
        WrittenOperation::Recv(source, tag) => WaitOperation::Recv {
            source: read_source(source),
            tag: tag.map_or(TagMatch::Any, TagMatch::Only),
        },
        &WrittenOperation::Ssend(dest, tag) => WaitOperation::Ssend { dest, tag },
        &WrittenOperation::Send(dest, tag) => WaitOperation::Send { dest, tag },
        WrittenOperation::Probe(source, tag) => WaitOperation::Probe {
            source: read_source(source),
            tag: tag.map_or(TagMatch::Any, TagMatch::Only),
        },
        &WrittenOperation::NeighbourRoom(peer) => WaitOperation::NeighbourRoom { peer },
        WrittenOperation::Neighbour(peer, name) => WaitOperation::Neighbour {
            peer: *peer,
            name: known(name),
        },
        WrittenOperation::Collective(name, root) => WaitOperation::Collective {
            name: known(name),
            root: *root,
        },
    };
    Wait {
        operation,
        location: read_site(&written.site),
        communicator: written.communicator,
    }
}

fn write_source(source: Source) -> WrittenSource {
    match source {
        Source::Any => WrittenSource::Any,
        Source::Rank(rank) => WrittenSource::Rank(rank),
        Source::Null => WrittenSource::Null,
        Source::Outside => WrittenSource::Outside,
    }
}

fn read_source(written: &WrittenSource) -> Source {
    match *written {
        WrittenSource::Any => Source::Any,
        WrittenSource::Rank(rank) => Source::Rank(rank),
        WrittenSource::Null => Source::Null,
        WrittenSource::Outside => Source::Outside,
    }
}

fn write_tag(tag: TagMatch) -> Option<u32> {
    match tag {
        TagMatch::Any => None,
        TagMatch::Only(tag) => Some(tag),
    }
}

fn site(site: CallSite) -> WrittenSite {
    (site.file().to_owned(), site.line(), site.column())
}

fn read_site((file, line, column): &WrittenSite) -> CallSite {
    CallSite::new(known(file), *line, *column)
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn what_is_written_is_read() {
        let location = CallSite::from(Location::caller());
        let wait = |operation| Wait {
            operation,
            location,
            communicator: 3,
        };
        let (source, tag) = (Source::Rank(4), TagMatch::Only(9));
        let waits = vec![
            wait(WaitOperation::Recv { source, tag }),
            wait(WaitOperation::Recv {
                source: Source::Null,
                tag,
            }),
            wait(WaitOperation::Probe {
                source: Source::Any,
                tag: TagMatch::Any,
            }),
            wait(WaitOperation::Ssend { dest: 1, tag: 2 }),
            wait(WaitOperation::Send { dest: 3, tag: 4 }),
            wait(WaitOperation::NeighbourRoom { peer: 5 }),
            wait(WaitOperation::Neighbour {
                peer: 6,
                name: "shift_left",
            }),
            wait(WaitOperation::Collective {
                name: "gather",
                root: Some(7),
            }),
        ];
        let unmatched = Unmatched {
            dest: 1,
            source: 2,
            tag: 3,
            communicator: 4,
            type_name: "u8",
            location,
        };
        let report = WaitReport {
            ranks: vec![RankState::Finished, RankState::Waiting(waits)],
            unmatched: vec![unmatched],
        };
        assert_eq!(read(&write(&report)), Some(report));
        assert_eq!(read(&[200]), None);
    }
}
