//! Memory that several processes of a machine see.
//!
//! It has no name. It is a file of memory (`memfd_create`), which the others open as a file of this
//! process (`/proc`) while that is held open. So nothing is left behind, however the processes end.

use super::bell::Bell;
use super::ring::Memory;
use motet_sync::atomic::{AtomicU32, AtomicU64};
use std::io;
use std::time::Duration;

pub(super) use imp::{Made, SharedSegment};

/// The word of the bell: in a cache line of its own. Nobody uses it as a word.
#[cfg(target_os = "linux")]
const BELL: usize = 8;
/// The words before the rings: what says that the memory is the one that was meant, and the bell.
pub(super) const FRONT: usize = 16;

#[cfg(target_os = "linux")]
mod imp {
    use super::*;
    #[cfg(not(motet_loom))]
    use rustix::fs::Timespec;
    use rustix::fs::{
        FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fstat, ftruncate,
        memfd_create,
    };
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    #[cfg(not(motet_loom))]
    use rustix::thread::futex;
    use std::ffi::c_void;
    use std::fs::OpenOptions;
    use std::io::ErrorKind;
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::ptr;

    /// Memory of this process's making or of another's; it goes with the last process that has it.
    #[derive(Debug)]
    pub(in crate::engine::shared) struct SharedSegment {
        start: *mut c_void,
        words: usize,
    }

    /// What a process has made, as long as others open it.
    #[derive(Debug)]
    pub(in crate::engine::shared) struct Made {
        pub(in crate::engine::shared) segment: SharedSegment,
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
                segment: SharedSegment::map(&file, words)?,
                file,
            })
        }

        /// Has the system provide all of the memory now: whoever first wrote where there is none
        /// would be killed.
        pub(in crate::engine::shared) fn fill(&self) -> io::Result<()> {
            let bytes = fstat(&self.file)?.st_size.unsigned_abs();
            Ok(fallocate(&self.file, FallocateFlags::empty(), 0, bytes)?)
        }

        /// The memory, and what keeps it open to the others.
        pub(in crate::engine::shared) fn parts(self) -> (SharedSegment, OwnedFd) {
            (self.segment, self.file)
        }

        /// How the others find it among the files of this process.
        pub(in crate::engine::shared) fn number(&self) -> u64 {
            u64::try_from(self.file.as_raw_fd()).expect("an open file has a number")
        }
    }

    impl SharedSegment {
        /// The memory that another process has made and holds open under this number.
        pub(in crate::engine::shared) fn open(
            process: u64,
            number: u64,
            words: usize,
        ) -> io::Result<SharedSegment> {
            let path = format!("/proc/{process}/fd/{number}");
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            if u64::try_from(fstat(&file)?.st_size) != Ok((words * 8) as u64) {
                return Err(ErrorKind::InvalidData.into());
            }
            SharedSegment::map(&file, words)
        }

        fn map(file: &impl AsFd, words: usize) -> io::Result<SharedSegment> {
            assert!(words >= FRONT, "a segment has room for its bell");
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
            Ok(SharedSegment { start, words })
        }
    }

    impl Memory for SharedSegment {
        #[inline]
        fn words(&self) -> &[AtomicU64] {
            // SAFETY: so many words are mapped there until `self` is dropped, at the beginning of a
            // page. Atomics may hold any bytes, and be written through other mappings, here and in
            // other processes. Payloads are copied by whom a stamp has given them to, as `bytes.rs`
            // says.
            unsafe { std::slice::from_raw_parts(self.start.cast(), self.words) }
        }
    }

    impl Bell for SharedSegment {
        #[cfg(not(motet_loom))]
        #[inline]
        fn bell(&self) -> &AtomicU32 {
            // SAFETY: so many words are mapped there until `self` is dropped, as `map` makes sure.
            // All processes use these bytes as an atomic of this size only.
            unsafe { &*self.start.cast::<u64>().add(BELL).cast::<AtomicU32>() }
        }

        /// Loom's atomics are no memory of the system's.
        #[cfg(motet_loom)]
        fn bell(&self) -> &AtomicU32 {
            unreachable!("models have memory of their own")
        }

        #[cfg(not(motet_loom))]
        fn sleep(&self, value: u32, limit: Duration) {
            let limit = Timespec {
                tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: limit.subsec_nanos().into(),
            };
            // It ends early where a signal comes or the value has changed: whoever sleeps looks
            // again.
            let _ = futex::wait(self.bell(), futex::Flags::empty(), value, Some(&limit));
        }

        #[cfg(motet_loom)]
        fn sleep(&self, _: u32, _: Duration) {}

        #[cfg(not(motet_loom))]
        fn wake(&self) {
            // It cannot fail for memory that is mapped; if it did, the other would wake at its
            // limit.
            let _ = futex::wake(self.bell(), futex::Flags::empty(), 1);
        }

        #[cfg(motet_loom)]
        fn wake(&self) {}
    }

    // SAFETY: the mapping belongs to the process, not to a thread, and is used as atomics, and as
    // bytes that a stamp hands over.
    unsafe impl Send for SharedSegment {}
    // SAFETY: as above.
    unsafe impl Sync for SharedSegment {}

    impl Drop for SharedSegment {
        fn drop(&mut self) {
            // SAFETY: this is the mapping that was made, and no borrow of it is left.
            // It cannot fail for a whole mapping; if it did, the memory would stay until the
            // process ends.
            let _ = unsafe { munmap(self.start, self.words * 8) };
        }
    }
}

/// Where there are no such files processes share no memory.
#[cfg(not(target_os = "linux"))]
mod imp {
    use super::*;

    #[derive(Debug)]
    pub(in crate::engine::shared) enum SharedSegment {}

    #[derive(Debug)]
    pub(in crate::engine::shared) struct Made {
        pub(in crate::engine::shared) segment: SharedSegment,
    }

    impl Made {
        pub(in crate::engine::shared) fn new(_: usize) -> io::Result<Made> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::engine::shared) fn fill(&self) -> io::Result<()> {
            match self.segment {}
        }

        pub(in crate::engine::shared) fn parts(self) -> (SharedSegment, ()) {
            match self.segment {}
        }

        pub(in crate::engine::shared) fn number(&self) -> u64 {
            match self.segment {}
        }
    }

    impl SharedSegment {
        pub(in crate::engine::shared) fn open(
            _: u64,
            _: u64,
            _: usize,
        ) -> io::Result<SharedSegment> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl Memory for SharedSegment {
        fn words(&self) -> &[AtomicU64] {
            match *self {}
        }
    }

    impl Bell for SharedSegment {
        fn bell(&self) -> &AtomicU32 {
            match *self {}
        }

        fn sleep(&self, _: u32, _: Duration) {
            match *self {}
        }

        fn wake(&self) {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux", not(motet_loom)))]
mod tests {
    use super::super::bell;
    use super::*;
    use motet_sync::atomic::Ordering;
    use std::time::Instant;

    #[test]
    fn what_one_mapping_writes_the_other_reads() {
        let made = Made::new(1024).unwrap();
        let own = u64::from(std::process::id());
        let other = SharedSegment::open(own, made.number(), 1024).unwrap();
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
    fn who_sleeps_is_woken_through_another_mapping_or_at_the_limit() {
        let made = Made::new(1024).unwrap();
        let own = u64::from(std::process::id());
        let other = SharedSegment::open(own, made.number(), 1024).unwrap();
        let (begun, limit) = (Instant::now(), Duration::from_secs(60));
        let sleeper = motet_sync::thread::spawn(move || {
            // Rung before it sleeps, too: then it does not.
            bell::wait(&made.segment, limit, || false);
            bell::wait(&made.segment, limit, || true);
            made
        });
        while !sleeper.is_finished() {
            bell::ring(&other);
            motet_sync::thread::yield_now();
        }
        assert!(begun.elapsed() < limit / 2);
        let (made, begun) = (sleeper.join().unwrap(), Instant::now());
        bell::wait(&made.segment, Duration::from_millis(20), || false);
        assert!(begun.elapsed() >= Duration::from_millis(15));
        bell::ring(&other);
        assert_eq!(made.segment.bell().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_no_such_memory_is_refused() {
        let own = u64::from(std::process::id());
        let made = Made::new(16).unwrap();
        assert!(
            SharedSegment::open(own, made.number(), 32).is_err(),
            "its size"
        );
        assert!(
            SharedSegment::open(own, 1 << 30, 16).is_err(),
            "no such file"
        );
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        use std::os::fd::AsRawFd;
        let number = u64::try_from(file.as_raw_fd()).unwrap();
        assert!(
            SharedSegment::open(own, number, 16).is_err(),
            "another file"
        );
    }
}
