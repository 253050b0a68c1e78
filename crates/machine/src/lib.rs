//! What a machine offers: its cores, caches, memory and limits, and how long its threads take to
//! reach each other.
//!
//! - Depends on: `motet-sync`.
//! - Used by: the command line (`motet doctor`) and the experiments, which measure against it.
//!
//! ```text
//!  the system's files, programs ──► system   cores, caches, memory, limits: what it says
//!  the cores themselves ──────────► limits   round trips, wake-ups, copies: what a clock says
//! ```
//!
//! | to … | use |
//! |---|---|
//! | ask the system what there is | [`system`] |
//! | measure what messages cannot be faster than | [`limits`] |
//!
//! ```
//! use motet_machine::{limits, system::Cores};
//!
//! assert!(Cores::here().usable >= 1);
//! assert!(limits::spawn_us() > 0.0);
//! ```
//!
//! Read next: [`limits`].

pub mod limits;
pub mod system;
