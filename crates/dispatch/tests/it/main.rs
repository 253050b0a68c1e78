//! What queues and dispatchers promise: `docs/SEMANTICS.md`, G34, G35, G37 to G44.
#![cfg(not(motet_loom))]

mod calls;
mod cancel;
mod causality;
mod clock;
mod conservation;
mod cores;
mod fairness;
mod futures;
mod handle;
mod home;
mod idle;
mod inline;
mod join_handle;
mod order;
mod panics;
mod policed;
mod policy;
mod queue;
mod replay;
mod replay_policies;
mod room;
mod spin_wait;
mod stealing;
mod stop;
mod support;
mod suspend;
mod threads;
#[cfg(feature = "tracing")]
mod tracing;
