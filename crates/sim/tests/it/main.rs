//! Tests of `motet-sim` through its public face.

mod errors;
mod phold;
mod queues;
mod random;
mod simulation;
