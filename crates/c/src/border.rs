//! The functions of `motet.h`. Pointers of the caller are looked at here.

mod arbiter;
mod calls;
mod collectives;
mod comm;
mod dispatcher;
mod errors;
mod interleave;
mod item;
mod port;
mod requests;
mod world;
