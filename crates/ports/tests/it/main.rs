//! What ports promise, test by test.
//!
//! `ccr_NNN` is behaviour NNN of the reference that the project started from, `sem_gNN` a promise
//! of `docs/SEMANTICS.md`; where the two differ the test shows motet's rule.

mod support;

mod awaited;
mod batches;
mod bounds;
mod bridges;
mod broadcast;
mod causality;
mod choice;
mod choice_under_load;
mod close;
mod cost;
mod counters;
mod direct_delivery;
mod effects;
mod ends;
mod gather;
mod histories;
mod interleave;
mod iterators;
mod join;
mod join_of_many;
mod join_under_load;
mod limited;
mod model;
mod own;
mod parallel_loop;
mod pile;
mod port;
mod port_sets;
mod programs;
mod receive;
mod refusals;
mod replay;
mod replies;
mod reports;
mod select;
mod streams;
mod timeout;
mod timer;
mod waiting;
mod wakers;
