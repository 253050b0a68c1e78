//! What queues and dispatchers promise: `docs/SEMANTICS.md`, G16 to G25.
#![cfg(not(motet_loom))]

mod fairness;
mod home;
mod order;
mod panics;
mod queue;
mod stealing;
mod stop;
mod support;
mod suspend;
