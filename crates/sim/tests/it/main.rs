//! Tests of `motet-sim` through its public face.

mod errors;
/// A network through memory, which the tests of `motet-comm` have.
#[allow(dead_code, reason = "those tests use more of it")]
#[path = "../../../comm/tests/it/network.rs"]
mod network;
mod outside;
mod parts;
mod phold;
mod queues;
mod random;
mod reports;
mod simulation;
mod stores;
