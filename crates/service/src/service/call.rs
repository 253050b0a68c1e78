//! A call: what is said before it is awaited.

use super::calling::{Calling, PostEntered, Stage};
use super::client::{Client, begin, no_answer};
use super::remote::call_out;
use super::run_now::{get_now, run_now};
use super::slot::{OperationBody, ServiceSlot};
use crate::context::CallContext;
use crate::json::{To, to_value};
use crate::options::Options;
use crate::patch::Patch;
use crate::{Contract, Fault, Remote, Snapshot};
use motet_ports::reply;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

/// A call of an operation, made when it is awaited.
///
/// # Cancellation
/// Dropping the future gives up the answer. The operation is carried out all the same, if it has
/// begun or is exclusive.
#[must_use = "a call that is not awaited is not made"]
pub struct Call<C: Contract, T: Send + 'static> {
    client: Client<C>,
    make: Make<C, T>,
    /// `None`: it says nothing. To make and to drop default options takes a tenth of a short call.
    options: Option<Options>,
}

/// What is called.
pub(crate) enum Make<C: Contract, T: Send + 'static> {
    Operation(
        C::Request,
        fn(To<T>) -> C::Reply,
        fn(C::Outcome) -> Result<T, Fault>,
    ),
    Get(fn(To<T>) -> OperationBody<C>, fn(Snapshot<C::State>) -> T),
    Uniform(Uniform<C>, fn(Uniform<C>, To<T>) -> OperationBody<C>),
}

/// What the reply to an operation is, and its outcome to the caller.
type MadeOf<C, T> = (
    fn(To<T>) -> <C as Contract>::Reply,
    fn(<C as Contract>::Outcome) -> Result<T, Fault>,
);

/// The outcome of what is called; or its request, with the slot.
type RunOr<C> = Result<
    Result<<C as Contract>::Outcome, Fault>,
    (<C as Contract>::Request, Arc<ServiceSlot<C>>),
>;

/// An operation that all services have.
pub(crate) enum Uniform<C: Contract> {
    Replace(Box<C::State>),
    Patch(Patch),
    Save,
    Drop,
    Unsubscribe(u64),
}

impl<C: Contract, T: Send + 'static> Call<C, T> {
    pub(crate) fn new(client: Client<C>, make: Make<C, T>) -> Self {
        Call {
            client,
            make,
            options: None,
        }
    }

    fn options(&mut self) -> &mut Options {
        self.options.get_or_insert_default()
    }

    /// How long the answer may take.
    pub fn within(mut self, span: Duration) -> Self {
        self.options().within = Some(span);
        self
    }

    /// Only if the state has this version; else
    /// [`PreconditionFailed`](crate::FaultCode::PreconditionFailed). What ends a service takes no
    /// version: it is refused.
    pub fn if_version(mut self, version: u64) -> Self {
        self.options().if_version = Some(version);
        self
    }

    /// What tells a repeated request from a new one. An exclusive operation with a key is carried
    /// out once, and its answer given again for 24 hours.
    pub fn key(mut self, key: &str) -> Self {
        self.options().key = Some(key.into());
        self
    }

    /// Who calls.
    pub fn principal(mut self, name: &str) -> Self {
        self.options().principal = Some(name.into());
        self
    }

    /// Waits for room when as many operations wait as may.
    pub fn wait_for_room(mut self) -> Self {
        self.options().wait_for_room = true;
        self
    }

    /// Has the node's debugger keep the request and its answer.
    pub fn capture(mut self) -> Self {
        self.options().capture = true;
        self
    }

    /// By a job of the service itself, which may do what the service may.
    pub(crate) fn by_itself(mut self) -> Self {
        self.options().is_own = true;
        self
    }

    /// A header, which the handler finds by its type ([`Cx::header`](crate::Cx::header)). It does
    /// not leave the process.
    pub fn header(mut self, header: impl Any + Send + Sync) -> Self {
        self.options().headers.push(Arc::new(header));
        self
    }

    /// All of that.
    pub fn with(mut self, options: Options) -> Self {
        self.options = Some(options);
        self
    }
}

impl<C, T> IntoFuture for Call<C, T>
where
    C: Contract,
    T: DeserializeOwned + Send + 'static,
{
    type Output = Result<T, Fault>;
    type IntoFuture = Calling<T>;

    /// Makes the call.
    fn into_future(mut self) -> Calling<T> {
        // The options stay where they are: to move them takes as long as a short handler.
        let context = CallContext::inherited();
        if context.as_ref().is_some_and(CallContext::is_captured) {
            self.options().capture = true;
        }
        let slot = match self.client.into_slot() {
            Ok(slot) => slot,
            Err(remote) => {
                return Calling(self.make.send(&remote, self.options.unwrap_or_default()));
            }
        };
        let options = self.options.as_mut();
        Calling(match self.make {
            Make::Operation(request, reply, read) => {
                match run(slot, request, options, context.as_ref()) {
                    Ok(outcome) => Stage::Done(Some(outcome.and_then(read))),
                    Err((request, slot)) => {
                        let make = (reply, read);
                        begin_or_post(slot, request, make, self.options, context)
                    }
                }
            }
            Make::Get(make, read) => match get(&slot, options.as_deref(), context.as_ref()) {
                Some(state) => Stage::Done(Some(state.map(read))),
                None => {
                    Make::Get(make, read).post(&slot, self.options.unwrap_or_default(), context)
                }
            },
            uniform @ Make::Uniform(..) => {
                uniform.post(&slot, self.options.unwrap_or_default(), context)
            }
        })
    }
}

impl<C: Contract, T: DeserializeOwned + Send + 'static> Make<C, T> {
    /// Has the operation carried out by a service of another process.
    #[cold]
    fn send(self, remote: &Arc<dyn Remote>, options: Options) -> Stage<T> {
        let sent = self.write();
        Stage::sent(sent.and_then(|(name, body)| call_out(remote, name, body, options)))
    }
}

/// Has an operation carried out here and now; given back when it would have to wait.
#[inline]
fn run<C: Contract>(
    slot: Arc<ServiceSlot<C>>,
    request: C::Request,
    options: Option<&mut Options>,
    context: Option<&CallContext>,
) -> RunOr<C> {
    let operation = C::operation(&request);
    let may = || slot.direct(Some(operation), options.as_deref(), context);
    // One that is async begins otherwise.
    let direct = (!operation.is_async).then(may).flatten();
    if direct.is_none() {
        return Err((request, slot));
    }
    let mut outcome = None;
    let ran = match options.as_deref().is_some_and(|options| options.at_once) {
        true => {
            let common = Arc::clone(&slot.common);
            let run = || run_now(slot, operation, request, options, context, &mut outcome);
            let panicked = || Ok(Err(no_answer(&common.path)));
            common.as_task(run).unwrap_or_else(panicked)
        }
        false => run_now(slot, operation, request, options, context, &mut outcome),
    };
    ran.map(|ended| ended.map(|()| outcome.expect("a handler that ends has one")))
}

/// Begins an async operation here and now, or posts it. Out of the way of operations that are
/// carried out at once: their callers would set up its room, too.
#[inline(never)]
fn begin_or_post<C: Contract, T: DeserializeOwned + Send + 'static>(
    slot: Arc<ServiceSlot<C>>,
    request: C::Request,
    (reply, read): MadeOf<C, T>,
    mut options: Option<Options>,
    context: Option<CallContext>,
) -> Stage<T> {
    let operation = C::operation(&request);
    let may = || slot.direct(Some(operation), options.as_ref(), context.as_ref());
    let direct = operation.is_async.then(may).flatten();
    let begun = match direct.map(|at_once| at_once.begin) {
        Some(begin) => begin(slot, request, options.as_mut(), context.as_ref()),
        None => Err((request, slot)),
    };
    match begun {
        Ok(begun) => begun.awaited(read),
        Err((request, slot)) => {
            let make = Make::Operation(request, reply, read);
            make.post(&slot, options.unwrap_or_default(), context)
        }
    }
}

/// Get, here and now. `None`: it would have to wait.
#[inline]
fn get<C: Contract>(
    slot: &ServiceSlot<C>,
    options: Option<&Options>,
    context: Option<&CallContext>,
) -> Option<Result<Snapshot<C::State>, Fault>> {
    let at_once = slot.direct(None, options, context)?;
    get_now(slot, at_once, options, context)
}

impl<C: Contract, T: Send + 'static> Make<C, T> {
    /// Posts the operation.
    fn post(
        self,
        slot: &Arc<ServiceSlot<C>>,
        options: Options,
        context: Option<CallContext>,
    ) -> Stage<T> {
        let (to, answer) = reply();
        let what = self.into_what(to);
        if options.wait_for_room {
            let (slot, common) = (Arc::clone(slot), Arc::clone(&slot.common));
            let verb = what.verb();
            let post: PostEntered = Box::new(move |entered| slot.post_entered(what, entered));
            return Stage::waits_for_room(common, verb, options, context, post, answer);
        }
        let posted = begin(slot, what, options, true);
        Stage::posted(posted, answer, &slot.common)
    }

    fn into_what(self, to: To<T>) -> OperationBody<C> {
        match self {
            Make::Operation(request, reply, _) => OperationBody::Request(request, Some(reply(to))),
            Make::Get(make, _) => make(to),
            Make::Uniform(uniform, make) => make(uniform, to),
        }
    }

    /// The name and the body, for another process.
    fn write(&self) -> Result<(&'static str, Value), Fault> {
        match self {
            Make::Operation(request, ..) => Ok((C::operation(request).name, C::body(request)?)),
            Make::Get(..) => Ok(("get", Value::Null)),
            Make::Uniform(uniform, _) => uniform.write(),
        }
    }
}

impl<C: Contract> Uniform<C> {
    fn write(&self) -> Result<(&'static str, Value), Fault> {
        Ok(match self {
            Uniform::Replace(state) => ("replace", to_value(state)?),
            Uniform::Patch(patch) => (patch.name(), patch.body()),
            Uniform::Save => ("save", Value::Null),
            Uniform::Drop => ("drop", Value::Null),
            Uniform::Unsubscribe(id) => ("unsubscribe", Value::from(*id)),
        })
    }
}

impl<C: Contract, T: Send + 'static> fmt::Debug for Call<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("client", &self.client)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
