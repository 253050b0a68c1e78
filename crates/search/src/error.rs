//! What can go wrong in a search.

use motet_comm::CommError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A search ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchError {
    /// The program's tree, or its wish, has ended the search. All ranks get the same.
    Fault(SearchFault),
    /// Ranks cannot reach each other.
    Comm(CommError),
}

/// Why a search was ended. Paths are the numbers of the children from the root, from 0.
///
/// `Display` and `Debug` show the first numbers of a long path, and how long it is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SearchFault {
    /// The program's code panicked.
    Panicked {
        /// Where it ran.
        rank: usize,
        /// The path of the node; empty if it was at none.
        path: Vec<u32>,
        /// Which of the program's functions it was, if it was at no node: `zero`, `join`,
        /// `progress.tell`, or what is compared and cloned.
        call: Option<String>,
        /// What the panic said.
        message: String,
    },
    /// A node has children deeper than [`Limits::depth`](crate::Limits::depth).
    TooDeep {
        /// The rank that has met it.
        rank: usize,
        /// The path of the node.
        path: Vec<u32>,
        /// The limit.
        limit: u32,
    },
    /// A rank holds more nodes than [`Limits::held`](crate::Limits::held).
    TooManyHeld {
        /// The rank.
        rank: usize,
        /// The path of the node whose children were added last.
        path: Vec<u32>,
        /// What it holds.
        held: usize,
        /// The limit.
        limit: usize,
    },
    /// A [`Causality`](motet_dispatch::Causality) under which a rank runs was cancelled.
    Cancelled {
        /// The rank that has noticed it first.
        rank: usize,
        /// Which, and why.
        reason: String,
    },
    /// [`Game::leaf`](crate::Game::leaf) gives no value where it must.
    NoLeaf {
        /// The path of the position.
        path: Vec<u32>,
    },
    /// The dispatcher does not run the search.
    Dispatcher {
        /// Why not.
        problem: String,
    },
    /// Settings that no search can have.
    Settings {
        /// What is wrong, and what to do.
        problem: String,
    },
}

impl fmt::Display for SearchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchFault::Panicked {
                rank,
                call: Some(call),
                message,
                ..
            } => write!(
                f,
                "the program's code panicked on rank {rank} in {call}: {message}"
            ),
            SearchFault::Panicked {
                rank,
                path,
                message,
                ..
            } => write!(
                f,
                "the program's code panicked on rank {rank} at {}: {message}",
                Node(path)
            ),
            SearchFault::TooDeep { rank, path, limit } => write!(
                f,
                "rank {rank} has met a node deeper than the limit of {limit}, below {}: if the tree is finite, \
                 raise `limits.depth`; if a node is among its own descendants, it is not a tree",
                Node(path)
            ),
            SearchFault::TooManyHeld {
                rank,
                path,
                held,
                limit,
            } => write!(
                f,
                "rank {rank} holds {held} nodes at {}, and the limit is {limit}: raise `limits.held`, or have \
                 `children` make fewer",
                Node(path)
            ),
            SearchFault::Cancelled { rank, reason } => {
                write!(f, "the search was cancelled on rank {rank}: {reason}")
            }
            SearchFault::NoLeaf { path } => write!(
                f,
                "`leaf` gives no value for {}, which has depth 0 or no moves: it must return `Some` there",
                Node(path)
            ),
            SearchFault::Dispatcher { problem } => {
                write!(f, "the dispatcher does not run the search: {problem}")
            }
            SearchFault::Settings { problem } => f.write_str(problem),
        }
    }
}

impl fmt::Debug for SearchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchFault::Panicked {
                rank,
                path,
                call,
                message,
            } => f
                .debug_struct("Panicked")
                .field("rank", rank)
                .field("path", &Node(path))
                .field("call", call)
                .field("message", message)
                .finish(),
            SearchFault::TooDeep { rank, path, limit } => f
                .debug_struct("TooDeep")
                .field("rank", rank)
                .field("path", &Node(path))
                .field("limit", limit)
                .finish(),
            SearchFault::TooManyHeld {
                rank,
                path,
                held,
                limit,
            } => f
                .debug_struct("TooManyHeld")
                .field("rank", rank)
                .field("path", &Node(path))
                .field("held", held)
                .field("limit", limit)
                .finish(),
            SearchFault::Cancelled { rank, reason } => f
                .debug_struct("Cancelled")
                .field("rank", rank)
                .field("reason", reason)
                .finish(),
            SearchFault::NoLeaf { path } => {
                f.debug_struct("NoLeaf").field("path", &Node(path)).finish()
            }
            SearchFault::Dispatcher { problem } => f
                .debug_struct("Dispatcher")
                .field("problem", problem)
                .finish(),
            SearchFault::Settings { problem } => f
                .debug_struct("Settings")
                .field("problem", problem)
                .finish(),
        }
    }
}

/// The numbers of a path that are shown.
const SHOWN: usize = 16;

/// A node by its path, of which a long one is cut.
struct Node<'a>(&'a [u32]);

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.0.iter().take(SHOWN));
        if self.0.len() > SHOWN {
            list.entry(&format_args!("… {} in all", self.0.len()));
        }
        list.finish()
    }
}

impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the root");
        }
        let numbers = self.0.iter().take(SHOWN).map(u32::to_string);
        let numbers = numbers.collect::<Vec<_>>().join(".");
        match self.0.len() {
            ..=SHOWN => write!(f, "node {numbers}"),
            depth => write!(f, "node {numbers}… at depth {depth}"),
        }
    }
}

impl std::error::Error for SearchFault {}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchError::Fault(fault) => fault.fmt(f),
            SearchError::Comm(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SearchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SearchError::Fault(fault) => Some(fault),
            SearchError::Comm(error) => Some(error),
        }
    }
}

impl From<SearchFault> for SearchError {
    fn from(fault: SearchFault) -> Self {
        SearchError::Fault(fault)
    }
}

impl From<CommError> for SearchError {
    fn from(error: CommError) -> Self {
        SearchError::Comm(error)
    }
}
