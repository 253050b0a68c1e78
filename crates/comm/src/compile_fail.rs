//! What must not compile.
//!
//! A value that may not leave its thread cannot be sent:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! async fn send(comm: Communicator) -> Result<(), CommError> {
//!     comm.send(0, 0, std::rc::Rc::new(1)).await
//! }
//! ```
//!
//! … nor brought to a collective:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! async fn gather(comm: Communicator) -> Result<(), CommError> {
//!     comm.gather(0, std::rc::Rc::new(1)).await.map(drop)
//! }
//! ```
//!
//! What everyone reads must be such that several threads may read it:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! use std::cell::Cell;
//! async fn told(comm: Communicator) -> Result<(), CommError> {
//!     comm.broadcast(0, Some(Cell::new(1))).await.map(drop)
//! }
//! ```
//!
//! Only plain numbers are copied in place:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! async fn words(comm: Communicator, room: &mut [String]) -> Result<(), CommError> {
//!     comm.recv_into(room, 0, 0).await.map(drop)
//! }
//! ```
//!
//! … and nobody else can say what is one:
//! ```compile_fail,E0277
//! #[derive(Clone, Copy)]
//! struct Mine(u8);
//! impl motet_comm::Plain for Mine {}
//! ```
//!
//! An operator combines two values of the one type:
//! ```compile_fail,E0308
//! use motet_comm::{Communicator, CommError};
//! async fn sum(comm: Communicator) -> Result<u8, CommError> {
//!     comm.allreduce(1u8, |a, b| u16::from(a) + u16::from(b)).await
//! }
//! ```
//!
//! Room that a started receive will fill cannot be read before the receive is waited for:
//! ```compile_fail,E0502
//! use motet_comm::{Communicator, CommError};
//! async fn early(comm: Communicator) -> Result<(), CommError> {
//!     let mut room = [0u8; 4];
//!     let came = comm.irecv_into(&mut room, 0, 0);
//!     println!("{}", room[0]);
//!     came.wait().await.map(drop)
//! }
//! ```
//!
//! Only floating-point numbers have a sum to be rounded:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! async fn whole(comm: Communicator) -> Result<u32, CommError> {
//!     comm.reproducible_sum(&[1u32]).await
//! }
//! ```
//!
//! A communicator stays with its rank:
//! ```compile_fail,E0277
//! fn elsewhere(comm: motet_comm::Communicator) {
//!     std::thread::spawn(move || comm.size());
//! }
//! ```
