//! Memory that several processes of a machine see.
//!
//! It has no name: it is a file of memory (`memfd_create`), which the others open as a file of this process (`/proc`)
//! while that is held open. So nothing is left behind, however the processes end.

use super::ring::Memory;
use motet_sync::atomic::AtomicU64;
use std::io;

pub(super) use imp::{Made, Segment};

#[cfg(target_os = "linux")]
mod imp {
    use super::*;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    use std::ffi::c_void;
    use std::fs::OpenOptions;
    use std::io::ErrorKind;
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::ptr;

    /// Memory of this process's making or of another's; it goes with the last process that has it.
    #[derive(Debug)]
    pub(in crate::engine::shared) struct Segment {
        start: *mut c_void,
        words: usize,
    }

    /// What a process has made, as long as others open it.
    #[derive(Debug)]
    pub(in crate::engine::shared) struct Made {
        pub(in crate::engine::shared) segment: Segment,
        file: OwnedFd,
    }

    impl Made {
        /// New memory, all 0.
        pub(in crate::engine::shared) fn new(words: usize) -> io::Result<Made> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = memfd_create("motet", flags)?;
            ftruncate(&file, (words * 8) as u64)?;
            // It keeps its size: who looks at memory that a file does not have any more is killed.
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            Ok(Made {
                segment: Segment::map(&file, words)?,
                file,
            })
        }

        /// How the others find it among the files of this process.
        pub(in crate::engine::shared) fn number(&self) -> u64 {
            u64::try_from(self.file.as_raw_fd()).expect("an open file has a number")
        }
    }

    impl Segment {
        /// The memory that another process has made and holds open under this number.
        pub(in crate::engine::shared) fn open(
            process: u64,
            number: u64,
            words: usize,
        ) -> io::Result<Segment> {
            let path = format!("/proc/{process}/fd/{number}");
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            if u64::try_from(fstat(&file)?.st_size) != Ok((words * 8) as u64) {
                return Err(ErrorKind::InvalidData.into());
            }
            Segment::map(&file, words)
        }

        fn map(file: &impl AsFd, words: usize) -> io::Result<Segment> {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: the system chooses an address where nothing is.
            let start = unsafe {
                mmap(
                    ptr::null_mut(),
                    words * 8,
                    access,
                    MapFlags::SHARED,
                    file,
                    0,
                )
            }?;
            Ok(Segment { start, words })
        }
    }

    impl Memory for Segment {
        #[inline]
        fn words(&self) -> &[AtomicU64] {
            // SAFETY: so many words are mapped there until `self` is dropped, at the beginning of a page. Atomics may
            // hold any bytes, and be written through other mappings, here and in other processes; payloads are copied by whom
            // a stamp has given them to, as `bytes.rs` says.
            unsafe { std::slice::from_raw_parts(self.start.cast(), self.words) }
        }
    }

    // SAFETY: the mapping belongs to the process, not to a thread, and is used as atomics, and as bytes that a stamp hands over.
    unsafe impl Send for Segment {}
    // SAFETY: as above.
    unsafe impl Sync for Segment {}

    impl Drop for Segment {
        fn drop(&mut self) {
            // SAFETY: this is the mapping that was made, and no borrow of it is left.
            // It cannot fail for a whole mapping; if it did, the memory would stay until the process ends.
            let _ = unsafe { munmap(self.start, self.words * 8) };
        }
    }
}

/// Where there are no such files processes share no memory.
#[cfg(not(target_os = "linux"))]
mod imp {
    use super::*;

    #[derive(Debug)]
    pub(in crate::engine::shared) enum Segment {}

    #[derive(Debug)]
    pub(in crate::engine::shared) struct Made {
        pub(in crate::engine::shared) segment: Segment,
    }

    impl Made {
        pub(in crate::engine::shared) fn new(_: usize) -> io::Result<Made> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::engine::shared) fn number(&self) -> u64 {
            match self.segment {}
        }
    }

    impl Segment {
        pub(in crate::engine::shared) fn open(_: u64, _: u64, _: usize) -> io::Result<Segment> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl Memory for Segment {
        fn words(&self) -> &[AtomicU64] {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use motet_sync::atomic::Ordering;

    #[test]
    fn what_one_mapping_writes_the_other_reads() {
        let made = Made::new(1024).unwrap();
        let own = u64::from(std::process::id());
        let other = Segment::open(own, made.number(), 1024).unwrap();
        assert!(
            other
                .words()
                .iter()
                .all(|word| word.load(Ordering::Relaxed) == 0)
        );
        other.words()[1023].store(7, Ordering::Relaxed);
        assert_eq!(made.segment.words()[1023].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn what_is_no_such_memory_is_refused() {
        let own = u64::from(std::process::id());
        let made = Made::new(16).unwrap();
        assert!(Segment::open(own, made.number(), 32).is_err(), "its size");
        assert!(Segment::open(own, 1 << 30, 16).is_err(), "no such file");
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        use std::os::fd::AsRawFd;
        let number = u64::try_from(file.as_raw_fd()).unwrap();
        assert!(Segment::open(own, number, 16).is_err(), "another file");
    }
}
