//! A port as a sink: for the combinators of `futures` and its relatives.

use crate::PostError;
use crate::port::{Port, PostWait};
use futures_sink::Sink;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Posts what it is given; made by [`Port::sink`].
///
/// An item is posted when it is given, as [`Port::post`] does. There may be no room where the port
/// or the queue lets posters wait ([`Overflow::Wait`](crate::Overflow::Wait)). Then it takes its
/// place in the line, as [`Port::post_wait`] does. The sink is ready, and flushed, when it has been
/// let in. Ports and queues that let nobody wait give an error that hands the item back. Closing
/// the sink leaves the port as it is.
///
/// # Cancellation
/// Dropping the sink drops an item that still waits for room.
#[must_use = "a sink posts what it is given"]
pub struct PortSink<T: Send + 'static> {
    port: Port<T>,
    /// The item that waits for room.
    waits: Option<PostWait<T>>,
}

/// # Sinks
impl<T: Send + 'static> Port<T> {
    /// A sink that posts to the port.
    ///
    /// ```
    /// use futures_util::{StreamExt, stream};
    /// use motet_ports::{Port, wait_blocking};
    ///
    /// let port = Port::new();
    /// wait_blocking(stream::iter([1, 2, 3]).map(Ok).forward(port.sink())).unwrap().unwrap();
    /// assert_eq!(port.items(), [1, 2, 3]);
    /// ```
    pub fn sink(&self) -> PortSink<T> {
        PortSink {
            port: self.clone(),
            waits: None,
        }
    }
}

impl<T: Send + 'static> Sink<T> for PortSink<T> {
    type Error = PostError<T>;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), PostError<T>>> {
        self.poll_posted(cx)
    }

    /// # Panics
    /// When the sink is not ready.
    #[track_caller]
    fn start_send(mut self: Pin<&mut Self>, item: T) -> Result<(), PostError<T>> {
        assert!(
            self.waits.is_none(),
            "the sink was not asked whether it is ready"
        );
        let this = &mut *self;
        this.waits = Some(this.port.post_wait(item));
        // Whoever waits for room is woken by the waker of the next poll, which looks first.
        match this.poll_posted(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(posted) => posted,
            Poll::Pending => Ok(()),
        }
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), PostError<T>>> {
        self.poll_posted(cx)
    }

    fn poll_close(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), PostError<T>>> {
        self.poll_posted(cx)
    }
}

impl<T: Send + 'static> PortSink<T> {
    /// Waits until no item waits for room.
    fn poll_posted(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PostError<T>>> {
        // Out of its place: a wait whose poll panics has ended.
        let Some(mut wait) = self.waits.take() else {
            return Poll::Ready(Ok(()));
        };
        let posted = Pin::new(&mut wait).poll(cx);
        if posted.is_pending() {
            self.waits = Some(wait);
        }
        posted
    }
}

/// Another sink for the same port; an item that waits stays with this one.
impl<T: Send + 'static> Clone for PortSink<T> {
    fn clone(&self) -> Self {
        self.port.sink()
    }
}

impl<T: Send + 'static> fmt::Debug for PortSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortSink")
            .field("port", &self.port)
            .field("waits", &self.waits.is_some())
            .finish()
    }
}
