//! One rank's handle on a file, and where its view leads.

use crate::together::{self, Domains};
use crate::{FileError, View, agree, at};
use motet_comm::{Communicator, Plain};
use std::fs::File;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::PathBuf;

pub(crate) struct RankFile<T> {
    /// The file's own.
    pub(crate) comm: Communicator,
    pub(crate) file: File,
    /// By which errors name it.
    pub(crate) path: PathBuf,
    pub(crate) view: View,
    _elements: PhantomData<fn(T)>,
}

impl<T: Plain> RankFile<T> {
    pub(crate) fn new(comm: Communicator, file: File, path: PathBuf) -> Self {
        RankFile {
            comm,
            file,
            path,
            view: View::default(),
            _elements: PhantomData,
        }
    }

    /// Where elements of the view lie in the file, in bytes.
    fn pieces(&self, offset: u64, length: usize) -> Result<Vec<Range<u64>>, FileError> {
        let size = size_of::<T>() as u64;
        let bytes = |range: Range<u64>| {
            let end = range
                .end
                .checked_mul(size)
                .filter(|&end| end <= i64::MAX as u64);
            end.map(|end| range.start * size..end)
        };
        let pieces: Option<Vec<_>> = self.view.ranges(offset, length).map(bytes).collect();
        pieces.ok_or_else(|| FileError::View {
            problem: format!("{length} elements from {offset} lie past the end of any file"),
        })
    }

    pub(crate) fn write(&self, offset: u64, elements: &[T]) -> Result<(), FileError> {
        let pieces = self.pieces(offset, elements.len())?;
        self.write_pieces(&pieces, bytemuck::cast_slice(elements))
    }

    fn write_pieces(&self, pieces: &[Range<u64>], bytes: &[u8]) -> Result<(), FileError> {
        let mut rest = bytes;
        for piece in pieces {
            let (these, others) = rest.split_at((piece.end - piece.start) as usize);
            let written = at::write(&self.file, these, piece.start);
            written.map_err(FileError::io("write", &self.path))?;
            rest = others;
        }
        Ok(())
    }

    /// All ranks write.
    pub(crate) async fn write_all(&self, offset: u64, elements: &[T]) -> Result<(), FileError> {
        let pieces = agree(&self.comm, self.pieces(offset, elements.len())).await?;
        let bytes = bytemuck::cast_slice(elements);
        let written = match Domains::of(&self.comm, &pieces, size_of::<T>()).await? {
            None => self.write_pieces(&pieces, bytes),
            Some(domains) => {
                let by = (&self.file, domains);
                let written = together::write(&self.comm, by, &pieces, bytes).await?;
                written.map_err(FileError::io("write", &self.path))
            }
        };
        agree(&self.comm, written).await
    }

    pub(crate) fn read(&self, offset: u64, room: &mut [T]) -> Result<(), FileError> {
        let pieces = self.readable(offset, room.len())?;
        self.read_pieces(&pieces, bytemuck::cast_slice_mut(room))
    }

    fn read_pieces(&self, pieces: &[Range<u64>], room: &mut [u8]) -> Result<(), FileError> {
        let mut rest = room;
        for piece in pieces {
            let (these, others) = rest.split_at_mut((piece.end - piece.start) as usize);
            let read = at::read(&self.file, these, piece.start);
            read.map_err(FileError::io("read", &self.path))?;
            rest = others;
        }
        Ok(())
    }

    /// All ranks read.
    pub(crate) async fn read_all(&self, offset: u64, room: &mut [T]) -> Result<(), FileError> {
        let pieces = agree(&self.comm, self.readable(offset, room.len())).await?;
        let room = bytemuck::cast_slice_mut(room);
        let read = match Domains::of(&self.comm, &pieces, size_of::<T>()).await? {
            None => self.read_pieces(&pieces, room),
            Some(domains) => {
                let by = (&self.file, domains);
                let read = together::read(&self.comm, by, &pieces, room).await?;
                read.map_err(FileError::io("read", &self.path))
            }
        };
        agree(&self.comm, read).await
    }

    /// The pieces, if all of them lie in the file.
    fn readable(&self, offset: u64, length: usize) -> Result<Vec<Range<u64>>, FileError> {
        let pieces = self.pieces(offset, length)?;
        let bytes = self.bytes()?;
        match pieces.last() {
            Some(last) if last.end > bytes => {
                let size = size_of::<T>().max(1) as u64;
                let first = pieces.iter().find(|piece| piece.end > bytes);
                let start = first.map_or(bytes, |piece| piece.start.max(bytes));
                Err(FileError::Beyond {
                    path: self.path.clone(),
                    element: start / size,
                    length: bytes / size,
                })
            }
            _ => Ok(pieces),
        }
    }

    /// The length of the file in bytes.
    pub(crate) fn bytes(&self) -> Result<u64, FileError> {
        let known = self.file.metadata();
        Ok(known.map_err(FileError::io("metadata", &self.path))?.len())
    }

    /// The length of the file in elements.
    pub(crate) fn elements(&self) -> Result<u64, FileError> {
        let (bytes, element) = (self.bytes()?, size_of::<T>().max(1));
        match bytes.is_multiple_of(element as u64) {
            true => Ok(bytes / element as u64),
            false => Err(FileError::Ragged {
                path: self.path.clone(),
                bytes,
                element,
            }),
        }
    }
}
