//! What a rank calls when it comes to a meeting, so that ranks in different calls can be told.

use crate::CommError;
use crate::report::{Operation, Wait};
use std::any::type_name;
use std::panic::Location;

/// A collective call of one rank. Small: each rank's cell holds one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    name: &'static str,
    location: &'static Location<'static>,
    /// Of the elements.
    type_name: fn() -> &'static str,
    /// The number of elements, where all ranks must have the same number.
    length: u64,
    root: u32,
}

/// No root, no common length.
const NONE: u32 = u32::MAX;
const ANY_LENGTH: u64 = u64::MAX;

impl Call {
    /// A call with elements of type `T`.
    pub(crate) fn new<T>(name: &'static str, location: &'static Location<'static>) -> Self {
        Call {
            name,
            location,
            type_name: type_name::<T>,
            length: ANY_LENGTH,
            root: NONE,
        }
    }

    /// With this root.
    pub(crate) fn root(mut self, root: usize) -> Self {
        self.root = u32::try_from(root).unwrap_or(NONE);
        self
    }

    /// With so many elements on every rank.
    pub(crate) fn length(mut self, length: usize) -> Self {
        self.length = length as u64;
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// What the rank waits for in it.
    pub(crate) fn wait(&self, communicator: u32) -> Wait {
        Wait {
            operation: self.operation(),
            location: self.location.into(),
            communicator,
        }
    }

    pub(crate) fn operation(&self) -> Operation {
        Operation::Collective {
            name: self.name,
            root: (self.root != NONE).then_some(self.root as usize),
        }
    }

    fn describe(&self, rank: usize) -> String {
        format!(
            "rank {rank} calls {} at {}",
            self.operation(),
            self.location
        )
    }
}

/// Says that two ranks have called different things, if they have. (That they have brought different types
/// shows when the values are combined.)
pub(crate) fn mismatch(ranks: [usize; 2], one: &Call, other: &Call) -> Option<Box<CommError>> {
    if (one.name, one.root) != (other.name, other.root) {
        return Some(Box::new(CommError::Mismatch {
            one: one.describe(ranks[0]),
            other: other.describe(ranks[1]),
        }));
    }
    if one.length != other.length {
        let describe =
            |rank, call: &Call| format!("{} with {} elements", call.describe(rank), call.length);
        return Some(Box::new(CommError::Mismatch {
            one: describe(ranks[0], one),
            other: describe(ranks[1], other),
        }));
    }
    None
}

/// Says that two ranks have brought values of different types.
pub(crate) fn other_type(ranks: [usize; 2], one: &Call, other: &Call) -> Box<CommError> {
    let describe = |rank, call: &Call| {
        let name = (call.type_name)();
        format!("{} with a value of type {name}", call.describe(rank))
    };
    Box::new(CommError::Mismatch {
        one: describe(ranks[0], one),
        other: describe(ranks[1], other),
    })
}
