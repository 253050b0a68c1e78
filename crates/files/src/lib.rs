//! Files of numbers that ranks read and write together (MPI-3.1, chapter 13).
//!
//! - Depends on: `motet-comm`, whose [`Layout`](motet_comm::Layout) says what a rank sees;
//!   `motet-sync`.
//! - Used by: the facade.
//!
//! ```text
//!  rank 0 ─ view ─┐                      all: commit
//!  rank 1 ─ view ─┼─► .name.….part ───────────────────► name
//!  rank 2 ─ view ─┘   (until then what had the name has it)
//! ```
//!
//! | to … | use | in MPI |
//! |---|---|---|
//! | write a file, or nothing | [`Draft::create`], [`Draft::commit`] | `MPI_File_open` … |
//! | change a part of one, or nothing | [`Draft::change`] | … with `MPI_MODE_RDWR` |
//! | read one | [`Stored::open`] | … with `MPI_MODE_RDONLY` |
//! | see a part of it as if it were all | [`View`] | `MPI_File_set_view` |
//! | read or write all together | [`Stored::read_at_all`], [`Draft::write_at_all`] | … `_all` |
//! | … alone | [`Stored::read_at`], [`Draft::write_at`] | `MPI_File_write_at` … |
//! | … one behind the other | [`Stored::read_ordered`], [`Draft::write_ordered`] | … `_ordered` |
//!
//! ```
//! use motet_comm::World;
//! use motet_files::{Draft, FileError, Stored};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("squares");
//! World::threads(3)
//!     .run(async |comm| -> Result<_, FileError> {
//!         let draft = Draft::create(&comm, &path).await?;
//!         let mine: Vec<u64> = (0..10).map(|at| (10 * comm.rank() as u64 + at).pow(2)).collect();
//!         draft.write_ordered(&mine).await?;
//!         draft.commit().await
//!     })
//!     .unwrap();
//! let all = World::solo()
//!     .run(async |comm| -> Result<_, FileError> {
//!         let file = Stored::open(&comm, &path).await?;
//!         let mut all = vec![0_u64; file.len() as usize];
//!         file.read_at(0, &mut all)?;
//!         Ok(all)
//!     })
//!     .unwrap();
//! assert!(all[0].iter().enumerate().all(|(at, square)| *square == (at * at) as u64));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Read next: `view.rs`, `draft.rs`, `rank_file.rs`, then `together.rs` (small pieces of many
//! ranks).
#![forbid(unsafe_code)]

mod agree;
mod at;
mod beside;
mod draft;
mod error;
mod rank_file;
mod stored;
mod together;
mod view;

use agree::agree;

pub use draft::Draft;
pub use error::FileError;
pub use stored::Stored;
pub use view::View;
