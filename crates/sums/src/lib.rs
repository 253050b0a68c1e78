//! Sums that have the same bits however the numbers are cut over ranks.
//!
//! - Depends on: nothing of the project.
//! - Used by: `motet-comm`, which sends partial sums between ranks and gives both types on to
//!   programs.
//!
//! ```text
//!  numbers in any order ──► ExactSum  (fixed point, rounded once) ──► the same total
//!  blocks in their order ─► Dyadic    (one binary tree over block numbers) ─► the same total
//! ```
//!
//! | to … | use |
//! |---|---|
//! | add numbers exactly, in any order | [`ExactSum`] |
//! | … column by column of many rows | [`add_columns`], [`ColumnSums`] |
//! | reduce values of any type in one fixed order | [`Dyadic`] |
//!
//! ```
//! use motet_sums::ExactSum;
//!
//! let numbers = [1e100, 1.0, -1e100];
//! assert_eq!(numbers.iter().sum::<f64>(), 0.0);
//! assert_eq!(ExactSum::of(numbers).value(), 1.0);
//! ```
//!
//! Read next: `exact_sum.rs`, `exact_sum/columns.rs`, `dyadic.rs`.

mod dyadic;
mod exact_sum;
mod numbers;

pub use dyadic::Dyadic;
pub use exact_sum::{ColumnSums, ExactSum, Real, add_columns};
