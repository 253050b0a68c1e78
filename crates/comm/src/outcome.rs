//! What a run has ended with, for the program.

use crate::run::RunEnd;
use crate::{Profile, Unmatched};

/// What a run ended with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome<R> {
    /// What each rank has returned, in rank order.
    pub results: Vec<R>,
    /// Messages that nobody has received: by the rank they were sent to, in the order in which they
    /// came.
    pub unmatched: Vec<Unmatched>,
    /// Where the time went, if the world is to be [profiled](crate::World::profile); over several
    /// processes in process 0 only.
    pub profile: Option<Profile>,
}

impl<R> Outcome<R> {
    pub(crate) fn new(ended: RunEnd<R>) -> Self {
        let RunEnd {
            results,
            unmatched,
            profile,
        } = ended;
        Outcome {
            results,
            unmatched,
            profile,
        }
    }
}
