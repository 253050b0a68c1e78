//! The suite's files, pictures and page from outside.

mod pictures;
mod verdicts;
