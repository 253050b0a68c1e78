//! Copies that pass the caches by.

/// Copies of so many bytes and more fill the caches with what nobody reads again from there.
pub const LEAST: usize = 32 * 1024 * 1024;

/// Copies memory of any length as one that is larger than the caches is best copied. What is
/// written is not read before, and does not push out what is there.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`](std::ptr::copy_nonoverlapping).
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise.
    unsafe {
        x86::copy(from, to, bytes);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes);
    }
}

/// Copies a piece of what is `all` bytes long, past the caches if that is large.
///
/// # Panics
/// The lengths differ.
///
/// ```
/// use motet_values::non_temporal::copy_piece;
///
/// let mut to = [0; 3];
/// copy_piece(&[1, 2, 3], &mut to, 1 << 30);
/// assert_eq!(to, [1, 2, 3]);
/// ```
#[inline]
pub fn copy_piece(from: &[u8], to: &mut [u8], all: usize) {
    if all < LEAST {
        return to.copy_from_slice(from);
    }
    assert_eq!(from.len(), to.len(), "the room is for other bytes");
    // SAFETY: both are as long, and one is borrowed for writing.
    unsafe { copy(from.as_ptr(), to.as_mut_ptr(), from.len()) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    use std::ptr;

    /// A cache line.
    const LINE: usize = 64;
    /// What one instruction stores.
    const WORD: usize = size_of::<__m128i>();

    /// # Safety
    /// As for [`ptr::copy_nonoverlapping`].
    pub(super) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
        let before = to.align_offset(LINE).min(bytes);
        let lines = (bytes - before) / LINE * LINE;
        let after = before + lines;
        // SAFETY: all offsets are less than `bytes`, for which the caller vouches. The first line
        // of `to` begins at `before`, so what is stored there is aligned. SSE2 is part of x86-64.
        unsafe {
            ptr::copy_nonoverlapping(from, to, before);
            for line in (before..after).step_by(LINE) {
                for word in (line..line + LINE).step_by(WORD) {
                    let value = _mm_loadu_si128(from.add(word).cast());
                    _mm_stream_si128(to.add(word).cast(), value);
                }
            }
            // Such stores have no order of their own: whoever is told of them later is to see them.
            _mm_sfence();
            ptr::copy_nonoverlapping(from.add(after), to.add(after), bytes - after);
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    #[test]
    fn every_byte_comes_wherever_it_begins_and_ends() {
        let from: Vec<u8> = (0..1000_u32).map(|n| (n * 7 % 251) as u8).collect();
        for (first, at) in [(0, 0), (1, 0), (0, 1), (3, 63), (64, 17)] {
            for bytes in (0..200).chain([255, 256, 800]) {
                let mut to = vec![255; 1000];
                assert!(first + bytes <= from.len() && at + bytes <= to.len());
                // SAFETY: both have so many bytes from there.
                unsafe { super::copy(from[first..].as_ptr(), to[at..].as_mut_ptr(), bytes) };
                assert_eq!(to[at..at + bytes], from[first..first + bytes]);
                assert!(to[..at].iter().chain(&to[at + bytes..]).all(|&b| b == 255));
            }
        }
    }

    #[test]
    fn a_piece_comes_whole_whatever_it_is_a_piece_of() {
        let from: Vec<u8> = (0..777_u32).map(|n| (n * 7 % 251) as u8).collect();
        for all in [777, super::LEAST - 1, super::LEAST] {
            let mut to = vec![0; 777];
            super::copy_piece(&from, &mut to, all);
            assert_eq!(to, from, "a piece of {all}");
        }
    }

    #[test]
    #[should_panic(expected = "the room is for other bytes")]
    fn a_piece_does_not_go_into_room_of_another_length() {
        super::copy_piece(&[1; 5], &mut [0; 4], super::LEAST);
    }
}
