//! What can go wrong between ranks.

use crate::address::{Tag, sender};
use crate::report::WaitReport;
use motet_dispatch::Exception;
use motet_values::LayoutError;
use std::any::Any;
use std::fmt;

/// A communication call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommError {
    /// There is no such rank in this world.
    NoSuchRank {
        /// The rank asked for.
        rank: usize,
        /// The number of ranks; they are numbered from 0.
        size: usize,
    },
    /// The message that matched holds another type. It stays where it is: receive it as that type.
    WrongType {
        /// The sender of the message.
        source: usize,
        /// Its tag.
        tag: Tag,
        /// The type that was asked for.
        wanted: &'static str,
        /// The type of the message.
        found: &'static str,
    },
    /// The message that matched came from another process, and what serde has written there it
    /// cannot read here. The message stays where it is.
    Unreadable {
        /// The sender of the message.
        source: usize,
        /// Its tag.
        tag: Tag,
        /// The type of the message.
        type_name: &'static str,
        /// What serde says.
        reason: String,
    },
    /// A value cannot go to a rank of another process: serde cannot write it, or it is a
    /// [`Local`](crate::Local).
    Unportable {
        /// The type of the value.
        type_name: &'static str,
        /// What serde says.
        reason: String,
    },
    /// As many messages of this rank to that one as [`World::limit`](crate::World::limit) allows
    /// have not been received. Nothing was sent.
    Full {
        /// To whom.
        dest: usize,
        /// How many they are.
        messages: usize,
    },
    /// A receive by value from the null process, which sends nothing.
    NullSource,
    /// The message that matched has more elements than there is room for. It stays where it is.
    Truncated {
        /// The sender of the message.
        source: usize,
        /// Its tag.
        tag: Tag,
        /// The number of its elements.
        length: usize,
        /// The number of elements that fit.
        room: usize,
    },
    /// Arguments of a call do not fit each other or the communicator.
    Arguments {
        /// The operation and what is wrong.
        problem: String,
    },
    /// Ranks met in different collectives.
    Mismatch {
        /// What one rank called: rank, operation, call site.
        one: String,
        /// What another rank called at the same time.
        other: String,
    },
    /// The root passed nothing to give to the others, or a rank that is not the root did.
    Root {
        /// The operation and what is wrong with its arguments.
        problem: String,
    },
    /// An earlier call of this rank on the same communicator or topology did not end well. It was
    /// given up before it had ended (its future was dropped), or failed half-way. So this rank is
    /// out of step with the others.
    OutOfStep {
        /// The operation that cannot be done.
        operation: &'static str,
    },
    /// The neighbour has dropped its ring or line and goes on without it.
    Gone {
        /// The neighbour.
        peer: usize,
        /// The operation that cannot be done.
        operation: &'static str,
    },
    /// A rank has left a collective that needs it to its end: it has dropped its call, or that has
    /// failed there. This rank is out of step then.
    Left {
        /// The rank that has left.
        peer: usize,
        /// The collective.
        operation: &'static str,
    },
}

/// A run ended without all results.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// A rank returned an error.
    Rank {
        /// The rank.
        rank: usize,
        /// Its error.
        error: E,
    },
    /// A rank panicked.
    Panicked {
        /// The rank.
        rank: usize,
        /// What the panic said.
        message: String,
    },
    /// Every rank waited and nothing was in flight.
    Stuck(WaitReport),
    /// The operating system refused to start the threads.
    Start(std::io::Error),
    /// A rank of another process has failed; there the run ends with its error.
    Elsewhere {
        /// The process.
        process: usize,
        /// What it says.
        message: String,
    },
    /// A process is gone that should be there: it was killed, or has ended without ending the run.
    Lost {
        /// The process.
        process: usize,
        /// How that was found.
        reason: String,
    },
    /// Processes have not come to the run in time ([`World::patience`](crate::World::patience)).
    Silent {
        /// Those that are missing.
        processes: Vec<usize>,
        /// How long they were waited for.
        waited: std::time::Duration,
    },
    /// What carries messages between processes has failed.
    Transport {
        /// What it says.
        reason: String,
    },
}

impl<E> RunError<E> {
    pub(crate) fn panicked(rank: usize, payload: Box<dyn Any + Send>) -> Self {
        let message = Exception::new(payload, "ranks").message().to_owned();
        RunError::Panicked { rank, message }
    }
}

impl fmt::Display for CommError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommError::NoSuchRank { rank, size } => {
                write!(
                    f,
                    "there is no rank {rank}: the world has {size}, numbered from 0"
                )
            }
            CommError::WrongType {
                source,
                tag,
                wanted,
                found,
            } => write!(
                f,
                "the message from {} with tag {tag} holds {found}, not {wanted}; \
                 receive it as {found}",
                sender(*source)
            ),
            CommError::Unreadable {
                source,
                tag,
                type_name,
                reason,
            } => write!(
                f,
                "the message from {} with tag {tag}, {type_name} from another process, cannot \
                 be read: {reason}; its Deserialize must read what its Serialize writes",
                sender(*source)
            ),
            CommError::Unportable { type_name, reason } => {
                write!(f, "{type_name} cannot go to another process: {reason}")
            }
            CommError::Mismatch { one, other } => write!(
                f,
                "ranks met in different collectives: {one}, but {other}; all ranks must call the \
                 same ones in the same order"
            ),
            CommError::Full { dest, messages } => write_full(f, *dest, *messages),
            CommError::NullSource => f.write_str(
                "nothing comes from the null process; receive from it with recv_into or \
                 sendrecv_replace, which leave what is there",
            ),
            CommError::Truncated {
                source,
                tag,
                length,
                room,
            } => write!(
                f,
                "the message from {} with tag {tag} has {length} elements, and there is \
                 room for {room}; probe tells the length before",
                sender(*source)
            ),
            CommError::Root { problem } | CommError::Arguments { problem } => f.write_str(problem),
            CommError::OutOfStep { operation } => write!(
                f,
                "{operation} is not possible: an earlier collective call of this rank was dropped \
                 before it ended, or has failed"
            ),
            CommError::Gone { peer, operation } => write_gone(f, *peer, operation),
            CommError::Left { peer, operation } => write_left(f, *peer, operation),
        }
    }
}

fn write_gone(f: &mut fmt::Formatter<'_>, peer: usize, operation: &str) -> fmt::Result {
    write!(
        f,
        "{operation} is not possible: rank {peer} has dropped its end; all ranks must take the \
         same steps before they drop a ring or line"
    )
}

fn write_left(f: &mut fmt::Formatter<'_>, peer: usize, operation: &str) -> fmt::Result {
    write!(
        f,
        "{operation} has not ended: rank {peer} has left it before its end; all ranks must wait \
         for the end of their calls"
    )
}

fn write_full(f: &mut fmt::Formatter<'_>, dest: usize, messages: usize) -> fmt::Result {
    write!(
        f,
        "rank {dest} has not received {messages} messages of this rank, as many as there may be; \
         let it receive, or let sends wait: SendOverflow::Wait"
    )
}

impl std::error::Error for CommError {}

impl From<LayoutError> for CommError {
    /// [`CommError::Arguments`].
    fn from(error: LayoutError) -> Self {
        let problem = error.to_string();
        CommError::Arguments { problem }
    }
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Rank { rank, error } => write!(f, "rank {rank}: {error}"),
            RunError::Panicked { rank, message } => write!(f, "rank {rank} panicked: {message}"),
            RunError::Stuck(report) => write!(f, "{report}"),
            RunError::Start(error) => write!(f, "the ranks' threads could not be started: {error}"),
            RunError::Elsewhere { process, message } => write!(f, "process {process}: {message}"),
            RunError::Lost { process, reason } => write!(f, "process {process} is lost: {reason}"),
            RunError::Silent { processes, waited } => write!(
                f,
                "processes {processes:?} have not come within {waited:.1?}: all must run as many worlds"
            ),
            RunError::Transport { reason } => {
                write!(f, "messages between processes have failed: {reason}")
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for RunError<E> {}
