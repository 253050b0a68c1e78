//! The promises of ranks, on every kind of world.

mod collectives;
mod failures;
mod gone;
mod messages;
mod misuse;
mod scripts;
mod stress;
mod stuck;
mod topology;
mod waking;
mod worlds;
