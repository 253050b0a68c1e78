//! Pipes and devices that results go into.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
pub(super) use unix::open;

/// Opens what is there, to write behind what it has.
#[cfg(not(unix))]
pub(super) fn open(path: &Path, _: impl Fn() -> bool) -> io::Result<Option<File>> {
    append(path).map(Some)
}

fn append(path: &Path) -> io::Result<File> {
    File::options().append(true).open(path)
}

#[cfg(unix)]
mod unix {
    use super::{File, Path, append, io};
    use motet_sync::thread;
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::time::Duration;

    /// Between two looks whether somebody reads a pipe.
    const BETWEEN: Duration = Duration::from_millis(20);

    /// Opens what is there, to write behind what it has. A pipe is opened when somebody reads it;
    /// `None`: `stop` said so before. The system's own wait would go on after an interrupt.
    pub(crate) fn open(path: &Path, stop: impl Fn() -> bool) -> io::Result<Option<File>> {
        if !path.metadata()?.file_type().is_fifo() {
            return append(path).map(Some);
        }
        let mut options = File::options();
        options.append(true);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        loop {
            match options.open(path) {
                Ok(file) => {
                    // What does not fit now is waited for.
                    let flags = fcntl_getfl(&file)?;
                    fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
                    return Ok(Some(file));
                }
                // Nobody reads it yet.
                Err(why) if why.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {}
                Err(why) => return Err(why),
            }
            if stop() {
                return Ok(None);
            }
            thread::park_timeout(BETWEEN);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, fcntl_getfl};
    use std::cell::{Cell, RefCell};
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn pipe() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        (folder, path)
    }

    #[test]
    fn sem_g578_an_interrupt_ends_the_wait_for_who_reads_a_pipe() {
        let (_folder, path) = pipe();
        let looks = Cell::new(0);
        let stop = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        assert!(open(&path, stop).unwrap().is_none());
        assert_eq!(looks.get(), 3);
    }

    #[test]
    fn sem_g578_a_pipe_is_open_when_somebody_reads_it() {
        let (_folder, path) = pipe();
        let reader = RefCell::new(None);
        let stop = || {
            let mut options = File::options();
            options.read(true);
            options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
            *reader.borrow_mut() = Some(options.open(&path).unwrap());
            false
        };
        let mut file = open(&path, stop).unwrap().unwrap();
        assert!(!fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
        file.write_all(b"all").unwrap();
        drop(file);
        let mut text = String::new();
        let mut reader = reader.take().unwrap();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "all");
    }
}
