//! The promises of windows, over threads, ports, processes and both.

mod accesses;
mod flushes;
mod killed;
mod locks;
mod model;
#[allow(dead_code, reason = "some of it is for other tests")]
#[path = "../../../comm/tests/it/network.rs"]
mod network;
mod places;
mod worlds;
