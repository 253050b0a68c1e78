//! Links by zenoh on loopback: who gets in, and what comes.

mod doors;
mod links;
mod nodes;
