//! For whom a handler runs: who called, until when, and which services wait for it.
//!
//! The context is the thread's while a handler is polled. A call that the handler makes takes its deadline,
//! its principal and the chain of holders from there.

use motet_sync::thread_local;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

/// What calls made here inherit.
#[derive(Clone, Default)]
pub(crate) struct Context {
    pub(crate) deadline: Option<Instant>,
    pub(crate) principal: Option<Arc<str>>,
    /// The service whose group the handler is in, if it is in one.
    pub(crate) holder: Option<u64>,
    /// The holders that wait for the handler.
    pub(crate) chain: Option<Arc<Chain>>,
}

/// Services, each of which waits for the next inner one.
pub(crate) struct Chain {
    service: u64,
    outer: Option<Arc<Chain>>,
}

/// What a handler that panicked said.
pub(crate) struct Panicked(pub(crate) Box<dyn std::any::Any + Send>);

thread_local! {
    static CURRENT: RefCell<Context> = RefCell::new(Context::default());
}

impl Context {
    /// What is inherited where this is called.
    pub(crate) fn current() -> Context {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// The service whose handler runs where this is called, or its job.
    pub(crate) fn caller() -> Option<Arc<str>> {
        CURRENT.with(|current| current.borrow().principal.clone())
    }

    /// The chain that a call made in this context carries.
    pub(crate) fn into_chain(self) -> Option<Arc<Chain>> {
        match self.holder {
            None => self.chain,
            Some(service) => Some(Arc::new(Chain {
                service,
                outer: self.chain,
            })),
        }
    }

    /// Whether a call to `service` would wait for itself.
    pub(crate) fn is_held_by(&self, service: u64) -> bool {
        if self.holder == Some(service) {
            return true;
        }
        let mut link = self.chain.as_deref();
        while let Some(chain) = link {
            if chain.service == service {
                return true;
            }
            link = chain.outer.as_deref();
        }
        false
    }

    /// Runs `future` in this context; its panic is caught.
    pub(crate) async fn run<F: Future>(self, future: F) -> Result<F::Output, Panicked> {
        let mut future = pin!(future);
        let mut own = self;
        poll_fn(move |cx| {
            let _entered = Entered::new(&mut own);
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                Ok(polled) => polled.map(Ok),
                Err(payload) => Poll::Ready(Err(Panicked(payload))),
            }
        })
        .await
    }
}

impl Context {
    /// Runs `work` in this context; its panic is caught.
    pub(crate) fn run_now<R>(mut self, work: impl FnOnce() -> R) -> Result<R, Panicked> {
        let _entered = Entered::new(&mut self);
        catch_unwind(AssertUnwindSafe(work)).map_err(Panicked)
    }
}

/// The result of a future that does not wait: of a method that is not async.
pub(crate) fn complete<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut std::task::Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("no method that is not async waits"),
    }
}

/// Exchanges the thread's context with one that is at rest, until it is dropped.
struct Entered<'a>(&'a mut Context);

impl<'a> Entered<'a> {
    fn new(own: &'a mut Context) -> Self {
        swap(own);
        Entered(own)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        swap(self.0);
    }
}

fn swap(own: &mut Context) {
    CURRENT.with(|current| std::mem::swap(&mut *current.borrow_mut(), own));
}

impl Panicked {
    /// What it said.
    pub(crate) fn message(&self) -> &str {
        let text = self.0.downcast_ref::<&str>().copied();
        text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a message")
    }
}
