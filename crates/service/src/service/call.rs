//! A call: what is said before it is awaited, and the wait.

use super::client::{Client, begin, begin_wait, no_answer, timeout};
use super::slot::{Common, What};
use crate::context::Context;
use crate::deadlines::Place;
use crate::json::{To, from_value, to_value};
use crate::options::Options;
use crate::{Contract, Fault};
use motet_ports::{Reply, reply};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll};
use std::time::{Duration, Instant};

/// A call of an operation, made when it is awaited.
///
/// # Cancellation
/// Dropping the future gives up the answer. The operation is carried out all the same, if it has begun or is
/// exclusive.
#[must_use = "a call that is not awaited is not made"]
pub struct Call<C: Contract, T: Send + 'static> {
    client: Client<C>,
    make: Make<C, T>,
    options: Options,
}

/// What is called.
pub(crate) enum Make<C: Contract, T: Send + 'static> {
    Operation(C::Request, fn(To<T>) -> C::Reply),
    Uniform(Uniform<C>, fn(Uniform<C>, To<T>) -> What<C>),
}

/// An operation that all services have.
pub(crate) enum Uniform<C: Contract> {
    Get,
    Replace(Box<C::State>),
    Patch(Value),
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
    /// [`PreconditionFailed`](crate::FaultCode::PreconditionFailed).
    pub fn if_version(mut self, version: u64) -> Self {
        self.options.if_version = Some(version);
        self
    }

    /// What tells a repeated request from a new one: an exclusive operation with a key is carried out once, and its
    /// answer given again for 24 hours.
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

    /// A header, which the handler finds by its type ([`Cx::header`](crate::Cx::header)). It does not leave the process.
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
    fn into_future(self) -> Calling<T> {
        let Call {
            client,
            make,
            options,
        } = self;
        let slot = match client.slot() {
            Ok(slot) => slot,
            Err(remote) => {
                let sent = make
                    .write()
                    .map(|(name, body)| remote.call(name, body, options));
                return Calling(Stage::Boxed(Box::pin(async move {
                    from_value("an answer", sent?.await?)
                })));
            }
        };
        let context = Context::current();
        let (to, answer) = reply();
        let what = make.into_what(to);
        if options.wait_for_room {
            let slot = Arc::clone(slot);
            return Calling(Stage::Boxed(Box::pin(async move {
                let until = begin_wait(&slot, what, options, context).await?;
                let common = Arc::clone(&slot.common);
                Calling(Stage::Waits(Waits {
                    answer,
                    common,
                    until,
                    place: None,
                }))
                .await
            })));
        }
        Calling(match begin(slot, what, options, context, true) {
            Err(fault) => Stage::Refused(Some(fault)),
            Ok(until) => Stage::Waits(Waits {
                answer,
                common: Arc::clone(&slot.common),
                until,
                place: None,
            }),
        })
    }
}

impl<C: Contract, T: Send + 'static> Make<C, T> {
    fn into_what(self, to: To<T>) -> What<C> {
        match self {
            Make::Operation(request, reply) => What::Request(request, Some(reply(to))),
            Make::Uniform(uniform, make) => make(uniform, to),
        }
    }

    /// The name and the body, for another process.
    fn write(&self) -> Result<(&'static str, Value), Fault> {
        Ok(match self {
            Make::Operation(request, _) => (C::operation(request).name, C::body(request)?),
            Make::Uniform(Uniform::Get, _) => ("get", Value::Null),
            Make::Uniform(Uniform::Replace(state), _) => ("replace", to_value(state)?),
            Make::Uniform(Uniform::Patch(patch), _) => ("patch", patch.clone()),
            Make::Uniform(Uniform::Save, _) => ("save", Value::Null),
            Make::Uniform(Uniform::Drop, _) => ("drop", Value::Null),
            Make::Uniform(Uniform::Unsubscribe(id), _) => ("unsubscribe", Value::from(*id)),
        })
    }
}

/// The future of a [`Call`]: its answer.
#[must_use = "an answer that is not awaited is lost"]
pub struct Calling<T: Send + 'static>(Stage<T>);

enum Stage<T: Send + 'static> {
    Refused(Option<Fault>),
    Waits(Waits<T>),
    Boxed(Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>>),
}

struct Waits<T: Send + 'static> {
    answer: Reply<Result<T, Fault>>,
    common: Arc<Common>,
    until: Instant,
    place: Option<Place>,
}

/// Nothing of it is pinned but what is in a box.
impl<T: Send + 'static> Unpin for Calling<T> {}

impl<T: Send + 'static> Future for Calling<T> {
    type Output = Result<T, Fault>;

    /// # Panics
    /// When it is polled again after it has given its result.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Polling<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Stage::Refused(fault) => Poll::Ready(Err(fault.take().expect("a call answers once"))),
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
        let deadlines = &self.common.shared.deadlines;
        let over = deadlines.poll(&mut self.place, self.until, cx.waker());
        over.map(|_| Err(timeout(&self.common.path)))
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

impl<T: Send + 'static> fmt::Debug for Calling<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calling").finish_non_exhaustive()
    }
}
