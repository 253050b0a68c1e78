//! The suite's files, pictures and page from outside.

mod others;
mod pictures;
mod verdicts;
