//! Locks, conditions, parking, backoff, cells and numbers, as the other crates use them.
#![cfg(not(motet_loom))]

mod lock;
mod park;
mod small;
