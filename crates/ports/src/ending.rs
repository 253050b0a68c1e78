//! Waits at ports that may be closed.

use crate::error::Closed;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A wait that ends without a result when its ports are closed and too little is left in them.
pub trait MayEnd: Unpin {
    /// What is waited for.
    type Result;

    /// `None`: the end.
    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::Result>>;
}

/// The future of `or_closed`: of [`Recv`](crate::Recv::or_closed),
/// [`Ready`](crate::Ready::or_closed), [`Select`](crate::Select::or_closed) and
/// [`Join`](crate::Join::or_closed).
#[must_use = "a wait that is not awaited does not wait"]
pub struct OrClosed<F>(pub(crate) F);

impl<F: MayEnd> Future for OrClosed<F> {
    type Output = Result<F::Result, Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_result(cx).map(|result| result.ok_or(Closed))
    }
}

impl<F: fmt::Debug> fmt::Debug for OrClosed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OrClosed").field(&self.0).finish()
    }
}

/// For waits that name no end.
#[cold]
#[inline(never)]
pub(crate) fn ended(wait: &str) -> ! {
    panic!(
        "{wait}: the ports waited at are closed and too little is left in them: \
         await it with `.or_closed()`, which says so in its result"
    )
}
