//! Awaited looks: a future that waits for an item and leaves it in the port.

use crate::ending::{MayEnd, OrClosed, ended};
use crate::port::Port;
use crate::recv::RecvState;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The future of [`Port::ready`].
#[must_use = "a wait that is not awaited does not wait"]
pub struct Ready<'a, T: Send + 'static> {
    port: &'a Port<T>,
    turn: RecvState<T>,
}

/// # Waiting
impl<T: Send + 'static> Port<T> {
    /// Waits until an item waits in the port, and leaves it there (CCR's `Receive()` without a
    /// handler). Someone else may take the item before the awaiting code does.
    #[track_caller]
    pub fn ready(&self) -> Ready<'_, T> {
        Ready {
            port: self,
            turn: RecvState::new(),
        }
    }
}

impl<'a, T: Send + 'static> Ready<'a, T> {
    /// Waits until an item waits in the port, or for the end of the port: it is
    /// [closed](Port::close) and empty.
    pub fn or_closed(self) -> OrClosed<Ready<'a, T>> {
        OrClosed(self)
    }
}

impl<T: Send + 'static> Future for Ready<'_, T> {
    type Output = ();

    /// # Panics
    /// At the end of a closed port: await [`Ready::or_closed`] where that may come.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let result = self.poll_result(cx);
        result.map(|there| there.unwrap_or_else(|| ended("ready")))
    }
}

impl<T: Send + 'static> MayEnd for Ready<'_, T> {
    type Result = ();

    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let port = self.port;
        let looked = self.turn.look(port, cx);
        looked.map(|()| (!port.is_closed() || port.item_count() > 0).then_some(()))
    }
}

impl<T: Send + 'static> Drop for Ready<'_, T> {
    fn drop(&mut self) {
        // A look has no item that would have to go back.
        self.turn.give_up(self.port);
    }
}

impl<T: Send + 'static> fmt::Debug for Ready<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
