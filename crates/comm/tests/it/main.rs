//! The promises of ranks, on every kind of world.

mod collectives;
mod failures;
mod messages;
mod topology;
mod worlds;
