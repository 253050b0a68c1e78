//! Connections whose other side takes nothing of what is written: they end.

use crate::heads::HeadWait;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails when the other side takes nothing for too long.
pub(crate) struct WatchedWrites<S> {
    stream: S,
    most: Duration,
    /// There while a write waits.
    over: Option<Pin<Box<Sleep>>>,
    /// Hears of that.
    heads: Arc<HeadWait>,
}

impl<S> WatchedWrites<S> {
    pub(crate) fn new(stream: S, most: Duration, heads: Arc<HeadWait>) -> Self {
        WatchedWrites {
            stream,
            most,
            over: None,
            heads,
        }
    }

    /// What has come of a write; of one that waits for too long it is an error.
    fn looked<R>(
        &mut self,
        written: Poll<io::Result<R>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<R>> {
        if written.is_ready() {
            if self.over.take().is_some() {
                self.heads.writes_go_on();
            }
            return written;
        }
        let (most, heads) = (self.most, &self.heads);
        let over = self.over.get_or_insert_with(|| {
            heads.writes_wait();
            Box::pin(sleep(most))
        });
        over.as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedWrites<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedWrites<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.looked(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.looked(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.looked(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.looked(ended, cx)
    }
}
