//! Collectives: calls that all ranks of a communicator make together, in the same order. One file
//! each.
//!
//! Every one has up to two forms: `x` takes and gives any value, `x_into` copies slices of plain
//! numbers to where they shall be. A call is awaited, or [started](crate::CollectiveCall::start),
//! so that several may be under way at once. A form meets the same form only.
//!
//! # How they are done
//!
//! | ranks | way | messages on the longest way |
//! |---|---|---|
//! | 1 | none: the rank is alone | 0 |
//! | any, on `ports` | one port gathers an item per rank; whoever reads first combines them in rank order | 1 post and one store of the number |
//! | any, on `threads` | a tree of nodes with eight children, over cache lines; the last to arrive at a node combines, in rank order, and climbs; the last of all makes the total and publishes it once | log₈ P arrivals and one store of the number |
//! | 2, on `threads`, barriers | each shows the number of the collective in a line of its own, and looks for it in the other's line (`fabric/flag_barrier.rs`) | one line each way |
//! | any, in several processes, awaited, long slices | they meet without their numbers, which go beside the collective, piece by piece, to the ranks that need them (`schedule.rs`, `exchange.rs`); where ranks have different numbers of elements they meet with the counts first (`counted.rs`) | one, and the pieces; two |
//! | any, in a process each, awaited reductions of long slices | the same: each rank combines a share of the places, and its totals go to who wants them | one, and the pieces twice |
//! | any, on `threads`, awaited reductions of long slices | each rank combines its share of the places, and takes the others' totals | twice that |
//!
//! What is made of the total depends on the call. `allreduce` and `broadcast` leave one value that
//! everyone reads. `scan`, `scatter`, `alltoall` and `reduce_scatter` lay a part out for each rank,
//! which takes it. The size of the values changes nothing, since they are moved and not sent: there
//! are no messages to cut up. Numbers of slices are copied into buffers of the rank's pool
//! (`buffer_pool.rs`), and from there to where they shall be.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod counted;
mod exscan;
mod gather;
mod rank_parts;
mod reduce;
mod reduce_scatter;
mod reproducible_sum;
mod scan;
mod scatter;
mod shares;

pub(crate) use rank_parts::copy;
