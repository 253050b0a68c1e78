//! Windows: numbers of a rank that the others read, write and lock without it (MPI-3.1, chapter
//! 11).
//!
//! A message needs two that call; an access to a window needs one. What is irregular becomes short
//! by it. Examples are a counter that all draw from, a table that lies over all ranks, cells of
//! neighbours on a grid.
//!
//! - Depends on: `motet-comm`, of whose public calls it is made; `motet-sync`.
//! - Used by: the facade, the experiments.
//!
//! ```text
//!  rank 0               rank 1, here or beside            rank 2, on another machine
//!  put(1, ..) ────────► memory                            ┌► memory
//!  put(2, ..) ──────────────────── message ─► delegate ───┘   (the rank may compute)
//!  fence ◄────────────► fence ◄─────────────────────────────► fence
//! ```
//!
//! The numbers of a window lie in its rank's process, or, if all its processes share memory, in
//! that. Then nothing is sent.
//!
//! ```text
//!            accesses ─► WindowMemory ─┬─ Here: a lock, a `Vec`
//!                                      └─ Shared: a lock, numbers that all processes map
//! ```
//!
//! | to … | use | in MPI |
//! |---|---|---|
//! | make a window of a `Vec`, and get it back | [`Window::create`], [`Window::free`] | `MPI_Win_create` … |
//! | look at the own numbers | [`Window::with`], [`Window::with_mut`] | loads and stores |
//! | write, read | [`Window::put`], [`Window::get`] | `MPI_Put`, `MPI_Get` |
//! | combine | [`Window::accumulate`], [`Window::fetch_and_op`] | `MPI_Accumulate` … |
//! | swap if it is as expected | [`Window::compare_and_swap`] | `MPI_Compare_and_swap` |
//! | have all done what they do, all ranks together | [`Window::fence`] | `MPI_Win_fence` |
//! | … some ranks with some | [`Window::post`], [`Window::start`] | `MPI_Win_post` … |
//! | … one rank alone | [`Window::lock`], [`Window::flush`] | `MPI_Win_lock` … |
//!
//! An operation needs no epoch: it goes at once. A fence, flush or unlock says when it is done at
//! the other one.
//!
//! ```
//! use motet_comm::World;
//! use motet_window::{Window, WindowError};
//!
//! // Each rank has a cell, with one more on each side for copies of its neighbours'.
//! let got = World::threads(4)
//!     .run(async |comm| -> Result<_, WindowError> {
//!         let (rank, size) = (comm.rank(), comm.size());
//!         let cells = Window::create(&comm, vec![0, rank, 0]).await?;
//!         cells.put((rank + 1) % size, 0, &[rank]).await?;
//!         cells.put((rank + size - 1) % size, 2, &[rank]).await?;
//!         cells.fence().await?;
//!         cells.free().await
//!     })
//!     .unwrap();
//! assert_eq!(got[0], [3, 0, 1]);
//! assert_eq!(got[3], [2, 3, 0]);
//! ```
//!
//! Read next: `window.rs`, `memory.rs`, then `site.rs` (what comes from other processes),
//! `access.rs`, `fence.rs`, `passive.rs`.
#![forbid(unsafe_code)]

mod access;
mod answers;
mod error;
mod fence;
mod head;
mod locks;
mod memory;
mod op;
mod passive;
mod pending;
mod region;
mod site;
mod turns;
mod window;

pub use error::WindowError;
pub use locks::Lock;
pub use op::{Number, Op};
pub use passive::{Locked, LockedAll};
pub use window::Window;
