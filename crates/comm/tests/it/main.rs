//! The promises of ranks, on every kind of world.

mod causalities;
mod collectives;
mod communicators;
mod coverage;
mod failures;
mod forms;
mod giving_up;
mod gone;
mod grids;
mod lengths;
mod long_vectors;
mod messages;
mod misuse;
mod network;
mod processes;
mod profiles;
mod requests;
mod scripts;
mod slices;
mod stress;
mod stuck;
mod topology;
mod values;
mod waking;
mod watching;
mod worlds;
