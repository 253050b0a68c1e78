//! Files that are read.

use crate::rank_file::RankFile;
use crate::{FileError, View, agree};
use motet_comm::{Communicator, Plain};
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::panic::Location;
use std::path::Path;

/// A file of numbers that ranks read. Offsets count elements of the rank's [`View`].
///
/// A call takes the thread of the rank as long as the system does. The bytes are those of memory: a
/// file is read on machines of the byte order in which it was written.
pub struct Stored<T> {
    place: RankFile<T>,
    elements: u64,
    /// How far `read_ordered` has come, the same on all ranks.
    next: Cell<u64>,
}

impl<T: Plain> Stored<T> {
    /// Opens a file, on all ranks (MPI_FILE_OPEN with MPI_MODE_RDONLY).
    ///
    /// # Errors
    /// On all ranks, if one fails: [`FileError::Io`], [`FileError::Ragged`],
    /// [`FileError::Elsewhere`].
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    #[track_caller]
    pub fn open(
        comm: &Communicator,
        path: impl AsRef<Path>,
    ) -> impl Future<Output = Result<Self, FileError>> {
        let called = comm.called_from(Location::caller());
        called.run(Self::opened(comm, path))
    }

    async fn opened(comm: &Communicator, path: impl AsRef<Path>) -> Result<Self, FileError> {
        let (comm, path) = (comm.dup().await?, path.as_ref().to_owned());
        let file = File::open(&path).map_err(FileError::io("open", &path));
        let file = agree(&comm, file).await?;
        let place = RankFile::new(comm, file, path);
        let elements = agree(&place.comm, place.elements()).await?;
        Ok(Stored {
            place,
            elements,
            next: Cell::new(0),
        })
    }

    /// How many elements the file had when it was opened (MPI_FILE_GET_SIZE).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.elements
    }

    /// Whether it had none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// From now on this rank sees these elements (MPI_FILE_SET_VIEW).
    pub fn set_view(&mut self, view: View) {
        self.place.view = view;
    }

    /// What this rank sees (MPI_FILE_GET_VIEW).
    #[must_use]
    pub fn view(&self) -> &View {
        &self.place.view
    }

    /// Reads as many elements as there is room for, from `offset` of the view on
    /// (MPI_FILE_READ_AT). Other ranks do nothing for it.
    ///
    /// # Errors
    /// [`FileError::Beyond`] when they do not all lie in the file: nothing is read then;
    /// [`FileError::Io`].
    pub fn read_at(&self, offset: u64, room: &mut [T]) -> Result<(), FileError> {
        self.place.read(offset, room)
    }

    /// As [`Stored::read_at`], by all ranks together, each for itself (MPI_FILE_READ_AT_ALL). Many
    /// small pieces are read in few large ones.
    ///
    /// # Errors
    /// On all ranks, if one fails; then what is in `room` means nothing.
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    #[track_caller]
    pub fn read_at_all(
        &self,
        offset: u64,
        room: &mut [T],
    ) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.place.read_all(offset, room))
    }

    /// Reads what is next for all ranks, in the order of the ranks (MPI_FILE_READ_ORDERED). The
    /// views of all ranks should be the same.
    ///
    /// # Errors
    /// As [`Stored::read_at_all`]. The next one begins behind the place of the one that failed.
    #[track_caller]
    pub fn read_ordered(&self, room: &mut [T]) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.read_next(room))
    }

    async fn read_next(&self, room: &mut [T]) -> Result<(), FileError> {
        let offset = ordered(&self.place.comm, &self.next, room.len()).await?;
        self.place.read_all(offset, room).await
    }
}

/// Where this rank's elements begin if each rank has so many, and those of lower ranks come first.
pub(crate) async fn ordered(
    comm: &Communicator,
    next: &Cell<u64>,
    length: usize,
) -> Result<u64, FileError> {
    let lengths = comm.allgather(length as u64).await?;
    let before: u64 = lengths[..comm.rank()].iter().sum();
    let base = next.get();
    next.set(base + lengths.iter().sum::<u64>());
    Ok(base + before)
}

impl<T> fmt::Debug for Stored<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("path", &self.place.path)
            .field("elements", &self.elements)
            .finish_non_exhaustive()
    }
}
