//! What stays here of programs in C beyond a call: memory, functions, and a place in the source.

mod bytes;
mod callback;
mod site;

pub(crate) use bytes::{AlignedBytes, ReleaseBytes};
pub(crate) use callback::{BodyFunction, Callback, Function, Handler, JoinHandler};
pub(crate) use site::site;
