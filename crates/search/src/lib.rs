//! Tree search: ranks that walk one tree together, and know the best value that any of them has
//! found.
//!
//! The program gives the root and the children of each node. Nobody has to know how large subtrees
//! are: a rank without work gets half of what another one has not begun. The same program runs on
//! one rank, on threads and on processes.
//!
//! - **Depends on**: `motet-comm`; `motet-dispatch`, `motet-sync` for searches without ranks.
//! - **Used by**: the facade, `motet-problems`, the experiments.
//!
//! ```text
//!   Tree ───► fold, find                 rank 0          rank 1          rank 2
//!   Bounded ► maximise, minimise        ┌───────┐ piece ┌───────┐ piece ┌───────┐
//!             deepen                    │ walk  │◄─────►│ walk  │◄─────►│ walk  │
//!   Game ───► play                      └───────┘ better└───────┘ value └───────┘
//! ```
//!
//! | you want … | call |
//! |---|---|
//! | to count, or to combine all nodes | [`Search::fold`] |
//! | one node | [`Search::find`] |
//! | the best node, and there is a bound | [`Search::maximise`], [`Search::minimise`] |
//! | the nearest solution, in memory for one path | [`Search::deepen`] |
//! | the value of a game of two | [`Search::play`] |
//! | the same nodes in each run | [`Order::Replicable`] |
//! | no ranks, but the workers of a dispatcher | [`Search::on`] |
//!
//! Read next: [`Search`] (an example), [`Tree`], then `walk.rs` (one rank), `balance.rs` (how ranks
//! share), `on_dispatcher.rs`, `replicable.rs`, `play.rs`.
#![forbid(unsafe_code)]

mod balance;
mod best;
mod deepen;
mod error;
mod fold;
mod job;
mod link;
mod on_dispatcher;
mod outcome;
mod path;
mod play;
mod replicable;
mod search;
mod settings;
mod table;
mod tally;
mod tree;
mod walk;
mod wanted;
mod worker;

pub use best::Best;
pub use error::{SearchError, SearchFault};
pub use on_dispatcher::OnDispatcher;
pub use outcome::{Outcome, RankReport, Report};
pub use play::Play;
pub use settings::{Limit, Limits, OnProgress, Order, Progress, Search};
pub use tree::{Bounded, Game, Tree};
