//! The attributes of `motet-service`: what turns a trait into a contract and a struct into a
//! service.
//!
//! - Depends on: `syn`, `quote`, `proc-macro2`.
//! - Used by: `motet-service`, which documents and re-exports all of it.
//!
//! ```text
//!   #[contract] trait Drive ──> DriveContract, DriveRequest, DriveReply, DriveOutcome, DriveClient
//!   #[derive(Service)] struct ──> impl Service      #[data] struct ──> serde, schema, Clone
//! ```
//!
//! ```
//! // What is written in a program: see the crate `motet-service`.
//! let attributes = ["contract", "data", "Service", "IntoFault"];
//! assert_eq!(attributes.len(), 4);
//! ```
//!
//! Read next: `contract.rs` (what is read of a trait), `expand.rs` (what is made of it).
#![forbid(unsafe_code)]

mod contract;
mod data;
mod expand;
mod method;
mod service;

use proc_macro::TokenStream;
use syn::{DeriveInput, ItemTrait, parse_macro_input};

/// Makes a contract of a trait: see `motet_service::contract`.
#[proc_macro_attribute]
pub fn contract(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as contract::Arguments);
    let item = parse_macro_input!(item as ItemTrait);
    finish(contract::Contract::read(arguments, item).map(|contract| expand::expand(&contract)))
}

/// Makes a service of a struct: see `motet_service::Service`.
#[proc_macro_derive(Service, attributes(service, state, partner))]
pub fn service(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    finish(service::expand(&item))
}

/// Makes a fault of a type of errors: see `motet_service::Fault`.
#[proc_macro_derive(IntoFault, attributes(fault))]
pub fn into_fault(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    finish(data::into_fault(&item))
}

/// Derives what bodies, answers and states need: see `motet_service::data`.
#[proc_macro_attribute]
pub fn data(_: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    data::data(&item).into()
}

fn finish(made: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    made.unwrap_or_else(|error| error.to_compile_error()).into()
}
