//! What stays here of programs in C beyond a call: memory, functions, and a place in the source.

mod bytes;
mod callback;
mod site;

pub(crate) use bytes::{Item, ReleaseBytes};
pub(crate) use callback::{Body, Callback, Function, Handler, JoinHandler};
pub(crate) use site::site;
