//! A call: what is said before it is awaited, and the wait.

use super::client::{Client, begin, no_answer, timeout};
use super::direct::gives_way;
use super::entrance::EnteredOperation;
use super::remote::call_out;
use super::slot::{Common, OperationBody, ServiceSlot};
use crate::context::CallContext;
use crate::deadlines::{ServiceWait, WaitEntry};
use crate::json::{Answering, To, from_value, to_value};
use crate::options::Options;
use crate::patch::Patch;
use crate::{Contract, Fault, Group, Remote, Snapshot, Verb};
use motet_ports::{Reply, reply};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll, Waker};
use std::time::{Duration, Instant};

/// A call of an operation, made when it is awaited.
///
/// # Cancellation
/// Dropping the future gives up the answer. The operation is carried out all the same, if it has
/// begun or is exclusive.
#[must_use = "a call that is not awaited is not made"]
pub struct Call<C: Contract, T: Send + 'static> {
    client: Client<C>,
    make: Make<C, T>,
    options: Options,
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
        let options = Options::default();
        Call {
            client,
            make,
            options,
        }
    }

    /// How long the answer may take.
    pub fn within(mut self, span: Duration) -> Self {
        self.options.within = Some(span);
        self
    }

    /// Only if the state has this version; else
    /// [`PreconditionFailed`](crate::FaultCode::PreconditionFailed). What ends a service takes no
    /// version: it is refused.
    pub fn if_version(mut self, version: u64) -> Self {
        self.options.if_version = Some(version);
        self
    }

    /// What tells a repeated request from a new one. An exclusive operation with a key is carried
    /// out once, and its answer given again for 24 hours.
    pub fn key(mut self, key: &str) -> Self {
        self.options.key = Some(key.into());
        self
    }

    /// Who calls.
    pub fn principal(mut self, name: &str) -> Self {
        self.options.principal = Some(name.into());
        self
    }

    /// Waits for room when as many operations wait as may.
    pub fn wait_for_room(mut self) -> Self {
        self.options.wait_for_room = true;
        self
    }

    /// Has the node's debugger keep the request and its answer.
    pub fn capture(mut self) -> Self {
        self.options.capture = true;
        self
    }

    /// By a job of the service itself, which may do what the service may.
    pub(crate) fn by_itself(mut self) -> Self {
        self.options.is_own = true;
        self
    }

    /// A header, which the handler finds by its type ([`Cx::header`](crate::Cx::header)). It does
    /// not leave the process.
    pub fn header(mut self, header: impl Any + Send + Sync) -> Self {
        self.options.headers.push(Arc::new(header));
        self
    }

    /// All of that.
    pub fn with(mut self, options: Options) -> Self {
        self.options = options;
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
        if let Some(context) = &context {
            self.options.capture |= context.inherited.trace.is_some();
        }
        let slot = match self.client.into_slot() {
            Ok(slot) => slot,
            Err(remote) => return Calling(self.make.send(&remote, self.options)),
        };
        let options = &mut self.options;
        Calling(match self.make {
            Make::Operation(request, reply, read) => {
                match run(slot, request, options, context.as_ref()) {
                    Ok(outcome) => Stage::Done(Some(outcome.and_then(read))),
                    Err((request, slot)) => {
                        let make = Make::Operation(request, reply, read);
                        make.post(&slot, self.options, context)
                    }
                }
            }
            Make::Get(make, read) => match get(&slot, options, context.as_ref()) {
                Some(state) => Stage::Done(Some(state.map(read))),
                None => Make::Get(make, read).post(&slot, self.options, context),
            },
            uniform @ Make::Uniform(..) => uniform.post(&slot, self.options, context),
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
    options: &mut Options,
    context: Option<&CallContext>,
) -> RunOr<C> {
    let operation = C::operation(&request);
    let direct = slot.direct(Some(operation), options, context);
    let Some(run) = direct.map(|at_once| at_once.run) else {
        return Err((request, slot));
    };
    let mut outcome = None;
    let ran = match options.at_once {
        true => {
            let common = Arc::clone(&slot.common);
            let run = || run(slot, operation, request, options, context, &mut outcome);
            let panicked = || Ok(Err(no_answer(&common.path)));
            common.as_task(run).unwrap_or_else(panicked)
        }
        false => run(slot, operation, request, options, context, &mut outcome),
    };
    ran.map(|ended| ended.map(|()| outcome.expect("a handler that ends has one")))
}

/// Get, here and now. `None`: it would have to wait.
#[inline]
fn get<C: Contract>(
    slot: &ServiceSlot<C>,
    options: &Options,
    context: Option<&CallContext>,
) -> Option<Result<Snapshot<C::State>, Fault>> {
    let direct = slot.direct(None, options, context)?;
    (direct.get)(slot, options, context)
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

/// The future of a [`Call`]: its answer.
#[must_use = "an answer that is not awaited is lost"]
pub struct Calling<T: Send + 'static>(pub(super) Stage<T>);

pub(super) enum Stage<T: Send + 'static> {
    /// There until it is given.
    Done(Option<Result<T, Fault>>),
    Waits(Waits<T>),
    Boxed(Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>>),
}

impl<T: DeserializeOwned + Send + 'static> Stage<T> {
    /// Of an operation that another process carries out; or that was not sent.
    fn sent(sent: Result<Answering, Fault>) -> Self {
        match sent {
            Err(fault) => Stage::refused(fault),
            Ok(sent) => Stage::Boxed(Box::pin(
                async move { from_value("an answer", sent.await?) },
            )),
        }
    }
}

/// Posts an operation, now that there is room. Until when the answer may take.
type PostEntered = Box<dyn FnOnce(EnteredOperation) -> Instant + Send>;

impl<T: Send + 'static> Stage<T> {
    /// Of an operation that is posted when there is room.
    fn waits_for_room(
        common: Arc<Common>,
        verb: (Verb, Group),
        options: Options,
        context: Option<CallContext>,
        post: PostEntered,
        answer: Reply<Result<T, Fault>>,
    ) -> Self {
        Stage::Boxed(Box::pin(async move {
            let entered = common.enter_wait(verb, options, context).await?;
            Calling(Stage::posted(Ok(post(entered)), answer, &common)).await
        }))
    }

    fn refused(fault: Fault) -> Self {
        Stage::Done(Some(Err(fault)))
    }

    /// Of an operation that was posted, and waits until then; or was not.
    pub(super) fn posted(
        until: Result<Instant, Fault>,
        answer: Reply<Result<T, Fault>>,
        common: &Arc<Common>,
    ) -> Self {
        match until {
            Err(fault) => Stage::refused(fault),
            Ok(until) => Stage::Waits(Waits {
                answer,
                common: Arc::clone(common),
                until,
                place: None,
            }),
        }
    }
}

pub(super) struct Waits<T: Send + 'static> {
    answer: Reply<Result<T, Fault>>,
    common: Arc<Common>,
    until: Instant,
    place: Option<WaitEntry>,
}

/// Nothing of it is pinned but what is in a box.
impl<T: Send + 'static> Unpin for Calling<T> {}

impl<T: Send + 'static> Future for Calling<T> {
    type Output = Result<T, Fault>;

    /// # Panics
    /// When it is polled again after it has given its result.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Polling<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Stage::Done(_) if gives_way() => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Stage::Done(result) => Poll::Ready(result.take().expect("a call answers once")),
            Stage::Boxed(future) => future.as_mut().poll(cx),
            Stage::Waits(waits) => waits.poll(cx),
        }
    }
}

impl<T: Send + 'static> Waits<T> {
    fn poll(&mut self, cx: &mut Polling<'_>) -> Poll<Result<T, Fault>> {
        if let Poll::Ready(answer) = Pin::new(&mut self.answer).poll(cx) {
            self.place = None;
            return Poll::Ready(answer.unwrap_or_else(|_| Err(no_answer(&self.common.path))));
        }
        is_over(&self.common, &mut self.place, self.until, cx.waker()).map(Err)
    }
}

/// Whether the wait for an answer is over.
fn is_over(
    common: &Arc<Common>,
    place: &mut Option<WaitEntry>,
    until: Instant,
    waker: &Waker,
) -> Poll<Fault> {
    let between = |since| {
        Some(ServiceWait {
            from: CallContext::caller()?,
            to: Arc::clone(&common.path),
            since,
        })
    };
    let over = common.shared.deadlines.poll(place, until, waker, between);
    over.map(|_| timeout(&common.path))
}

impl<C: Contract, T: Send + 'static> fmt::Debug for Call<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("client", &self.client)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> fmt::Debug for Calling<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calling").finish_non_exhaustive()
    }
}
