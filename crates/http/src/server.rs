//! The server: a thread with the accept loop, and a task for each connection.

use crate::answer::answer;
use crate::heads::{HeadTimer, HeadWait};
#[cfg(not(feature = "tls"))]
use crate::keys::Keys;
use crate::site::{InFlight, ServerShared};
use crate::wakes::Wakes;
use crate::writes::WatchedWrites;
use crate::{Config, Limits, StartError};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use motet_service::Node;
use motet_sync::thread::{JoinHandle, spawn_named};
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::coop::unconstrained;
use tokio::time::{sleep, timeout};

/// A node that is reachable by HTTP. It ends with this.
///
/// The server has one thread, on which it reads and writes; services run on the node's own.
#[must_use = "the server stops when this is dropped"]
pub struct Server {
    address: SocketAddr,
    is_encrypted: bool,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens, and answers from now on.
    ///
    /// # Errors
    /// - The address can be reached from other machines and there are no keys, or it is taken.
    /// - Certificates are needed whose authority is not known.
    /// - The system gives no thread.
    pub fn start(node: &Node, config: Config) -> Result<Server, StartError> {
        #[cfg(feature = "tls")]
        let (keys, mutual) = (config.keys, config.mutual);
        #[cfg(not(feature = "tls"))]
        let (keys, mutual): (Option<Keys>, bool) = (None, false);
        #[cfg(feature = "tls")]
        if mutual && !keys.as_ref().is_some_and(crate::Keys::know_authority) {
            return Err(StartError::NoAuthority);
        }
        if keys.is_none() && !config.listen.ip().is_loopback() {
            return Err(StartError::Exposed(config.listen));
        }
        let is_encrypted = keys.is_some();
        let known = keys.iter().flat_map(|keys| keys.hosts());
        let taken = |why| StartError::Listen(config.listen, why);
        let listener = TcpListener::bind(config.listen).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let wakes = Arc::new(Wakes::default());
        let (before, after) = (Arc::clone(&wakes), Arc::clone(&wakes));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .on_thread_park(move || before.before_sleep())
            .on_thread_unpark(move || after.after_sleep())
            .build()
            .map_err(StartError::Thread)?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(StartError::Thread)?
        };
        let (stop, stopped) = watch::channel(false);
        let limits = config.limits.countable();
        let site = Arc::new(ServerShared {
            node: node.clone(),
            hosts: config
                .hosts
                .iter()
                .chain(known)
                .map(|name| name.to_lowercase())
                .collect(),
            keys,
            mutual,
            in_flight: InFlight::new(limits.in_flight),
            limits,
            anonymous: "anonymous".into(),
            wakes,
            stop: stopped,
        });
        let body = move || runtime.block_on(accept(listener, site));
        let thread = spawn_named("motet-http", body).map_err(StartError::Thread)?;
        Ok(Server {
            address,
            is_encrypted,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, such as `http://127.0.0.1:50000`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Takes no more requests, ends the event streams, and waits for what runs, as long as the
    /// limits say.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // Its panic was told on standard error.
            drop(thread.join());
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, site: Arc<ServerShared>) {
    let wakes = Arc::clone(&site.wakes);
    tokio::spawn(async move { wakes.run().await });
    let most = site.limits.connections;
    let (room, refusals) = (Arc::new(Semaphore::new(most)), Arc::new(Semaphore::new(64)));
    let mut stop = site.stop.clone();
    loop {
        site.wakes.look();
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        let Ok((stream, _)) = accepted else {
            // No descriptor is free: those who are here must end before.
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        match Arc::clone(&room).try_acquire_owned() {
            Ok(place) => {
                let site = Arc::clone(&site);
                tokio::spawn(async move {
                    serve(stream, site).await;
                    drop(place);
                });
            }
            Err(_) => {
                // An answer that is not encrypted would be none.
                let is_plain = site.keys.is_none();
                if let (true, Ok(place)) = (is_plain, Arc::clone(&refusals).try_acquire_owned()) {
                    let site = Arc::clone(&site);
                    tokio::spawn(async move {
                        // Who neither asks nor reads keeps nobody else from his answer for long.
                        drop(timeout(AWAY, turn_away(stream, &site.limits)).await);
                        drop(place);
                    });
                }
            }
        }
    }
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    drop(timeout(site.limits.stop_time, room.acquire_many(all)).await);
}

async fn serve(stream: TcpStream, site: Arc<ServerShared>) {
    // Without it an answer is sent later, not never.
    drop(stream.set_nodelay(true));
    let Some(keys) = &site.keys else {
        return exchange(stream, site, None).await;
    };
    // Whoever does not speak TLS, or not in time, has nobody to be told by.
    let accepted = keys.accept(stream, site.mutual);
    if let Ok(Ok((stream, role))) = timeout(site.limits.head_time, accepted).await {
        exchange(stream, Arc::clone(&site), role).await;
    }
}

/// How long a connection for which there is no room may take to ask, and in all.
const TO_ASK: Duration = Duration::from_secs(1);
const AWAY: Duration = Duration::from_secs(3);

/// hyper panics when it is given less room for a head.
const LEAST_HEAD: usize = 8 << 10;

/// So many lines of a head hyper takes by itself.
const OWN_HEADERS: usize = 100;

/// Answers the requests of a connection, whose certificate tells `role`.
pub(crate) async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    site: Arc<ServerShared>,
    role: Option<Arc<str>>,
) {
    let (limits, heads) = (site.limits.clone(), Arc::new(HeadWait::new()));
    let timer = HeadTimer::new(Arc::clone(&heads), limits.head_time);
    let stream = WatchedWrites::new(stream, limits.write_time, Arc::clone(&heads));
    let (stop, wakes) = (site.stop.clone(), Arc::clone(&site.wakes));
    let service = service_fn(move |mut request| {
        let (site, role, heads) = (Arc::clone(&site), role.clone(), Arc::clone(&heads));
        heads.came();
        async move {
            let mut reply = answer(&site, &mut request, role).await;
            reply.body_mut().belongs_to(heads);
            Ok::<_, Infallible>(reply)
        }
    });
    let mut http = http1::Builder::new();
    http.max_buf_size(limits.head.max(LEAST_HEAD));
    // With another bound than its own hyper clears a table for each head.
    if limits.headers > OWN_HEADERS {
        http.max_headers(limits.headers);
    }
    let connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    to_its_end(connection, (timer, wakes), stop, |connection| {
        connection.graceful_shutdown();
    })
    .await;
}

/// Has a connection go on until it has ended, or has waited too long for a head. When the server
/// stops, it is told so by `shut_down`, and ends with what it is doing.
async fn to_its_end<C: Future>(
    mut connection: Pin<&mut C>,
    (mut timer, wakes): (HeadTimer, Arc<Wakes>),
    mut stop: watch::Receiver<bool>,
    shut_down: impl Fn(Pin<&mut C>),
) {
    let stops = stop.clone();
    // It is to wake the task also where tokio lets that do nothing more now.
    let mut stopping = pin!(unconstrained(stop.wait_for(|stop| *stop)));
    let (mut own, mut is_told): (Option<Waker>, bool) = (None, false);
    poll_fn(|cx| {
        // Others' answers: a server that always has a connection to go on with does not sleep.
        wakes.look();
        loop {
            // Whoever breaks the protocol is told by hyper, and has nobody else to tell.
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // The timer and the server's end wake this task; most often there is nothing to see.
            let is_known = own.as_ref().is_some_and(|own| own.will_wake(cx.waker()));
            if !is_known {
                own = Some(cx.waker().clone());
            }
            if (!is_known || timer.rings()) && timer.poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let may_stop = !is_known || !matches!(stops.has_changed(), Ok(false));
            if is_told || !may_stop || stopping.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            is_told = true;
            shut_down(connection.as_mut());
        }
    })
    .await;
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

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
