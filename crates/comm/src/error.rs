//! What can go wrong.
/// A communication call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommError {}
impl std::fmt::Display for CommError {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}
impl std::error::Error for CommError {}
/// A run failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// A rank returned an error.
    Rank {
        /// Which.
        rank: usize,
        /// Its error.
        error: E,
    },
}
