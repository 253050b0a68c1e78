//! Who waits for what: the answer to a program that does not go on.

pub(crate) mod graph;
mod written;

use crate::CallSite;
use crate::address::{Source, Tag, TagMatch, sender};
use std::fmt;
use std::sync::Arc;

/// Why a run was ended: every rank waited and nothing was in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitReport {
    /// One entry per rank, in rank order.
    pub ranks: Vec<RankState>,
    /// Messages that nobody has received.
    pub unmatched: Vec<Unmatched>,
}

/// A message that nobody has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmatched {
    /// The rank of the world to which it was sent.
    pub dest: usize,
    /// The sender, as the communicator numbers its ranks;
    /// [`Status::NO_RANK`](crate::Status::NO_RANK) when no rank has sent it.
    pub source: usize,
    /// The tag.
    pub tag: Tag,
    /// The number of the communicator; 0 is the world.
    pub communicator: u32,
    /// The type of what it holds.
    pub type_name: &'static str,
    /// Where it was sent.
    pub location: CallSite,
}

/// What a rank was doing when the run was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankState {
    /// It had returned its result.
    Finished,
    /// It waited: one entry for each call it was waiting in (more than one when a rank waits for
    /// several things at once).
    Waiting(Vec<Wait>),
}

/// A call in which a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// What was called.
    pub operation: WaitOperation,
    /// Where it was called.
    pub location: CallSite,
    /// The number of the communicator, whose ranks the operation names; 0 is the world.
    pub communicator: u32,
}

/// A wait, and what a report about several ranks needs to know beside it.
#[derive(Debug, Clone)]
pub struct Why {
    /// The wait.
    pub wait: Wait,
    /// The members of the communicator as ranks of the world; `None`: all ranks in their order.
    pub members: Members,
    /// The ranks of the communicator that have still to send, where the operation does not say it.
    pub peers: Option<Vec<usize>>,
    /// Whether it is a collective that was started beside others.
    pub started: bool,
}

/// Members of a communicator, as ranks of the world; `None` when they are all, in their order.
pub type Members = Option<Arc<[usize]>>;

/// A call that can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitOperation {
    /// Receive a message.
    Recv {
        /// From whom.
        source: Source,
        /// With which tag.
        tag: TagMatch,
    },
    /// Wait until a message has been received.
    Ssend {
        /// To whom it was sent.
        dest: usize,
        /// With which tag.
        tag: Tag,
    },
    /// Wait until fewer messages to a rank are not received than may be.
    Send {
        /// To whom.
        dest: usize,
        /// With which tag.
        tag: Tag,
    },
    /// Wait until a message is there, and leave it there.
    Probe {
        /// From whom.
        source: Source,
        /// With which tag.
        tag: TagMatch,
    },
    /// Wait until the neighbour has room for another message.
    NeighbourRoom {
        /// The neighbour.
        peer: usize,
    },
    /// Receive from a neighbour of a topology.
    Neighbour {
        /// The neighbour.
        peer: usize,
        /// The topology's operation.
        name: &'static str,
    },
    /// A collective of all ranks.
    Collective {
        /// Its name.
        name: &'static str,
        /// Its root, if it has one.
        root: Option<usize>,
    },
}

impl WaitReport {
    /// The report of these ranks and those after them.
    #[must_use]
    pub fn followed_by(mut self, after: WaitReport) -> Self {
        self.ranks.extend(after.ranks);
        self.unmatched.extend(after.unmatched);
        self
    }

    /// Whether there is a rank that waits: where all have finished, the run is only about to end.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        self.ranks.iter().any(|rank| *rank != RankState::Finished)
    }

    /// The report as bytes, for other processes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        written::write(self)
    }

    /// The report of such bytes; `None` if they are no report.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<WaitReport> {
        written::read(bytes)
    }
}

impl WaitOperation {
    /// The operation's name without its arguments.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            WaitOperation::Recv { .. } => "recv",
            WaitOperation::Ssend { .. } => "ssend",
            WaitOperation::Send { .. } => "send",
            WaitOperation::Probe { .. } => "probe",
            WaitOperation::NeighbourRoom { .. } => "send to a neighbour",
            WaitOperation::Neighbour { name, .. } | WaitOperation::Collective { name, .. } => name,
        }
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self
            .ranks
            .iter()
            .filter(|rank| **rank != RankState::Finished)
            .count();
        write!(
            f,
            "stuck: {waiting} of {} ranks wait, the others have finished, and nothing is in flight",
            self.ranks.len()
        )?;
        for (rank, state) in self.ranks.iter().enumerate() {
            write!(f, "\n  rank {rank}: ")?;
            match state {
                RankState::Finished => write!(f, "finished")?,
                RankState::Waiting(waits) => {
                    for (i, wait) in waits.iter().enumerate() {
                        write!(f, "{}{wait}", if i == 0 { "" } else { " and " })?;
                    }
                }
            }
        }
        for message in &self.unmatched {
            write!(f, "\n  not received: {message}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmatched {
            dest, source, tag, ..
        } = self;
        write!(
            f,
            "the message from {} to rank {dest} with tag {tag}",
            sender(*source)
        )?;
        if self.communicator != 0 {
            write!(f, " of communicator {}", self.communicator)?;
        }
        write!(f, ", {}, sent at {}", self.type_name, self.location)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waits in {}", self.operation)?;
        if self.communicator != 0 {
            write!(f, " of communicator {}", self.communicator)?;
        }
        write!(f, " at {}", self.location)
    }
}

impl fmt::Display for WaitOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WaitOperation::Recv { source, tag } | WaitOperation::Probe { source, tag } => {
                write!(f, "{}(", self.name())?;
                match source {
                    Source::Any => f.write_str("any source")?,
                    Source::Rank(rank) => write!(f, "source {rank}")?,
                    Source::Null => f.write_str("no source")?,
                    Source::Outside => f.write_str("from outside")?,
                }
                match tag {
                    TagMatch::Any => f.write_str(", any tag)"),
                    TagMatch::Only(tag) => write!(f, ", tag {tag})"),
                }
            }
            WaitOperation::Ssend { dest, tag } => write!(f, "ssend(dest {dest}, tag {tag})"),
            WaitOperation::Send { dest, tag } => write!(
                f,
                "send(dest {dest}, tag {tag}), which waits for earlier messages to be received"
            ),
            WaitOperation::NeighbourRoom { peer } => {
                write!(f, "send to neighbour {peer}, who does not receive")
            }
            WaitOperation::Neighbour { peer, name } => write!(f, "{name}, for neighbour {peer}"),
            WaitOperation::Collective { name, root: None } => write!(f, "{name}"),
            WaitOperation::Collective {
                name,
                root: Some(root),
            } => write!(f, "{name}(root {root})"),
        }
    }
}
