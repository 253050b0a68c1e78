//! The promises of ranks, on every kind of world.

mod collectives;
mod communicators;
mod failures;
mod forms;
mod gone;
mod grids;
mod messages;
mod misuse;
mod network;
mod requests;
mod scripts;
mod stress;
mod stuck;
mod topology;
mod values;
mod waking;
mod worlds;
