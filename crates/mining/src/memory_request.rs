//! What a run asks to lay into memory: more than there is would end the process.

use crate::DataError;
use std::hint::black_box;

/// Less is not tried: most runs ask for less, and ranks need not agree on it.
const SMALL: u128 = 1 << 30;

/// Memory for numbers of 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryRequest {
    what: &'static str,
    advice: &'static str,
    bytes: u128,
}

impl MemoryRequest {
    /// For `what` so many numbers are laid into memory at the same time. Where that is too much,
    /// `advice` says what to do.
    pub(crate) fn new(what: &'static str, numbers: u128, advice: &'static str) -> MemoryRequest {
        MemoryRequest {
            what,
            advice,
            bytes: numbers.saturating_mul(8),
        }
    }

    pub(crate) fn is_small(&self) -> bool {
        self.bytes < SMALL
    }

    /// Whether the system gives so much at present.
    pub(crate) fn is_there(&self) -> bool {
        let mut trial = Vec::<u8>::new();
        let bytes = usize::try_from(self.bytes);
        let there = bytes.is_ok_and(|bytes| trial.try_reserve_exact(bytes).is_ok());
        // Else the compiler may leave out an allocation that nobody uses.
        black_box(&trial);
        there
    }

    pub(crate) fn error(&self) -> DataError {
        DataError::Memory {
            what: self.what,
            bytes: u64::try_from(self.bytes).unwrap_or(u64::MAX),
            advice: self.advice,
        }
    }
}

/// So many zeros, for `what`.
///
/// # Errors
/// [`DataError::Memory`] where there is no room for them.
pub(crate) fn zeros<T: Clone + Default>(
    what: &'static str,
    count: u128,
    advice: &'static str,
) -> Result<Vec<T>, DataError> {
    let mut zeros = Vec::new();
    let length = usize::try_from(count).unwrap_or(usize::MAX);
    match zeros.try_reserve_exact(length) {
        Ok(()) => {
            zeros.resize(length, T::default());
            Ok(zeros)
        }
        Err(_) => {
            let bytes = count.saturating_mul(size_of::<T>() as u128);
            Err(MemoryRequest {
                what,
                advice,
                bytes,
            }
            .error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_not_there_and_the_bytes_are_told() {
        let some = MemoryRequest::new("the numbers", 1 << 10, "ask for fewer");
        assert!(some.is_small() && some.is_there());
        let some = zeros::<f64>("the numbers", 1 << 10, "ask for fewer");
        assert_eq!(some, Ok(vec![0.0_f64; 1 << 10]));
        for (numbers, bytes) in [(1 << 47, 1 << 50), (u128::MAX, u64::MAX)] {
            let asked = MemoryRequest::new("the numbers", numbers, "ask for fewer");
            assert!(!asked.is_small() && !asked.is_there());
            let error = zeros::<f64>("the numbers", numbers, "ask for fewer").unwrap_err();
            assert_eq!(error, asked.error());
            let words = format!("the numbers would take {bytes} bytes");
            assert!(error.to_string().starts_with(&words), "{error}");
            assert!(error.to_string().ends_with("ask for fewer"), "{error}");
        }
    }
}
