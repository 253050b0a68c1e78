//! Bytes in memory that two processes see.
//!
//! A message's stamp hands its bytes over, so that only one process has to do with them at a time.
//! They are copied as any memory, many at once. (Words that are written as atomic ones the compiler
//! copies one by one.)

use motet_sync::atomic::AtomicU64;
#[cfg(motet_loom)]
use motet_sync::atomic::Ordering;
#[cfg(not(motet_loom))]
use motet_values::non_temporal;
#[cfg(not(motet_loom))]
use std::ptr;

/// Writes the bytes to the words, behind so many bytes from the first on; `past` the caches or
/// through them.
#[inline]
#[cfg(not(motet_loom))]
pub(super) fn copy_in(bytes: &[u8], words: &[AtomicU64], behind: usize, past: bool) {
    let room = size_of_val(words).checked_sub(behind);
    assert!(room.is_some_and(|room| bytes.len() <= room));
    // SAFETY: it is within the words or at their end, as the assertion says.
    let to = unsafe { words.as_ptr().cast::<u8>().cast_mut().add(behind) };
    // SAFETY: there is room, which the assertion says, and atomic words may be written through a
    // shared reference. Nobody reads these before the stamp says that they are written, nor writes
    // them. If a process that misbehaves does, it reads or makes other bytes, and any bytes are a
    // payload.
    unsafe {
        match past {
            false => ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()),
            // Who sees the stamp sees them too: they are in their order before the copy ends.
            true => non_temporal::copy(bytes.as_ptr(), to, bytes.len()),
        }
    }
}

/// Appends so many bytes from the first word on.
#[inline]
#[cfg(not(motet_loom))]
pub(super) fn copy_out(words: &[AtomicU64], bytes: usize, to: &mut Vec<u8>) {
    assert!(bytes <= size_of_val(words));
    to.reserve(bytes);
    let begin = to.len();
    // SAFETY: as `copy_in`: the bytes are there and nobody writes them until this is done. There is
    // room for them behind those that are in `to`.
    unsafe {
        let room = to.as_mut_ptr().add(begin);
        ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), room, bytes);
        to.set_len(begin + bytes);
    }
}

/// Loom's words are no memory: it sees each of them.
#[cfg(motet_loom)]
pub(super) fn copy_in(bytes: &[u8], words: &[AtomicU64], behind: usize, _past: bool) {
    let (first, behind) = (behind / 8, behind % 8);
    let (near, far) = bytes.split_at(bytes.len().min(8 - behind));
    for (at, bytes) in [near].into_iter().chain(far.chunks(8)).enumerate() {
        let (word, behind) = (&words[first + at], if at == 0 { behind } else { 0 });
        let mut all = match behind {
            0 => [0; 8],
            _ => word.load(Ordering::Relaxed).to_ne_bytes(),
        };
        all[behind..behind + bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(all), Ordering::Relaxed);
    }
}

#[cfg(motet_loom)]
pub(super) fn copy_out(words: &[AtomicU64], bytes: usize, to: &mut Vec<u8>) {
    let end = to.len() + bytes;
    for word in &words[..bytes.div_ceil(8)] {
        to.extend(word.load(Ordering::Relaxed).to_ne_bytes());
    }
    to.truncate(end);
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use motet_sync::atomic::Ordering;

    #[test]
    fn what_was_copied_in_comes_out() {
        let words: Vec<AtomicU64> = (0..9).map(|_| AtomicU64::new(u64::MAX)).collect();
        for length in [0, 1, 7, 8, 9, 64, 65, 72] {
            let bytes: Vec<u8> = (0..length).collect();
            let (near, far) = bytes.split_at(bytes.len() / 3);
            for past in [false, true] {
                words
                    .iter()
                    .for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
                copy_in(near, &words, 0, past);
                copy_in(far, &words, near.len(), past);
                let mut out = vec![99];
                copy_out(&words, bytes.len(), &mut out);
                assert_eq!((out[0], &out[1..]), (99, &bytes[..]));
            }
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn more_than_there_is_room_for_is_not_written() {
        copy_in(&[0; 7], &[AtomicU64::new(0)], 2, false);
    }
}
