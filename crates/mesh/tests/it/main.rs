//! What the crate promises, by number of the promise.

mod beyond_log;
mod calls;
mod classes;
mod copied_logs;
mod dropped;
mod durable;
mod endings;
mod fussy;
mod here;
mod kills;
mod links;
mod mixed_steps;
mod model;
mod nodes;
mod observers;
mod overlay;
mod remote_ports;
mod rights;
mod sample_causalities;
