//! Reading and writing at a place of a file, of which the system keeps no position.

use std::fs::File;
use std::io;

#[cfg(unix)]
mod system {
    use super::{File, io};
    use std::os::unix::fs::FileExt;

    pub(super) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    pub(super) fn read(file: &File, room: &mut [u8], at: u64) -> io::Result<()> {
        file.read_exact_at(room, at)
    }
}

#[cfg(not(unix))]
mod system {
    use super::{File, io};
    use std::io::{Read, Seek, SeekFrom, Write};

    // Each rank has its own handle: nobody else moves it.
    pub(super) fn write(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    pub(super) fn read(mut file: &File, room: &mut [u8], at: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(room)
    }
}

/// Writes all of these bytes from byte `at` on.
pub(crate) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    system::write(file, bytes, at)
}

/// Fills the room from byte `at` on.
pub(crate) fn read(file: &File, room: &mut [u8], at: u64) -> io::Result<()> {
    system::read(file, room, at)
}
