//! How a search is to be.

use crate::SearchFault;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to search a tree. All ranks of a communicator search it together; every rank calls the same
/// with the same.
///
/// A rank visits nodes of its piece of the tree, depth first. It gives half of what it has not
/// begun to a rank that asks. Between processes nodes are written by serde; inside of one they are
/// moved.
///
/// Every call is a collective. Its future is dropped on all ranks or on none.
///
/// ```
/// use motet_comm::World;
/// use motet_search::{Search, SearchError, Tree};
///
/// /// Queens on the rows of a board, none of which attacks another.
/// struct Queens {
///     size: u32,
/// }
///
/// impl Tree for Queens {
///     /// The columns of the queens, row by row.
///     type Node = Vec<u32>;
///     fn root(&self) -> Vec<u32> {
///         Vec::new()
///     }
///     fn children(&self, queens: &Vec<u32>, out: &mut Vec<Vec<u32>>) {
///         let row = queens.len() as u32;
///         let free = |column: &u32| {
///             let attacks = |(&other, at): (&u32, u32)| other == *column || other.abs_diff(*column) == row - at;
///             row < self.size && !queens.iter().zip(0..).any(attacks)
///         };
///         out.extend((0..self.size).filter(free).map(|column| [&queens[..], &[column]].concat()));
///     }
/// }
///
/// let (queens, search) = (Queens { size: 8 }, Search::default());
/// let solutions = World::threads(2)
///     .run(async |comm| -> Result<_, SearchError> {
///         let count = |sum: &mut u32, node: &Vec<u32>| *sum += u32::from(node.len() == 8);
///         let all = search.fold(&comm, &queens, || 0, count, |a, b| a + b).await?;
///         let one = search.find(&comm, &queens, |node| node.len() == 8).await?;
///         assert_eq!(one.result.unwrap().path.len(), 8);
///         Ok(all.result)
///     })
///     .unwrap();
/// assert_eq!(solutions, [92, 92]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Which answer is wanted.
    pub order: Order,
    /// What ends the search early.
    pub limits: Limits,
    /// What hears of the progress.
    pub progress: Option<OnProgress>,
    /// What decides whom a rank asks for work.
    pub seed: u64,
    /// For [`Search::play`]: positions whose values each rank remembers. 0: none. A number that a
    /// rank has no room for is a [`SearchFault::Settings`].
    pub table: usize,
}

/// Which of several equally good answers is wanted, and what repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Order {
    /// Any best node. The fastest.
    #[default]
    Any,
    /// The first best node: parents before children, children in their order.
    First,
    /// The first best node; and which nodes are visited depends on the tree and these numbers
    /// alone, not on ranks or time.
    ///
    /// Subtrees are numbered in order. Each knows the best value of those that are `window` or more
    /// before it, and what it finds itself. So `window` ranks may work at a time, and with 1 the
    /// nodes are those of a sequential search.
    Replicable {
        /// How many subtrees are searched at a time, from 1.
        window: usize,
        /// The depth of the roots of the subtrees, from 1.
        split: u32,
    },
}

/// What ends a search early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// So many nodes on all ranks, visited or left out by their bound. Several ranks go on until
    /// they hear of it, and may visit more. A tree of just as many is searched whole.
    pub nodes: u64,
    /// So long on any rank.
    pub time: Duration,
    /// A node deeper than this is an error.
    pub depth: u32,
    /// More nodes than this on one rank at a time are an error. Looked at once in 4096 visits at
    /// least.
    pub held: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            nodes: u64::MAX,
            time: Duration::MAX,
            depth: 1 << 18,
            held: usize::MAX,
        }
    }
}

impl Limits {
    /// Whether the time of a search that began then is over.
    pub(crate) fn is_late(&self, began: Instant) -> bool {
        self.time < Duration::MAX && began.elapsed() > self.time
    }
}

/// Which of the [`Limits`] has ended a search that has a result all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::nodes`].
    Nodes,
    /// [`Limits::time`].
    Time,
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Nodes that were visited, or left out by their bound, on all ranks, as far as rank 0 knows.
    pub nodes: u64,
    /// Since the search began.
    pub elapsed: Duration,
}

/// What hears of the progress, on rank 0.
#[derive(Clone)]
pub struct OnProgress {
    /// How often.
    pub every: Duration,
    /// What is called. To have it in a port, post it there.
    pub tell: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnProgress(every {:?})", self.every)
    }
}

impl Order {
    /// Whether of several best nodes the first is wanted.
    pub(crate) fn is_first(self) -> bool {
        self != Order::Any
    }

    pub(crate) fn check(self) -> Result<(), SearchFault> {
        match self {
            Order::Replicable { window: 0, .. } | Order::Replicable { split: 0, .. } => {
                let problem = "Order::Replicable needs a window and a split depth of 1 or more: \
                               with 0 no subtree could be searched"
                    .to_owned();
                Err(SearchFault::Settings { problem })
            }
            _ => Ok(()),
        }
    }
}
