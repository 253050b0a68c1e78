//! One part for each rank, which takes its own.

use crate::wire::Numbers;
use crate::{CommError, Plain};
use motet_sync::Mutex;

/// Parts in rank order.
pub(super) struct RankParts<T>(Vec<Mutex<Option<T>>>);

impl<T> RankParts<T> {
    pub(super) fn new(parts: impl IntoIterator<Item = T>) -> Self {
        let lay = |part| Mutex::new(Some(part));
        RankParts(parts.into_iter().map(lay).collect())
    }

    /// Takes the part of a rank, once.
    pub(super) fn take(&self, rank: usize) -> T {
        let part = self.0[rank].lock().take();
        part.expect("each rank takes its own part, once")
    }
}

/// `left` followed by `right`.
pub(super) fn append<T>(mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
    left.append(&mut right);
    left
}

/// Combines the elements of `right` into those of `left`.
pub(super) fn each<T: Copy>(op: impl Fn(T, T) -> T) -> impl Fn(Vec<T>, Vec<T>) -> Vec<T> {
    move |mut left, right| {
        for (left, right) in left.iter_mut().zip(right) {
            *left = op(*left, right);
        }
        left
    }
}

/// The same of numbers that may have come from another process.
pub(super) fn each_of<T: Plain>(
    op: impl Fn(T, T) -> T,
) -> impl Fn(Numbers<T>, Numbers<T>) -> Numbers<T> {
    move |left, right| left.each(right, &op)
}

/// Copies numbers to where they shall be; says what is wrong when there is not just that much room.
pub(crate) fn copy<T: Copy>(
    operation: &'static str,
    numbers: &[T],
    room: &mut [T],
) -> Result<(), CommError> {
    if numbers.len() != room.len() {
        return Err(CommError::Arguments {
            problem: format!(
                "{operation} brings {} elements, and there is room for {}",
                numbers.len(),
                room.len()
            ),
        });
    }
    room.copy_from_slice(numbers);
    Ok(())
}

/// Where the part of each of `size` ranks ends among `given` elements, if the lengths make up just
/// these; otherwise what is wrong.
pub(super) fn cut(
    operation: &str,
    given: usize,
    counts: &[usize],
    size: usize,
) -> Result<Vec<usize>, String> {
    let mut ends = Vec::with_capacity(counts.len());
    let mut end = Some(0_usize);
    for &count in counts {
        end = end.and_then(|end| end.checked_add(count));
        ends.extend(end);
    }
    let parts = counts.len();
    if parts == size && end == Some(given) {
        return Ok(ends);
    }
    let held = end.map_or_else(|| "too many".to_owned(), |end| end.to_string());
    Err(format!(
        "{operation} of {given} elements, in {parts} parts that hold {held}, among {size} ranks"
    ))
}
