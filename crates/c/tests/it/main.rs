//! The interface as programs in C use it: each is compiled with the header and the library, and
//! run.
//!
//! The programs stand in `tests/c`, one for each promise, and check themselves; the examples are
//! run too. What needs a C compiler has `needs_cc` in its name.

mod cc;
mod examples;
mod header;
mod installed;
mod processes;
mod programs;
mod same_bits;
