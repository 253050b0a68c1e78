//! What must not compile where `unused_must_use` is denied. An arbiter that is built and never
//! activated and a wait that is never awaited do nothing, and the compiler says so (G263).
//!
//! This is well:
//!
//! ```
//! #![deny(unused_must_use)]
//! use motet_ports::{Port, Receive};
//! let port = Port::new();
//! Receive::once(&port, |_: u32| ()).activate(&motet_dispatch::Inline::new("here")).unwrap();
//! motet_ports::wait_blocking_for(port.ready(), std::time::Duration::ZERO).unwrap_err();
//! ```
//!
//! These are not:
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use motet_ports::{Port, Receive};
//! let port = Port::new();
//! Receive::once(&port, |_: u32| ());
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use motet_ports::{MultipleItemReceive, Port};
//! let port = Port::new();
//! MultipleItemReceive::once(&port, 2, |_: Vec<u32>| ());
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::Interleave::with_state(0);
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::ParallelLoop::new(&motet_dispatch::Inline::new("here")).for_each(0..2, |_| ());
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::BroadcastPort::<u32>::new().subscribe(1, motet_ports::Overflow::Reject);
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! use motet_ports::{JoinedReceive, Port};
//! let (p, q) = (Port::new(), Port::new());
//! JoinedReceive::once((&p, &q), |_: (u32, u32)| ());
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::FromHandler::new(|| ());
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::Port::<u32>::new().recv();
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::Port::<u32>::new().ready();
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::Port::<u32>::new().stream();
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::Port::<u32>::new().stream().until(std::future::ready(()));
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! motet_ports::reply::<u32>();
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! let (_to, answer) = motet_ports::reply::<u32>();
//! std::convert::identity(answer);
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! let answers = motet_ports::Port::<Result<u32, motet_ports::NoReply>>::new();
//! motet_ports::ReplyPort::to(&answers);
//! ```
//!
//! Nor does what cannot be handed to another thread become an item:
//!
//! ```compile_fail,E0277
//! let port = motet_ports::Port::<std::rc::Rc<u32>>::new();
//! ```
//!
//! And a reply port answers once:
//!
//! ```compile_fail,E0382
//! let (to, _answer) = motet_ports::reply();
//! to.post(1).unwrap();
//! to.post(2).unwrap();
//! ```
