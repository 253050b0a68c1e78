//! Ranks that talk: communicators, point-to-point messages and collectives.
mod communicator;
mod error;
mod reproducible;
mod world;
pub use communicator::Communicator;
pub use error::{CommError, RunError};
pub use reproducible::Dyadic;
pub use world::World;
