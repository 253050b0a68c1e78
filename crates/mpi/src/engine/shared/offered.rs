//! Memory for numbers that the processes of a machine use together, beside the rings.

use super::ring::Memory;
use super::segment::{FRONT, Made, SharedSegment};
use crate::engine::peers;
use motet_comm::{MemoryOffer, SharedMemory};
use motet_sync::atomic::{AtomicU64, Ordering};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// A segment without its front, which says that it is the one that was meant.
#[derive(Debug)]
struct OfferedSegment {
    segment: SharedSegment,
    words: usize,
    /// This process, with when it started.
    own: u64,
}

// SAFETY: the words are mapped until the segment is dropped, and only this has them.
unsafe impl SharedMemory for OfferedSegment {
    unsafe fn words(&self) -> &[AtomicU64] {
        &self.segment.words()[FRONT..][..self.words]
    }

    fn process(&self) -> u64 {
        self.own
    }

    fn is_gone(&self, process: u64) -> bool {
        peers::is_gone(process)
    }
}

/// New memory of the process with this whole number; `None` where the machine has none of this
/// kind, or not so much.
pub(in crate::engine) fn offer(own: u64, words: usize) -> Option<MemoryOffer> {
    let made = Made::new(words.checked_add(FRONT)?).ok()?;
    made.fill().ok()?;
    let token = RandomState::new().build_hasher().finish();
    // The others read it when they have been told of it.
    made.segment.words()[0].store(token, Ordering::SeqCst);
    let found_by = [made.number(), token];
    let (segment, kept) = made.parts();
    Some(MemoryOffer {
        found_by,
        memory: Arc::new(OfferedSegment {
            segment,
            words,
            own,
        }),
        kept: Box::new(kept),
    })
}

/// The memory that a process of this machine offers, which the machine knows by this number. `own`
/// is the whole number of this one.
pub(in crate::engine) fn open(
    own: u64,
    process: u64,
    [number, token]: [u64; 2],
    words: usize,
) -> Option<Arc<dyn SharedMemory>> {
    let segment = SharedSegment::open(process, number, words.checked_add(FRONT)?).ok()?;
    let is_it = segment.words()[0].load(Ordering::SeqCst) == token;
    let opened = OfferedSegment {
        segment,
        words,
        own,
    };
    is_it.then(|| Arc::new(opened) as Arc<dyn SharedMemory>)
}

#[cfg(all(test, target_os = "linux", not(motet_loom)))]
mod tests {
    use super::*;
    use motet_comm::SharedNumbers;

    #[test]
    fn what_is_offered_is_opened_by_its_numbers_alone() {
        let words = SharedNumbers::<f64>::words(3).unwrap();
        let own = u64::from(std::process::id());
        let offer = offer(own, words).unwrap();
        let [number, token] = offer.found_by;
        let numbers = SharedNumbers::<f64>::new(Arc::clone(&offer.memory), 3).unwrap();
        numbers.with(|numbers| numbers[2] = 1.5);
        let opened = open(own, own, [number, token], words).unwrap();
        let other = SharedNumbers::<f64>::new(opened, 3).unwrap();
        assert!(open(own, own, [number, token.wrapping_add(1)], words).is_none());
        assert!(open(own, own, [number, token], words + 1).is_none());
        drop(offer);
        assert!(open(own, own, [number, token], words).is_none());
        assert_eq!(other.close(), Some(vec![0.0, 0.0, 1.5]));
        assert_eq!(numbers.with(|_| ()), None);
    }

    #[test]
    fn more_than_there_is_is_not_offered() {
        let most = SharedNumbers::<u8>::words(isize::MAX as usize).unwrap();
        assert!(offer(1, most).is_none());
    }
}
