//! Files that are written: beside the one that they become.

use crate::beside::{Removal, folder_of, followed, made_beside, sync_folder};
use crate::rank_file::RankFile;
use crate::stored::ordered;
use crate::{FileError, View, agree};
use motet_comm::{Communicator, Plain};
use std::cell::Cell;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};

/// A file of numbers that ranks write together, and that takes its name when all are done. Until
/// then, and whatever happens, what had the name has it. Offsets count elements of the rank's
/// [`View`].
///
/// It is written beside the file, as `.NAME.PROCESS-NUMBER.part`, and removed when it is dropped
/// without [`Draft::commit`]. Symbolic links are followed. A process that is killed leaves that
/// file, and nothing else. A call takes the thread of the rank as long as the system does. Where
/// nobody has written, there are zeros.
///
/// ```
/// use motet_comm::{Layout, World};
/// use motet_files::{Draft, FileError, Stored, View};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("matrix");
/// World::threads(2)
///     .run(async |comm| -> Result<_, FileError> {
///         // A matrix of 2 × 4: each rank writes the half with its columns.
///         let columns = Layout::subarray(&[2, 4], &[2, 2], &[0, 2 * comm.rank()])?;
///         let mut draft = Draft::create(&comm, &path).await?;
///         draft.set_view(View::new(0, columns)?);
///         draft.write_at_all(0, &[comm.rank() as f64; 4]).await?;
///         draft.commit().await?;
///
///         let file = Stored::open(&comm, &path).await?;
///         let mut matrix = [0.0; 8];
///         file.read_at_all(0, &mut matrix).await?;
///         assert_eq!(matrix, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
///         Ok(())
///     })
///     .unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Draft<T> {
    place: RankFile<T>,
    /// What it becomes.
    target: PathBuf,
    /// On the rank that has made it.
    removal: Removal,
    /// How far `write_ordered` has come, the same on all ranks.
    next: Cell<u64>,
}

impl<T: Plain> Draft<T> {
    /// Begins a new file, on all ranks (MPI_FILE_OPEN with MPI_MODE_CREATE and MPI_MODE_WRONLY).
    ///
    /// # Errors
    /// On all ranks, if one fails: [`FileError::Io`], [`FileError::Elsewhere`].
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    #[track_caller]
    pub fn create(
        comm: &Communicator,
        path: impl AsRef<Path>,
    ) -> impl Future<Output = Result<Self, FileError>> {
        let called = comm.called_from(Location::caller());
        called.run(Self::begin(comm, path, |file, draft, path| {
            if let Ok(known) = fs::metadata(path) {
                if !known.is_file() {
                    // The name of a device would be lost, and a folder keeps its own to the end.
                    let why = io::Error::other("something that is no file has the name");
                    return Err(FileError::io("create", path)(why));
                }
                let set = file.set_permissions(known.permissions());
                set.map_err(FileError::io("set_permissions", draft))?;
            }
            Ok(())
        }))
    }

    /// Begins with a copy of the file that is there (MPI_FILE_OPEN with MPI_MODE_RDWR): what is not
    /// written stays as it is.
    ///
    /// # Errors
    /// As [`Draft::create`].
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    #[track_caller]
    pub fn change(
        comm: &Communicator,
        path: impl AsRef<Path>,
    ) -> impl Future<Output = Result<Self, FileError>> {
        let called = comm.called_from(Location::caller());
        called.run(Self::begin(comm, path, |_, draft, path| {
            let copied = fs::copy(path, draft);
            copied.map(drop).map_err(FileError::io("copy", path))
        }))
    }

    async fn begin(
        comm: &Communicator,
        path: impl AsRef<Path>,
        fill: impl FnOnce(&File, &Path, &Path) -> Result<(), FileError>,
    ) -> Result<Self, FileError> {
        let comm = comm.dup().await?;
        let made = (comm.rank() == 0).then(|| {
            let target = followed(path.as_ref())?;
            let (file, draft) = made_beside(&target)?;
            let removal = Removal(Some(draft.clone()));
            fill(&file, &draft, &target)?;
            Ok(((draft, target), removal))
        });
        let (made, removal) = agree(&comm, made.transpose()).await?.unzip();
        let (draft, target) = comm.broadcast(0, made).await?;
        let file = OpenOptions::new().read(true).write(true).open(&draft);
        let opened = file.map_err(FileError::io("open", &draft));
        let file = agree(&comm, opened).await?;
        Ok(Draft {
            place: RankFile::new(comm, file, draft),
            target,
            removal: removal.unwrap_or_default(),
            next: Cell::new(0),
        })
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

    /// Writes elements from `offset` of the view on (MPI_FILE_WRITE_AT). Other ranks do nothing for
    /// it.
    ///
    /// # Errors
    /// [`FileError::Io`]; some may then be written. [`FileError::View`] when they lie past the end
    /// of any file.
    pub fn write_at(&self, offset: u64, elements: &[T]) -> Result<(), FileError> {
        self.place.write(offset, elements)
    }

    /// As [`Draft::write_at`], by all ranks together, each what it has (MPI_FILE_WRITE_AT_ALL).
    /// Many small pieces are written in few large ones. Of elements that several ranks write, one
    /// rank's is there afterwards.
    ///
    /// # Errors
    /// On all ranks, if one fails.
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    #[track_caller]
    pub fn write_at_all(
        &self,
        offset: u64,
        elements: &[T],
    ) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.place.write_all(offset, elements))
    }

    /// Writes what each rank has behind what is written so, in the order of the ranks
    /// (MPI_FILE_WRITE_ORDERED). The views of all ranks should be the same.
    ///
    /// # Errors
    /// As [`Draft::write_at_all`]. The next one begins behind the place of the one that failed.
    #[track_caller]
    pub fn write_ordered(&self, elements: &[T]) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.write_next(elements))
    }

    async fn write_next(&self, elements: &[T]) -> Result<(), FileError> {
        let offset = ordered(&self.place.comm, &self.next, elements.len()).await?;
        self.place.write_all(offset, elements).await
    }

    /// Reads back what this rank, or before a barrier another one, has written (MPI_FILE_READ_AT).
    ///
    /// # Errors
    /// [`FileError::Beyond`], [`FileError::Io`].
    pub fn read_at(&self, offset: u64, room: &mut [T]) -> Result<(), FileError> {
        self.place.read(offset, room)
    }

    /// How many elements it has now (MPI_FILE_GET_SIZE), of all ranks; bytes behind the last whole
    /// one do not count.
    ///
    /// # Errors
    /// [`FileError::Io`].
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_files::{Draft, FileError};
    ///
    /// let path = std::env::temp_dir().join(format!("motet-elements-{}", std::process::id()));
    /// World::solo()
    ///     .run(async |comm| -> Result<_, FileError> {
    ///         let draft = Draft::create(&comm, &path).await?;
    ///         draft.write_at(3, &[1.5])?;
    ///         assert_eq!(draft.elements()?, 4);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    pub fn elements(&self) -> Result<u64, FileError> {
        let known = self.place.file.metadata();
        let known = known.map_err(FileError::io("metadata", &self.place.path))?;
        Ok(known.len() / size_of::<T>().max(1) as u64)
    }

    /// Makes the file so long, on all ranks: longer, with zeros, or shorter (MPI_FILE_SET_SIZE).
    ///
    /// # Errors
    /// On all ranks, if one fails.
    #[track_caller]
    pub fn resize(&self, elements: u64) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.set_length(elements))
    }

    async fn set_length(&self, elements: u64) -> Result<(), FileError> {
        let bytes = elements.checked_mul(size_of::<T>() as u64);
        let bytes = bytes.ok_or_else(|| FileError::View {
            problem: format!("no file has {elements} elements"),
        });
        // All have done what they do before.
        self.place.comm.barrier().await?;
        let first = self.place.comm.rank() == 0;
        let resized = bytes.and_then(|bytes| match first {
            true => {
                let set = self.place.file.set_len(bytes);
                set.map_err(FileError::io("set_len", &self.place.path))
            }
            false => Ok(()),
        });
        agree(&self.place.comm, resized).await
    }

    /// Has the file take its name when all ranks have called this. What they have written is on the
    /// disk then, and so is the name, where the system syncs folders. It has it on all ranks, or an
    /// error and the draft is removed.
    ///
    /// (Of the last step one rank tells the others. One that is lost in it may leave the file with
    /// its name, and the others with the error of the run.)
    ///
    /// # Errors
    /// On all ranks, if one fails. After [`FileError::Unsynced`], which all ranks get, the file has
    /// its name.
    ///
    /// # Cancellation
    /// As a collective: this rank is then out of step.
    #[track_caller]
    pub fn commit(self) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.finish(Some(sync_folder)))
    }

    /// As [`Draft::commit`], without waiting for the disk. The file is whole for all that look at
    /// it. When the machine fails it may be neither what it was nor what it is to be; and where a
    /// system says only at a sync that it has no room, as over a quota, nobody hears of it.
    ///
    /// # Errors
    /// As [`Draft::commit`], but for [`FileError::Unsynced`].
    #[track_caller]
    pub fn commit_without_sync(self) -> impl Future<Output = Result<(), FileError>> {
        let called = self.place.comm.called_from(Location::caller());
        called.run(self.finish(None))
    }

    /// With `sync_folder`, which syncs one, all is on the disk when this has ended.
    async fn finish(
        mut self,
        sync_folder: Option<fn(&Path) -> io::Result<()>>,
    ) -> Result<(), FileError> {
        let comm = &self.place.comm;
        // All have written.
        comm.barrier().await?;
        let own = comm.process_of(comm.rank())?;
        let first = (0..comm.size()).find(|&rank| comm.process_of(rank) == Ok(own));
        let mut synced = Ok(());
        if sync_folder.is_some() && first == Some(comm.rank()) {
            let done = self.place.file.sync_all();
            synced = done.map_err(FileError::io("sync", &self.place.path));
        }
        agree(comm, synced).await?;
        let mut named = Ok(());
        if comm.rank() == 0 {
            let draft = &self.place.path;
            named = fs::rename(draft, &self.target).map_err(FileError::io("rename", draft));
            if named.is_ok() {
                self.removal.0 = None;
            }
        }
        agree(comm, named).await?;
        let Some(sync_folder) = sync_folder else {
            return Ok(());
        };
        let synced = (comm.rank() == 0).then(|| {
            let synced = sync_folder(folder_of(&self.target));
            synced.map_err(|error| error.to_string())
        });
        let synced: Result<(), String> = comm.broadcast(0, synced).await?;
        synced.map_err(|problem| FileError::Unsynced {
            path: self.target.clone(),
            problem,
        })
    }
}

impl<T> fmt::Debug for Draft<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("draft", &self.place.path)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;

    fn refuses(_: &Path) -> io::Result<()> {
        Err(io::Error::other("worn out"))
    }

    #[test]
    fn sem_g357_all_ranks_are_told_that_the_file_is_there_when_its_folder_is_not_synced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let told = World::threads(2).run(async |comm| -> Result<_, FileError> {
            let draft = Draft::create(&comm, &path).await?;
            draft.write_at_all(comm.rank() as u64, &[7_u8]).await?;
            Ok(draft.finish(Some(refuses)).await.unwrap_err())
        });
        for told in told.unwrap() {
            assert!(
                matches!(&told, FileError::Unsynced { path: of, problem }
                    if *of == path && problem == "worn out"),
                "{told}"
            );
        }
        assert_eq!(fs::read(&path).unwrap(), [7, 7]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        sync_folder(folder.path()).unwrap();
        sync_folder(&folder.path().join("nowhere")).unwrap_err();
    }
}
