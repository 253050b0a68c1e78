//! What must not compile.
//!
//! A value that may not leave its thread cannot be sent, not even as one that stays in its process:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError, Local};
//! async fn send(comm: Communicator) -> Result<(), CommError> {
//!     comm.send(0, 0, Local(std::rc::Rc::new(1))).await
//! }
//! ```
//!
//! … nor brought to a collective:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError, Local};
//! async fn gather(comm: Communicator) -> Result<(), CommError> {
//!     comm.gather(0, Local(std::rc::Rc::new(1))).await.map(drop)
//! }
//! ```
//!
//! A type that serde cannot write is no message; as a `Local` it would be:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! struct Opaque(u8);
//! async fn send(comm: Communicator) -> Result<(), CommError> {
//!     comm.send(0, 0, Opaque(1)).await
//! }
//! ```
//!
//! … nor is one that serde can write and not read:
//! ```compile_fail,E0277
//! use motet_comm::{Communicator, CommError};
//! #[derive(serde::Serialize)]
//! struct Told(u8);
//! async fn gather(comm: Communicator) -> Result<(), CommError> {
//!     comm.gather(0, Told(1)).await.map(drop)
//! }
//! ```
//!
//! … nor what borrows, since there is nothing to borrow from in another process:
//! ```compile_fail
//! use motet_comm::{Communicator, CommError};
//! async fn recv(comm: Communicator) -> Result<&'static str, CommError> {
//!     comm.recv::<&'static str>(0, 0).await
//! }
//! ```
//!
//! What does compile, and differs from the above in one thing each:
//! ```
//! use motet_comm::{Communicator, CommError, Local};
//! struct Opaque(u8);
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Told(u8);
//! async fn all(comm: Communicator) -> Result<String, CommError> {
//!     comm.send(0, 0, Local(Opaque(1))).await?;
//!     comm.gather(0, Local(std::sync::Arc::new(1))).await?;
//!     comm.gather(0, Told(1)).await?;
//!     comm.recv::<String>(0, 0).await
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
