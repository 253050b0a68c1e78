//! Ranks that talk: communicators, point-to-point messages and collectives.
mod communicator;
mod error;
mod world;
pub use communicator::Communicator;
pub use error::{CommError, RunError};
pub use world::World;
