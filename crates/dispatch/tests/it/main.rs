//! What queues and dispatchers promise: `docs/SEMANTICS.md`, G16 to G25.
#![cfg(not(motet_loom))]

mod order;
mod panics;
mod queue;
mod stop;
mod support;
mod suspend;
