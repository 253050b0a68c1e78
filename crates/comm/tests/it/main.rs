//! The promises of ranks, on every kind of world.

mod collectives;
mod failures;
mod messages;
mod misuse;
mod stuck;
mod topology;
mod waking;
mod worlds;
