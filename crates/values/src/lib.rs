//! Values on their way: what may be sent, as which bytes, and the memory in which it changes hands.
//!
//! Who sends and who receives are threads or processes that somebody else has numbered, and has
//! wait and wake. Here is what they hand over.
//!
//! - Depends on: `motet-sync`.
//! - Used by: `motet-comm`, for messages and collectives of ranks, which gives the types of the
//!   first two rows on to programs; `motet-mpi`, for long copies.
//!
//! ```text
//!                      ┌─ a small value ──► AnyLetter, in the message itself ─┐
//!  Value ── in a process ─ a long slice ──► lend: both copy it ───────────────┼──► receiver
//!    │                 ├─ to neighbours ──► RingEnds: slots in turn ──────────┤
//!    │                 └─ many, or parts ─► BufferPool: memory used again ────┘
//!    └──── between processes ── wire::encode ──► bytes ──► wire::decode ──► receiver
//! ```
//!
//! | to … | use |
//! |---|---|
//! | say what may be sent | [`Value`], [`Plain`]; [`Local`] for what stays in its process |
//! | name elements of an array that do not lie in a row | [`Layout`] |
//! | write a value as bytes, and read it | [`wire::encode`], [`wire::decode`] |
//! | keep a value of any type in a fixed room | [`any_cell::AnyCell`], [`any_cell::AnyLetter`] |
//! | use memory for copies of numbers again | [`buffer_pool::BufferPool`] |
//! | have sender and receiver copy a slice together | [`rendezvous_copy::lend`] |
//! | pass messages between two neighbours | [`ring::RingEnds`] |
//! | keep numbers where several processes use them | [`shared_numbers::SharedNumbers`] |
//! | copy what is larger than the caches | [`non_temporal::copy_piece`] |
//!
//! ```
//! use motet_values::{Layout, wire};
//!
//! // A column of a matrix, as bytes and back.
//! let matrix = [1.0, 2.0, 3.0, 4.0];
//! let column = Layout::vector(2, 1, 2)?.gather(&matrix)?;
//! let mut bytes = Vec::new();
//! wire::encode(&column, &mut bytes).unwrap();
//! assert_eq!(wire::decode::<Vec<f64>>(&bytes), Ok(vec![1.0, 3.0]));
//! # Ok::<(), motet_values::LayoutError>(())
//! ```
//!
//! Read next: `value.rs`, `wire.rs`, `any_cell.rs`, `ring.rs`, `rendezvous_copy.rs`.

pub mod any_cell;
pub mod buffer_pool;
pub mod non_temporal;
pub mod rendezvous_copy;
pub mod ring;
pub mod shared_numbers;
pub mod wire;

mod layout;
mod plain;
mod value;

pub use layout::{Layout, LayoutError};
pub use plain::Plain;
pub use value::{Local, Value};
