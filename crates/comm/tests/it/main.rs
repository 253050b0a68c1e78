//! The promises of ranks, on every kind of world.

mod collectives;
mod messages;
mod worlds;
