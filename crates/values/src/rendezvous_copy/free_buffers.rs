//! Memory for numbers that are saved, kept by their sender for the next: fresh memory costs more
//! than the copy.

use super::Saved;
use motet_sync::Mutex;

/// Bytes that are kept at most.
const MOST_KEPT: usize = 128 * 1024 * 1024;

/// Memory of pieces that were saved and have been fetched; of one sender, whose end gives it back.
#[derive(Debug, Default)]
pub struct FreeBuffers(Mutex<Vec<Vec<u8>>>);

impl FreeBuffers {
    /// Empty memory for so many bytes, of the size of all other pieces.
    pub(super) fn take(&self, bytes: usize) -> Vec<u8> {
        debug_assert!(bytes <= super::PIECE);
        let kept = self.0.lock().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(super::PIECE))
    }

    /// Keeps the memory of these.
    pub(super) fn keep(&self, pieces: Vec<Saved>) {
        let mut kept = self.0.lock();
        for Saved { mut bytes, .. } in pieces {
            if kept.len() >= MOST_KEPT / super::PIECE {
                break;
            }
            bytes.clear();
            kept.push(bytes);
        }
    }

    /// How many pieces there is memory for.
    #[cfg(all(test, not(motet_loom)))]
    pub(super) fn kept(&self) -> usize {
        self.0.lock().len()
    }
}
