//! Topologies: ranks with neighbours, and the rings between them.

mod cartesian;
mod graph;
mod line;
mod link;
mod neighbourhood;
mod neighbours;
mod parts;
mod ring;

pub use cartesian::{Cartesian, dims_create};
pub use line::Line;
pub use neighbourhood::Neighbourhood;
pub use ring::Ring;
