//! Parallel data mining.
