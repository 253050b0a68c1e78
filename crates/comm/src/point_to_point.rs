//! Messages from one rank to another, matched by source and tag.
//!
//! | MPI | here |
//! |---|---|
//! | standard, buffered, ready send | [`Communicator::send`](crate::Communicator::send): a send never waits, and whether the receive is posted changes nothing |
//! | synchronous send | [`ssend`](crate::Communicator::ssend) |
//! | receive, any source, any tag | [`recv`](crate::Communicator::recv), [`recv_with_status`](crate::Communicator::recv_with_status) |
//! | started and waited for later | [`isend`](crate::Communicator::isend), [`issend`](crate::Communicator::issend), [`irecv`](crate::Communicator::irecv) |
//! | probe, matched probe | [`probe`](crate::Communicator::probe), [`iprobe`](crate::Communicator::iprobe), [`mprobe`](crate::Communicator::mprobe), [`improbe`](crate::Communicator::improbe) |
//! | numbers in place | [`send_slice`](crate::Communicator::send_slice), [`recv_into`](crate::Communicator::recv_into) |
//! | persistent | [`send_init`](crate::Communicator::send_init), [`ssend_init`](crate::Communicator::ssend_init), [`recv_init`](crate::Communicator::recv_init) |

mod layouts;
mod persistent;
mod probe;
mod recv;
mod room;
mod send;
mod sendrecv;
mod slices;

pub use persistent::{PersistentRecv, PersistentSend};
pub use probe::{Message, Probe};
pub(crate) use recv::{Receiving, Use, open, unopened};
