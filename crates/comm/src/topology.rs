//! Topologies: ranks with neighbours, and the lanes between them.

mod line;
mod neighbours;
mod ring;

pub use line::Line;

pub use ring::Ring;
