//! What must not compile.
//!
//! A read cannot change the state:
//!
//! ```compile_fail,E0596
//! use motet_service::{Service, State, contract, data};
//! #[data]
//! #[derive(Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts { #[query] fn next(&self) -> u64; }
//! #[derive(Service)]
//! #[service(contract = Counts)]
//! struct Counter { #[state] count: State<Count> }
//! impl Counts for Counter {
//!     fn next(&self) -> u64 { self.count.n += 1; self.count.n }
//! }
//! ```
//!
//! A verb that changes the state needs a receiver that may:
//!
//! ```compile_fail
//! use motet_service::{contract, data};
//! #[data]
//! #[derive(Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts { #[update] fn next(&self) -> u64; }
//! ```
//!
//! An operation has one body:
//!
//! ```compile_fail
//! use motet_service::{contract, data};
//! #[data]
//! #[derive(Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts { #[update] fn add(&mut self, n: u64, times: u64); }
//! ```
//!
//! Operations are variants of one enum, so none of them swallows another, and no two have one name
//! (DSS 22):
//!
//! ```compile_fail,E0428
//! use motet_service::{contract, data};
//! #[data]
//! #[derive(Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts {
//!     #[update] fn add(&mut self, n: u64);
//!     #[update] fn add(&mut self, n: u32);
//! }
//! ```
//!
//! All services have operations of these names, by which a call would reach those:
//!
//! ```compile_fail
//! use motet_service::{contract, data};
//! #[data]
//! #[derive(Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts { #[update] fn save(&mut self); }
//! ```
//!
//! A period is one that a clock has:
//!
//! ```compile_fail
//! use motet_service::{contract, data};
//! #[data]
//! #[derive(Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts { #[every(seconds = 1e30)] fn beat(&mut self); }
//! ```
//!
//! A state is what can be written and read again, and has a schema:
//!
//! ```compile_fail,E0277
//! use motet_service::contract;
//! #[derive(Clone, Default)]
//! struct Count { n: u64 }
//! #[contract(uri = "doc:count/1", state = Count)]
//! trait Counts { #[query] fn next(&self) -> u64; }
//! ```
