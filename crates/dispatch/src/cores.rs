//! The cores to which the threads of a dispatcher are bound.

use core_affinity::{CoreId, get_core_ids};
use std::io;

/// The cores of the threads, in turn: those that are stated, else all if threads are to be bound,
/// else none.
///
/// # Errors
/// A core is stated that the process may not use.
pub(crate) fn bound(stated: &[usize], pin: bool) -> io::Result<Vec<CoreId>> {
    if stated.is_empty() {
        let all = pin.then(get_core_ids).flatten();
        return Ok(all.unwrap_or_default());
    }
    chosen(stated, &get_core_ids().unwrap_or_default())
}

fn chosen(stated: &[usize], there: &[CoreId]) -> io::Result<Vec<CoreId>> {
    let find = |&id: &usize| {
        let core = there.iter().find(|core| core.id == id);
        core.copied().ok_or_else(|| missing(id, there))
    };
    stated.iter().map(find).collect()
}

fn missing(id: usize, there: &[CoreId]) -> io::Error {
    let ids: Vec<String> = there.iter().map(|core| core.id.to_string()).collect();
    let text = match ids.is_empty() {
        true => "this system does not say which cores there are: state none".to_owned(),
        false => format!(
            "core {id} is none of those that this process may use: state some of {}",
            ids.join(", ")
        ),
    };
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn sem_g36_a_core_that_is_not_there_is_named_with_those_that_are() {
        let there = [0, 2, 5].map(|id| CoreId { id });
        let ids = chosen(&[5, 0, 5], &there).unwrap();
        assert_eq!(
            ids.iter().map(|core| core.id).collect::<Vec<_>>(),
            [5, 0, 5]
        );
        let error = chosen(&[0, 1], &there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("core 1"), "{error}");
        assert!(error.to_string().contains("some of 0, 2, 5"), "{error}");
        let nowhere = chosen(&[0], &[]).unwrap_err().to_string();
        assert!(nowhere.contains("does not say which"), "{nowhere}");
    }
}
