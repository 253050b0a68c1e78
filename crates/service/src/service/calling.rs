//! A call that is awaited: where its answer comes from.

use super::client::{no_answer, timeout};
use super::direct::{BegunHandler, Nested, gives_way};
use super::entrance::EnteredOperation;
use super::slot::Common;
use crate::context::CallContext;
use crate::deadlines::{ServiceWait, WaitEntry};
use crate::json::{Answering, from_value};
use crate::options::Options;
use crate::{Fault, Group, Verb};
use motet_dispatch::spawn_here;
use motet_ports::{Reply, reply};
use serde::de::DeserializeOwned;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll, Waker};
use std::time::Instant;

/// The future of a [`Call`](crate::Call): its answer.
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
    pub(super) fn sent(sent: Result<Answering, Fault>) -> Self {
        match sent {
            Err(fault) => Stage::refused(fault),
            Ok(sent) => Stage::Boxed(Box::pin(
                async move { from_value("an answer", sent.await?) },
            )),
        }
    }
}

/// Posts an operation, now that there is room. Until when the answer may take.
pub(super) type PostEntered = Box<dyn FnOnce(EnteredOperation) -> Instant + Send>;

impl<T: Send + 'static> Stage<T> {
    /// Of an operation that is posted when there is room.
    pub(super) fn waits_for_room(
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

    pub(super) fn refused(fault: Fault) -> Self {
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

impl<O: Send + 'static> BegunHandler<O> {
    /// Its outcome as the caller reads it: there, or awaited while a task goes on with the handler.
    pub(super) fn awaited<T: Send + 'static>(self, read: fn(O) -> Result<T, Fault>) -> Stage<T> {
        let (common, until, under, rest) = match self {
            BegunHandler::Ended(ended) => return Stage::Done(Some(ended.and_then(read))),
            BegunHandler::Waits {
                of,
                until,
                under,
                rest,
            } => (of, until, under, rest),
        };
        let (to, answer) = reply();
        let here = Arc::clone(&common);
        let going_on = async move {
            let answer = rest.await.and_then(read);
            if to.post(answer).is_err() {
                here.came_too_late();
            }
        };
        // Its second poll is inside of the caller, too. It is no call of that, and was let in, so
        // it asks for no room.
        let _nested = Nested::enter();
        let go_on = || spawn_here(&common.queue, going_on);
        let begun = CallContext::default().run_now(|| under.run(go_on));
        if let Err(panicked) = begun {
            common.raise(panicked);
        }
        Stage::posted(Ok(until), answer, &common)
    }
}

impl<T: Send + 'static> fmt::Debug for Calling<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calling").finish_non_exhaustive()
    }
}
