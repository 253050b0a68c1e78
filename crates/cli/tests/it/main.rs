//! Tests of the program as a user runs it.

mod bench;
mod cancel;
mod errors;
mod help;
mod input;
mod output;
mod places;
mod program;
mod results;
