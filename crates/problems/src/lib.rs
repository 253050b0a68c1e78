//! Trees and models with known answers: to test searches and simulations by, to measure them, and
//! to see how they are written.
//!
//! - Depends on: `motet-search`, `motet-sim`; `sha1` for the trees of UTS.
//! - Used by: the tests of those two, the benchmarks, the examples of the facade.
//!
//! ```text
//!   Tree      Queens, Uts                                  fold, find
//!   Bounded   Graph, Knapsack, Tour, Golomb, Fifteen       maximise, minimise, deepen
//!   Game      ConnectFour, TicTacToe                       play
//!   Logical   Phold, Queues                                simulation
//! ```
//!
//! ```
//! use motet_problems::Queens;
//! use motet_search::Tree;
//!
//! let queens = Queens { size: 8 };
//! assert_eq!(queens.plain(queens.root()), [92, 2057]);
//! ```
//!
//! Read next: `queens.rs` (the shortest), `knapsack.rs` (a bound), `connect_four.rs` (a game).
#![forbid(unsafe_code)]

mod clique;
mod connect_four;
mod fifteen;
mod golomb;
mod knapsack;
mod phold;
mod queens;
mod queue;
mod tour;
mod uts;

pub use clique::{Clique, Graph};
pub use connect_four::{ConnectFour, Stones, TicTacToe};
pub use fifteen::{Fifteen, Position};
pub use golomb::{Golomb, Ruler};
pub use knapsack::{Knapsack, Packed};
pub use phold::{Phold, PholdProcess, PholdSum};
pub use queens::{QueenRows, Queens};
pub use queue::{AtQueue, QueueProcess, Queues, UNIT};
pub use tour::{PartialTour, Tour};
pub use uts::{Shape, Uts, UtsNode};
