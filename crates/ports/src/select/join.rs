//! The awaited join.

use super::{Select, select};
use crate::arbiter::IntoParts;
use crate::ending::{MayEnd, OrClosed};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for items of several ports and takes them, all or none (the waiting form of
/// [`JoinedReceive`](crate::JoinedReceive), with the same parts). While one is missing the others
/// stay in their ports, visible, and others may take them.
///
/// # Panics
/// When a port is named twice: one part may take several items of its port. When a bounded port
/// never has as many as its part takes.
///
/// # Cancellation
/// Dropping the future gives up the wait; items that had been taken for it go back to the front of
/// their ports.
///
/// ```
/// use motet_dispatch::{Enqueue, Inline, spawn};
/// use motet_ports::{Port, join};
///
/// let (names, ages, people) = (Port::new(), Port::new(), Port::new());
/// let (name, age, person) = (names.clone(), ages.clone(), people.clone());
/// spawn(&Inline::new("here").handle(), async move {
///     let (name, age): (&str, u32) = join((&name, &age)).await;
///     person.post(format!("{name}, {age}")).unwrap();
/// }).unwrap();
/// ages.post(36).unwrap();
/// assert_eq!(ages.item_count(), 1, "it waits in its port");
/// names.post("Ada").unwrap();
/// assert_eq!(people.test().as_deref(), Some("Ada, 36"));
/// ```
pub fn join<P: IntoParts>(parts: P) -> Join<P::Items> {
    Join(select().join(parts, std::convert::identity))
}

/// The future of [`join`].
#[must_use = "a wait that is not awaited does not wait"]
pub struct Join<I: Send + 'static>(Select<I>);

impl<I: Send + 'static> Join<I> {
    /// Waits for the items, or for the end: one of the ports is [closed](crate::Port::close), and
    /// holds too few. What the others hold stays there.
    pub fn or_closed(self) -> OrClosed<Self> {
        OrClosed(self)
    }
}

impl<I: Send + 'static> MayEnd for Join<I> {
    type Result = I;

    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Option<I>> {
        self.0.poll_result(cx)
    }
}

impl<I: Send + 'static> Future for Join<I> {
    type Output = I;

    /// # Panics
    /// At the end: await [`Join::or_closed`] where that may come.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<I> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<I: Send + 'static> fmt::Debug for Join<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join").finish_non_exhaustive()
    }
}
