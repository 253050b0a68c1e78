//! What the attribute `contract` makes of a trait, as traits.

use super::client::Client;
use crate::context::complete;
use crate::json::Answering;
use crate::weight::length;
use crate::{Cx, Fault, Operation, Options, Service, StateType};
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A contract, as a type: what [`contract`](macro@crate::contract) makes of a trait. The names of
/// its parts are those of the trait with `Contract`, `Request`, `Client` behind.
pub trait Contract: Sized + Send + Sync + 'static {
    /// Its name in the world.
    const URI: &'static str;
    /// Whether clients may set the whole state.
    const REPLACE: bool;
    /// Whether clients may change it by merge patch (RFC 7396).
    const PATCH: bool;
    /// Its operations, beside the uniform ones that all have.
    const OPERATIONS: &'static [Operation];
    /// Whether it has others, too, which [`Contract::call_named`] alone finds.
    const IS_OPEN: bool = false;
    /// The state of services that have it.
    type State: StateType;
    /// An operation with its body.
    type Request: Clone + fmt::Debug + Send + Sync + 'static;
    /// Where its answer goes.
    type Reply: Send + 'static;
    /// Its answer.
    type Outcome: Send + 'static;
    /// The typed client.
    type Client: From<Client<Self>>
        + ContractClient<Contract = Self>
        + Clone
        + Send
        + Sync
        + 'static;

    /// Which operation it is.
    fn operation(request: &Self::Request) -> &'static Operation;

    /// Its body.
    ///
    /// # Errors
    /// A fault when the body does not fit JSON.
    fn body(request: &Self::Request) -> Result<Value, Fault>;

    /// The bytes of its body as JSON; `usize::MAX` when it does not fit. The attribute has none
    /// made to tell it.
    fn length(request: &Self::Request) -> usize {
        Self::body(request).map_or(usize::MAX, |body| length(&body))
    }

    /// Answers with a fault.
    fn refuse(reply: Self::Reply, fault: Fault);

    /// Answers; `false` when nobody waits any more.
    fn post(reply: Self::Reply, outcome: Self::Outcome) -> bool;

    /// Answers with an answer that was given before.
    fn post_stored(reply: Self::Reply, value: Value);

    /// The fault, if it is one.
    fn fault(outcome: &Self::Outcome) -> Option<&Fault>;

    /// The answer as JSON.
    ///
    /// # Errors
    /// The fault that it is, or one that says why it does not fit JSON.
    fn value(outcome: &Self::Outcome) -> Result<Value, Fault>;

    /// Calls an operation by its name.
    fn call_named(
        client: Client<Self>,
        operation: &str,
        body: Value,
        options: Options,
    ) -> Answering;
}

/// How a contract's operations are carried out by a service: implemented by the attribute for every
/// type that implements the trait.
pub trait Serves<S>: Contract {
    /// Runs a concurrent operation.
    fn concurrent<'a>(
        service: &'a S,
        cx: &'a Cx,
        request: Self::Request,
    ) -> impl Future<Output = Self::Outcome> + Send + 'a;

    /// Runs an exclusive operation.
    fn exclusive<'a>(
        service: &'a mut S,
        cx: &'a Cx,
        request: Self::Request,
    ) -> impl Future<Output = Self::Outcome> + Send + 'a;

    /// Runs a concurrent operation whose method is not async.
    fn concurrent_now(service: &S, cx: &Cx, request: Self::Request) -> Self::Outcome {
        complete(Self::concurrent(service, cx, request))
    }

    /// Runs an exclusive operation whose method is not async.
    fn exclusive_now(service: &mut S, cx: &Cx, request: Self::Request) -> Self::Outcome {
        complete(Self::exclusive(service, cx, request))
    }

    /// Runs the last operation.
    fn teardown(
        service: S,
        cx: &Cx,
        request: Self::Request,
    ) -> impl Future<Output = Self::Outcome> + Send;

    /// Runs an operation without the service.
    fn independent(cx: &Cx, request: Self::Request) -> impl Future<Output = Self::Outcome> + Send;

    /// The periodic operations.
    fn beats() -> Vec<(Duration, Self::Request)>;
}

/// A typed client, and the contract that it calls.
pub trait ContractClient: From<Client<Self::Contract>> {
    /// The contract.
    type Contract: Contract;
}

/// The contract of a service.
pub(crate) type ContractOf<S> = <S as Service>::Contract;

/// The state of a service.
pub(crate) type StateOf<S> = <<S as Service>::Contract as Contract>::State;
