//! For whom a handler runs: who called, until when, and which services wait for it.
//!
//! A thread knows the context while it runs or polls a handler. A call that the handler makes takes
//! its deadline, its principal and the chain of holders from there.

use crate::deadlines::Deadlines;
use crate::{Fault, FaultCode, TraceParent};
use scoped_tls::scoped_thread_local;
use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// What calls made here inherit.
#[derive(Clone, Default)]
pub(crate) struct CallContext {
    /// The service whose handler runs.
    pub(crate) own: Option<Arc<dyn CallingService>>,
    /// Whether the handler is in a group of it.
    pub(crate) holds: bool,
    pub(crate) inherited: Inherited,
}

/// What calls made by a handler have of the call that it carries out.
#[derive(Clone, Default)]
pub(crate) struct Inherited {
    pub(crate) deadline: Option<Instant>,
    /// The holders that wait for the handler.
    pub(crate) chain: Option<Arc<Chain>>,
    /// The number of the captured call whose handler runs: what it calls is captured, too.
    pub(crate) trace: Option<u64>,
    /// The trace of which that call is a part.
    pub(crate) trace_parent: Option<Arc<TraceParent>>,
}

/// A call that is captured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTrace {
    pub(crate) id: u64,
    /// The captured call whose handler has made it.
    pub(crate) parent: Option<u64>,
}

/// A service, as what its handlers call knows it.
pub(crate) trait CallingService: Any + Send + Sync {
    /// What does not depend on its contract: the same for all that stand for the service.
    fn record(&self) -> &(dyn Any + Send + Sync);
    fn path(&self) -> &Arc<str>;
    /// Whether it may call services of other processes.
    fn may_call_out(&self) -> bool;
    fn deadlines(&self) -> &Deadlines;
    /// How long a call may take that does not say.
    fn limit(&self) -> Duration;
    /// What it is called where it is told from the services of all processes.
    fn name_everywhere(&self) -> String;
}

/// Services, each of which waits for the next inner one.
pub(crate) struct Chain {
    holder: ChainHolder,
    outer: Option<Arc<Chain>>,
}

/// Who waits.
enum ChainHolder {
    /// Not its number: there may be several nodes.
    Here(Arc<dyn CallingService>),
    /// Services, mostly of other processes, as another process has told them.
    Told(Arc<str>),
}

/// What a handler that panicked said.
pub(crate) struct Panicked(pub(crate) Box<dyn Any + Send>);

// The context of the innermost handler that this thread runs.
scoped_thread_local!(static CURRENT: CallContext);

/// The service that calls another process, until when, and how long that is.
pub(crate) type CallOut = (Arc<dyn CallingService>, Instant, Duration);

impl CallContext {
    /// What is inherited where this is called.
    pub(crate) fn current() -> CallContext {
        CallContext::inherited().unwrap_or_default()
    }

    /// As [`CallContext::current`]; `None`, which is quicker, where nothing is.
    #[inline]
    pub(crate) fn inherited() -> Option<CallContext> {
        match CURRENT.is_set() {
            true => CURRENT.with(|current| (!current.is_plain()).then(|| current.clone())),
            false => None,
        }
    }

    #[inline]
    fn is_plain(&self) -> bool {
        let Inherited {
            deadline,
            chain,
            trace,
            trace_parent,
        } = &self.inherited;
        let is_free = chain.is_none() && deadline.is_none();
        self.own.is_none() && is_free && trace.is_none() && trace_parent.is_none()
    }

    /// Whether the call is captured whose handler runs: what it calls is, too.
    pub(crate) fn is_captured(&self) -> bool {
        self.inherited.trace.is_some()
    }

    /// The service whose handler runs where this is called, or its job.
    pub(crate) fn caller() -> Option<Arc<str>> {
        match CURRENT.is_set() {
            true => CURRENT.with(CallContext::principal),
            false => None,
        }
    }

    /// The chain that a call made in this context carries.
    pub(crate) fn link(&self) -> Option<Arc<Chain>> {
        let outer = self.inherited.chain.clone();
        match &self.own {
            Some(own) if self.holds => Some(Arc::new(Chain {
                holder: ChainHolder::Here(Arc::clone(own)),
                outer,
            })),
            _ => outer,
        }
    }

    /// Who calls, as far as it is known here.
    pub(crate) fn principal(&self) -> Option<Arc<str>> {
        self.own.as_ref().map(|own| Arc::clone(own.path()))
    }

    /// Lets a service of another process be called from here, and says how long that may take. This
    /// is what the caller has left, if that is less.
    pub(crate) fn call_out(
        self,
        path: &str,
        within: Option<Duration>,
    ) -> Result<Option<CallOut>, Fault> {
        let Some(own) = self.own else {
            return Ok(None);
        };
        if !own.may_call_out() {
            let who = own.path();
            let reason = format!(
                "{who} may not call services of other processes; create it with `network = true`"
            );
            return Err(Fault::new(FaultCode::PermissionDenied, reason).of_service(path));
        }
        let clock = own.deadlines().clock();
        let now = clock.now();
        let by_call = clock.in_future(within.unwrap_or(own.limit()));
        let until = self
            .inherited
            .deadline
            .map_or(by_call, |left| left.min(by_call));
        Ok(Some((own, until, until.saturating_duration_since(now))))
    }

    /// Whether a call to `service` would wait for itself.
    pub(crate) fn is_held_by(&self, service: &dyn CallingService) -> bool {
        let is_it =
            |own: &Arc<dyn CallingService>| std::ptr::addr_eq(own.record(), service.record());
        if self.holds && self.own.as_ref().is_some_and(is_it) {
            return true;
        }
        let mut link = self.inherited.chain.as_deref();
        while let Some(chain) = link {
            let is_found = match &chain.holder {
                ChainHolder::Here(own) => is_it(own),
                ChainHolder::Told(told) => is_told(told, service),
            };
            if is_found {
                return true;
            }
            link = chain.outer.as_deref();
        }
        false
    }

    /// Runs `future` in this context; its panic is caught.
    pub(crate) async fn run<F: Future>(self, future: F) -> Result<F::Output, Panicked> {
        let mut future = pin!(future);
        poll_fn(move |cx| match self.run_now(|| future.as_mut().poll(cx)) {
            Ok(polled) => polled.map(Ok),
            Err(panicked) => Poll::Ready(Err(panicked)),
        })
        .await
    }
}

impl CallContext {
    /// Runs `work` in this context; its panic is caught.
    #[inline]
    pub(crate) fn run_now<R>(&self, work: impl FnOnce() -> R) -> Result<R, Panicked> {
        CURRENT.set(self, || {
            catch_unwind(AssertUnwindSafe(work)).map_err(Panicked)
        })
    }
}

impl Chain {
    /// The services that wait as another process has `told` them, inside of those that wait here.
    pub(crate) fn told(told: Arc<str>, outer: Option<Arc<Chain>>) -> Arc<Chain> {
        let holder = ChainHolder::Told(told);
        Arc::new(Chain { holder, outer })
    }

    /// As another process is told it, the outermost first.
    pub(crate) fn written(&self) -> String {
        let (mut names, mut link) = (Vec::new(), Some(self));
        while let Some(chain) = link {
            names.push(match &chain.holder {
                ChainHolder::Here(own) => own.name_everywhere(),
                ChainHolder::Told(told) => told.to_string(),
            });
            link = chain.outer.as_deref();
        }
        names.reverse();
        names.join(", ")
    }
}

/// Whether another process has told that `service` waits.
pub(crate) fn is_told(told: &str, service: &dyn CallingService) -> bool {
    let own = service.name_everywhere();
    told.split(',').any(|name| name.trim() == own)
}

/// The result of a future that does not wait: of a method that is not async.
pub(crate) fn complete<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut std::task::Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("no method that is not async waits"),
    }
}

impl Panicked {
    /// What it said.
    pub(crate) fn message(&self) -> &str {
        let text = self.0.downcast_ref::<&str>().copied();
        text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a message")
    }
}
