//! A port as a sink: for the combinators of `futures` and its relatives.

use crate::PostError;
use crate::port::Port;
use futures_sink::Sink;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Posts what it is given; made by [`Port::sink`].
///
/// The sink is always ready, and an item is posted when it is given, as [`Port::post`] does: there is
/// nothing to flush, and a port or queue without room is an error that hands the item back. Closing the
/// sink leaves the port as it is.
#[must_use = "a sink posts what it is given"]
pub struct PortSink<T: Send + 'static> {
    port: Port<T>,
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
        PortSink { port: self.clone() }
    }
}

impl<T: Send + 'static> Sink<T> for PortSink<T> {
    type Error = PostError<T>;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), PostError<T>>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(self: Pin<&mut Self>, item: T) -> Result<(), PostError<T>> {
        self.port.post(item)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), PostError<T>>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), PostError<T>>> {
        Poll::Ready(Ok(()))
    }
}

impl<T: Send + 'static> Clone for PortSink<T> {
    fn clone(&self) -> Self {
        self.port.sink()
    }
}

impl<T: Send + 'static> fmt::Debug for PortSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortSink")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
