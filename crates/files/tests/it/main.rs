//! The promises of files, over threads, processes and both.

mod drafts;
mod model;
#[allow(dead_code, reason = "some of it is for other tests")]
#[path = "../../../comm/tests/it/network.rs"]
mod network;
mod places;
