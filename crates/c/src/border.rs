//! The functions of `motet.h`. Pointers of the caller are looked at here, and nowhere else.

mod arbiter;
mod bytes;
mod callback;
mod calls;
mod collectives;
mod comm;
mod dispatcher;
mod errors;
mod interleave;
mod item;
mod port;
mod site;
mod world;

pub(crate) use bytes::Item;
pub(crate) use site::site;
