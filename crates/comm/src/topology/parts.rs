//! Numbers cut into equal parts, one for each neighbour.

use crate::collectives::copy;
use crate::{CommError, Plain};

/// The length of each part when so many elements are cut into equal ones.
pub(super) fn part(
    name: &'static str,
    way: &str,
    elements: usize,
    parts: usize,
) -> Result<usize, CommError> {
    if elements.is_multiple_of(parts) {
        return Ok(elements.checked_div(parts).unwrap_or(0));
    }
    let problem =
        format!("{name} {way} {elements} elements cannot be cut into {parts} equal parts");
    Err(CommError::Arguments { problem })
}

/// Puts each part where it belongs: into `length` elements of its own.
pub(super) fn lay_out<T: Plain>(
    name: &'static str,
    parts: &[Option<Vec<T>>],
    length: usize,
    came: &mut [T],
) -> Result<(), CommError> {
    for (at, part) in parts.iter().enumerate() {
        if let Some(part) = part {
            copy(name, part, &mut came[at * length..][..length])?;
        }
    }
    Ok(())
}
