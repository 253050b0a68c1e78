//! Links of a mesh between processes and machines, by [zenoh](https://zenoh.io).
//!
//! ```text
//!   motet_mesh::Node ─► Carrier: Zenoh ─► Link: sessions, numbers, seals ─► zenoh: TLS, routing, liveliness
//! ```
//!
//! - **Depends on**: `motet-mesh` (the trait [`Carrier`](motet_mesh::Carrier)), `motet-ports`,
//!   `motet-dispatch`, `motet-sync`; zenoh; `rcgen` and `ring` for keys.
//! - **Used by**: `motet mesh`, with the feature `mesh` of the program.
//!
//! Safe without settings: mutual TLS with certificates of the mesh's own authority, and frames
//! sealed besides. There is no search for others by multicast, and loopback alone where there is no
//! [`RunKey`].
//!
//! zenoh 1.10's own TLS link is not sound under load in both directions. This workspace puts a
//! mended one in its place; a workspace of yours needs the same `[patch.crates-io]`: see
//! `third-party/README.md`.
//!
//! | you want … | use |
//! |---|---|
//! | processes that `motet run` has started | [`ZenohConfig::of_run`], or a name alone |
//! | processes of one user on one machine | [`ZenohConfig::rendezvous`] |
//! | machines whose addresses are known | [`ZenohConfig::known`], [`ZenohConfig::listen`] and a [`RunKey`] |
//! | to hear which of those have not answered | [`Zenoh::known_addresses`] |
//! | nodes that reach each other by way of others | [`ZenohConfig::routes`] |
//! | a node that may do some things only | a [`MeshPass`], in place of the key |
//! | to find nodes in a local network | [`ZenohConfig::multicast`] and a [`RunKey`] |
//!
//! Read next: [`Zenoh`] (an example), `link.rs` (what a link is), `config.rs` (what zenoh is told),
//! `carrier.rs`.
#![forbid(unsafe_code)]

mod carrier;
mod certificates;
mod claim;
mod config;
mod error;
mod grant;
mod identity;
mod interfaces;
mod key;
mod known;
mod link;
mod links;
mod membership;
mod pass;
mod rendezvous;
mod run;
mod seal;
mod token;

pub use carrier::Zenoh;
pub use config::ZenohConfig;
pub use error::MeshJoinError;
pub use interfaces::Interface;
pub use key::{KeyFileError, RunKey};
pub use known::{KnownAddresses, NotReached};
pub use pass::{MeshPass, MeshPassConfig};
pub use rendezvous::RendezvousFolder;
pub use run::RUN_FOLDER;
