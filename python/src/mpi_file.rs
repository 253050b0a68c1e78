//! Files of MPI: what is written becomes the file when all ranks close it.

use crate::mpi_comm::MpiComm;
use crate::mpi_data::CallBytes;
use crate::open_file::OpenFile;
use crate::own::{OWN, WaitFailure, poll_any};
use crate::started::mpi_error;
use motet::comm::Layout;
use motet::files::{Draft, FileError, Stored, View};
use numpy::PyReadwriteArray1;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;

/// A handle on a file: its place in the list of the rank's thread.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct MpiFile {
    place: usize,
    /// The rank's.
    owner: u64,
}

/// The file at a place of the list of this thread.
fn opened(place: usize, owner: u64) -> Result<Rc<OpenFile>, WaitFailure> {
    OWN.with_borrow(|own| {
        let own = own.as_ref().filter(|own| own.number == owner)?;
        own.files.get(place)?.clone()
    })
    .ok_or(WaitFailure::Elsewhere)
}

/// A view from a byte on, of blocks by their begin and length that come again an extent apart.
fn view(start: u64, blocks: Option<Vec<(usize, usize)>>, extent: usize) -> Result<View, FileError> {
    let Some(blocks) = blocks else {
        return Ok(View::from(start));
    };
    let blocks = blocks.iter().map(|(begin, length)| *begin..begin + length);
    View::new(start, Layout::indexed(blocks)?.resized(extent)?)
}

/// No file is written that was opened to be read.
fn only_read() -> FileError {
    let problem = "the file was opened with MODE_RDONLY: open it with MODE_RDWR".to_owned();
    FileError::View { problem }
}

impl MpiFile {
    /// Waits for what borrows from the caller.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        call: impl AsyncFnOnce(&OpenFile) -> Result<T, FileError> + Send,
    ) -> PyResult<T> {
        let (place, owner) = (self.place, self.owner);
        py.detach(|| {
            let opened = opened(place, owner)?;
            poll_any(pin!(call(&opened)))
        })
        .map_err(mpi_error)
    }
}

#[pymethods]
impl MpiFile {
    /// A file that is read as it is, changed, or begun anew, with all ranks of a communicator.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        comm: &Bound<'_, MpiComm>,
        path: PathBuf,
        written: bool,
        anew: bool,
    ) -> PyResult<MpiFile> {
        let handle = comm.get().handle();
        py.detach(|| {
            let member = handle.member().map_err(WaitFailure::Raised)?;
            let file = match (written, anew) {
                (false, _) => poll_any(pin!(Stored::open(&member, path))).map(OpenFile::Read),
                (true, true) => poll_any(pin!(Draft::create(&member, path))).map(OpenFile::Written),
                (true, false) => {
                    poll_any(pin!(Draft::change(&member, path))).map(OpenFile::Written)
                }
            }?;
            OWN.with_borrow_mut(|own| {
                let own = own.as_mut().ok_or(WaitFailure::Elsewhere)?;
                let free = own.files.iter().position(Option::is_none);
                let place = free.unwrap_or(own.files.len());
                own.files.resize(own.files.len().max(place + 1), None);
                own.files[place] = Some(Rc::new(file));
                let owner = own.number;
                Ok(MpiFile { place, owner })
            })
        })
        .map_err(mpi_error)
    }

    /// Ends the use of the file, with all ranks. What was written becomes the file, or with `drop`
    /// nothing of it.
    #[pyo3(signature = (drop=false))]
    fn close(&self, py: Python<'_>, drop: bool) -> PyResult<()> {
        let (place, owner) = (self.place, self.owner);
        py.detach(|| {
            opened(place, owner)?;
            let taken = OWN.with_borrow_mut(|own| {
                let room = own.as_mut()?.files.get_mut(place)?;
                Rc::into_inner(room.take()?)
            });
            match taken.ok_or(WaitFailure::Elsewhere)? {
                OpenFile::Written(draft) if !drop => poll_any(pin!(draft.commit())),
                OpenFile::Written(_) | OpenFile::Read(_) => Ok(()),
            }
        })
        .map_err(mpi_error)
    }

    /// How many bytes it has.
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.wait(py, async |opened| match opened {
            OpenFile::Read(file) => Ok(file.len()),
            OpenFile::Written(file) => file.elements(),
        })
    }

    /// Makes it so long, with all ranks.
    fn resize(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.wait(py, async |opened| match opened {
            OpenFile::Read(_) => Err(only_read()),
            OpenFile::Written(file) => file.resize(bytes).await,
        })
    }

    #[pyo3(signature = (start, blocks=None, extent=0))]
    fn set_view(
        &self,
        start: u64,
        blocks: Option<Vec<(usize, usize)>>,
        extent: usize,
    ) -> PyResult<()> {
        let view = view(start, blocks, extent).map_err(|error| mpi_error(error.into()))?;
        let busy = || {
            let said = "a call of this file has not ended".to_owned();
            WaitFailure::Mpi("ERR_OTHER", said)
        };
        let set = OWN.with_borrow_mut(|own| {
            let own = own.as_mut().filter(|own| own.number == self.owner);
            let file = own.and_then(|own| own.files.get_mut(self.place)?.as_mut());
            let file = Rc::get_mut(file.ok_or(WaitFailure::Elsewhere)?).ok_or_else(busy)?;
            file.set_view(view);
            Ok(())
        });
        set.map_err(mpi_error)
    }

    /// Reads as many bytes as there is room for, from one of the view on; with all ranks, or alone.
    fn read(
        &self,
        py: Python<'_>,
        offset: u64,
        mut room: PyReadwriteArray1<'_, u8>,
        all: bool,
    ) -> PyResult<()> {
        let room = room.as_slice_mut()?;
        self.wait(py, async |opened| match (opened, all) {
            (OpenFile::Read(file), true) => file.read_at_all(offset, room).await,
            (OpenFile::Read(file), false) => file.read_at(offset, room),
            (OpenFile::Written(file), _) => file.read_at(offset, room),
        })
    }

    /// Writes bytes from one of the view on; with all ranks, or alone.
    fn write(&self, py: Python<'_>, offset: u64, data: CallBytes<'_>, all: bool) -> PyResult<()> {
        let bytes = data.slice()?;
        self.wait(py, async |opened| match (opened, all) {
            (OpenFile::Read(_), _) => Err(only_read()),
            (OpenFile::Written(file), true) => file.write_at_all(offset, bytes).await,
            (OpenFile::Written(file), false) => file.write_at(offset, bytes),
        })
    }
}
