//! Takes connections, as many as there may be, and turns others away.

use crate::Limits;
use crate::connection::serve;
use crate::site::ServerShared;
use motet_sync::Mutex;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// How long a connection for which there is no room may take to ask, and in all.
const TO_ASK: Duration = Duration::from_secs(1);
const AWAY: Duration = Duration::from_secs(3);

/// Where connections come, until it is closed. Another thread may do that while this one is in a
/// handler that blocks.
pub(crate) struct OpenListener(Mutex<Option<TcpListener>>);

impl OpenListener {
    /// Of the runtime in which this is called.
    pub(crate) fn new(listener: std::net::TcpListener) -> io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        Ok(OpenListener(Mutex::new(Some(listener))))
    }

    /// Whoever comes from now on is refused.
    pub(crate) fn close(&self) {
        let listener = self.0.lock().take();
        drop(listener);
    }

    /// The next connection; there is none after the end.
    async fn accept(&self) -> io::Result<TcpStream> {
        poll_fn(|cx| match &*self.0.lock() {
            Some(listener) => listener.poll_accept(cx).map_ok(|(stream, _)| stream),
            None => Poll::Pending,
        })
        .await
    }
}

/// The room for connections, of all threads of a server together.
pub(crate) struct ConnectionRoom {
    most: usize,
    free: Arc<Semaphore>,
    /// For those who are turned away.
    refusals: Arc<Semaphore>,
}

impl ConnectionRoom {
    pub(crate) fn new(most: usize) -> Self {
        ConnectionRoom {
            most,
            free: Arc::new(Semaphore::new(most)),
            refusals: Arc::new(Semaphore::new(64)),
        }
    }

    /// Takes connections, each of which has a task on this thread, until `end`.
    pub(crate) async fn accept(
        &self,
        listener: &OpenListener,
        site: &Arc<ServerShared>,
        end: impl Future,
    ) {
        let mut end = pin!(end);
        loop {
            site.wakes.look();
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = &mut end => break,
            };
            match accepted {
                Ok(stream) => self.take(stream, Arc::clone(site)),
                // No descriptor is free: those who are here must end before.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn take(&self, stream: TcpStream, site: Arc<ServerShared>) {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(place) => {
                tokio::spawn(async move {
                    serve(stream, site).await;
                    drop(place);
                });
            }
            Err(_) => {
                // An answer that is not encrypted would be none.
                let is_plain = site.keys.is_none();
                let refusals = Arc::clone(&self.refusals);
                if let (true, Ok(place)) = (is_plain, refusals.try_acquire_owned()) {
                    tokio::spawn(async move {
                        // Who neither asks nor reads keeps nobody else from his answer for long.
                        drop(timeout(AWAY, turn_away(stream, &site.limits)).await);
                        drop(place);
                    });
                }
            }
        }
    }

    /// Waits until there is no connection, so long at most.
    pub(crate) async fn until_empty(&self, most: Duration) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        drop(timeout(most, self.free.acquire_many(all)).await);
    }
}

/// Answers a request by 503. Takes what the other side still sends, as much as a body may have, so
/// that it reads the answer: a connection that is closed before loses it.
async fn turn_away(mut stream: TcpStream, limits: &Limits) {
    // Whoever has not asked yet may take an answer for a fault. Who does not ask in time is told
    // all the same.
    drop(
        timeout(
            TO_ASK.min(limits.head_time),
            take_head(&mut stream, limits.head),
        )
        .await,
    );
    let answer = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\
                  connection: close\r\n\r\n";
    if stream.write_all(answer.as_bytes()).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    let (mut rest, mut nowhere) = (stream.take(limits.body as u64), tokio::io::sink());
    drop(tokio::io::copy(&mut rest, &mut nowhere).await);
}

/// Takes a head of so many bytes at most, and what comes with its end.
async fn take_head(stream: &mut TcpStream, most: usize) {
    let (mut came, mut piece) = (Vec::new(), [0; 1024]);
    while came.len() < most {
        let Ok(bytes @ 1..) = stream.read(&mut piece).await else {
            return;
        };
        // The end may have begun in what came before.
        let from = came.len().saturating_sub(3);
        came.extend_from_slice(&piece[..bytes]);
        if came[from..].windows(4).any(|end| end == b"\r\n\r\n") {
            return;
        }
    }
}
