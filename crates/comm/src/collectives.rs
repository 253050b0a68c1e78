//! Collectives: calls that all ranks make together, in the same order. One file each.

mod allgather;
mod allreduce;
mod barrier;
mod broadcast;
mod gather;
mod reduce;
mod scatter;
