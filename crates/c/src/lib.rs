//! The C interface: ports, handlers and ranks for programs in C, and in all that calls C.
//!
//! - Depends on: the facade `motet`, `motet-sync`; `bytemuck` for aligned bytes.
//! - Used by: programs in C, by `include/motet.h` and `libmotet.so` or `libmotet.a`.
//!
//! ```text
//!  C ── motet.h ──► border/: arguments, handles, panics     one function of C each
//!                      │
//!                      ├─► foreign/: memory and functions that stay beyond the call
//!                      ▼
//!        plan (arbiters)   rank, run (blocking ranks)   numbers (sums)   error (codes, texts)
//!                      │
//!                      ▼
//!                    motet
//! ```
//!
//! No panic leaves a function: it becomes `MOTET_PANICKED`. A rank blocks its own thread; `run`
//! sees when all of them sleep, which is a stuck run.
//!
//! Read next: `include/motet.h`, then `border/calls.rs` and `run.rs`.

mod border;
mod error;
mod foreign;
mod numbers;
mod plan;
mod rank;
mod run;
