//! Tests through the public interface.

mod checkpoint;
mod chosen;
mod control;
mod data;
mod found;
mod input;
mod invariants;
mod labelled;
mod ranks;
mod sphere;
