//! Links by zenoh on loopback: who gets in, and what comes.

mod doors;
mod kills;
#[cfg(target_os = "linux")]
mod laws;
mod links;
#[cfg(target_os = "linux")]
mod machines;
mod nodes;
mod passes;
mod stalls;
mod twins;
