//! Trees with known answers: to test searches by, to measure them, and to see how a problem is written.
//!
//! - Depends on: `motet-search`; `sha1` for the trees of UTS.
//! - Used by: the tests of `motet-search`, the benchmarks, the examples of the facade.
//!
//! ```text
//!   Tree      Queens, Uts                                  fold, find
//!   Bounded   Graph, Knapsack, Tour, Golomb, Fifteen       maximise, minimise, deepen
//!   Game      ConnectFour, TicTacToe                       play
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
mod queens;
mod tour;
mod uts;

pub use clique::{Clique, Graph};
pub use connect_four::{ConnectFour, Stones, TicTacToe};
pub use fifteen::{Fifteen, Position};
pub use golomb::{Golomb, Ruler};
pub use knapsack::{Knapsack, Packed};
pub use queens::{Queens, Rows};
pub use tour::{Tour, Way};
pub use uts::{Shape, State, Uts};
