//! A robot in a room, made of services: what `motet serve` demonstrates, and an example of all that
//! services do with each other.
//!
//! ```text
//!  /drive ──► /world ── each tenth of a second ──┬─► /bumper ─┐
//!    ▲                                           └─► /laser ──┴─ joined ─► /explorer ──┐
//!    └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The world is a state and a step. Bumper and laser hear of its steps, and the explorer of both:
//! it takes one notification of each, or none. It moves the robot only when it is told to
//! [explore](ExplorerClient::explore). A world in which nothing moves has no steps.
//!
//! - Depends on: what any program that has services uses of this crate, and `motet-ports` for the
//!   join.
//! - Used by: `motet serve`, the example `service_robot`, the tests of calls over bad networks.
//!
//! ```
//! use motet_dispatch::Dispatcher;
//! use motet_service::robot::{self, ExplorerClient};
//! use motet_service::{Fault, Node, Subscribe};
//!
//! let dispatcher = Dispatcher::new(1);
//! # motet_ports::wait_blocking(async {
//! let node = robot::register(Node::builder("robot")).start(&dispatcher)?;
//! let loaded = node.load([robot::MANIFEST]).await?;
//! assert!(loaded.iter().all(|one| one.fault.is_none()));
//! let explorer: ExplorerClient = node.client("/explorer")?;
//! let told = explorer.subscribe(Subscribe::all().operation("sense")).await?;
//! explorer.explore(true).await?;
//! told.recv().await;
//! assert!(explorer.get().await?.sensed > 0);
//! # node.shutdown().await;
//! # Ok::<(), Fault>(())
//! # }).unwrap().unwrap();
//! ```

mod drive;
mod explorer;
mod sensor;
mod world;

pub use drive::*;
pub use explorer::*;
pub use sensor::*;
pub use world::*;

use crate::NodeBuilder;

/// The robot in the middle of its room. The bumper and the laser are known to the explorer by
/// links, the world and the drive by their contracts.
pub const MANIFEST: &str = r#"
[[service]]
type = "wanderer"
at = "/explorer"
partners = { bumper = { link = "bumper" }, laser = { link = "laser" } }

[[service]]
name = "bumper"
type = "sim-bumper"
at = "/bumper"

[[service]]
name = "laser"
type = "sim-laser"
at = "/laser"

[[service]]
type = "sim-drive"
at = "/drive"

[[service]]
type = "sim-world"
at = "/world"
state = { value = { step = 0, x = 5.0, y = 5.0, heading = 0.3, left = 0.0, right = 0.0, touches = false } }
"#;

/// Lets a node make all of them.
pub fn register(node: NodeBuilder) -> NodeBuilder {
    node.register::<SimWorld>()
        .register::<SimDrive>()
        .register::<GentleDrive>()
        .register::<SimBumper>()
        .register::<SimLaser>()
        .register::<Wanderer>()
}
