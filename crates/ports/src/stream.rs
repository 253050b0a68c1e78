//! A port as a stream: for the combinators of `futures` and its relatives.

use crate::port::Port;
use crate::recv::{RecvState, take};
use futures_core::Stream;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The items of a port as they come; made by [`Port::stream`].
///
/// The stream ends when the port is [closed](Port::close) and empty, or with [`PortStream::until`].
///
/// # Cancellation
/// Dropping the stream loses nothing: an item that was already meant for it goes back to the front
/// of the port.
#[must_use = "a stream that is not polled takes nothing"]
pub struct PortStream<T: Send + 'static> {
    port: Port<T>,
    turn: RecvState<T>,
}

/// A stream that ends; made by [`PortStream::until`].
#[must_use = "a stream that is not polled takes nothing"]
pub struct Until<T: Send + 'static, F> {
    stream: PortStream<T>,
    end: End<F>,
}

enum End<F> {
    /// When the future completes.
    When(Pin<Box<F>>),
    /// After so many items.
    After(usize),
}

/// # Streams
impl<T: Send + 'static> Port<T> {
    /// The items of the port, each taken when the stream is polled, as [`Port::recv`] takes it.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use motet_ports::{Port, wait_blocking};
    ///
    /// let port = Port::new();
    /// (1..=4).for_each(|n| port.post(n).unwrap());
    /// let squares: Vec<u32> =
    ///     wait_blocking(port.stream().map(|n| n * n).take(3).collect()).unwrap();
    /// assert_eq!(squares, [1, 4, 9]);
    /// assert_eq!(port.items(), [4]);
    /// ```
    #[track_caller]
    pub fn stream(&self) -> PortStream<T> {
        PortStream {
            port: self.clone(),
            turn: RecvState::new(),
        }
    }
}

impl<T: Send + 'static> PortStream<T> {
    /// Ends the stream when `end` completes: the items that wait then still come, later ones stay
    /// in the port. Whoever posts to the port and afterwards to a port whose `recv` is the `end`
    /// has all items come.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use motet_ports::{Port, wait_blocking};
    ///
    /// let (lines, end) = (Port::new(), Port::new());
    /// lines.post("first").unwrap();
    /// lines.post("last").unwrap();
    /// end.post(()).unwrap();
    /// let all: Vec<&str> = wait_blocking(lines.stream().until(end.recv()).collect()).unwrap();
    /// assert_eq!(all, ["first", "last"]);
    /// ```
    pub fn until<F: Future>(self, end: F) -> Until<T, F> {
        Until {
            stream: self,
            end: End::When(Box::pin(end)),
        }
    }
}

impl<T: Send + 'static> Stream for PortStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        this.turn.take(&this.port, cx)
    }
}

impl<T: Send + 'static, F: Future> Stream for Until<T, F> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        if let End::When(end) = &mut this.end {
            if end.as_mut().poll(cx).is_pending() {
                return Pin::new(&mut this.stream).poll_next(cx);
            }
            // An item that is meant for the stream already goes back and counts with the others.
            this.stream.turn.give_up(&this.stream.port);
            this.end = End::After(this.stream.port.item_count());
        }
        let End::After(left) = &mut this.end else {
            unreachable!("the end has just come")
        };
        let item = left
            .checked_sub(1)
            .and_then(|_| take(&this.stream.port, cx));
        // Somebody else may have taken the rest.
        *left = if item.is_some() { *left - 1 } else { 0 };
        Poll::Ready(item)
    }
}

impl<T: Send + 'static> Drop for PortStream<T> {
    fn drop(&mut self) {
        self.turn.give_up(&self.port);
    }
}

impl<T: Send + 'static> fmt::Debug for PortStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortStream")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static, F> fmt::Debug for Until<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = match self.end {
            End::When(_) => None,
            End::After(left) => Some(left),
        };
        f.debug_struct("Until")
            .field("port", &self.stream.port)
            .field("left", &left)
            .finish_non_exhaustive()
    }
}
