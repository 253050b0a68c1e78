//! A connection: its requests, one after the other, until it ends.

use crate::answer::answer;
use crate::content::{left, take_rest};
use crate::heads::{HeadAgain, HeadTimer, HeadWait};
use crate::site::ServerShared;
use crate::wakes::Wakes;
use crate::writes::WatchedWrites;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::coop::unconstrained;
use tokio::time::timeout;

/// hyper panics when it is given less room for a head.
const LEAST_HEAD: usize = 8 << 10;

/// So many lines of a head hyper takes by itself.
const OWN_HEADERS: usize = 100;

/// Serves a connection until it has ended.
pub(crate) async fn serve(stream: TcpStream, site: Arc<ServerShared>) {
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
            match left(request, reply.status()) {
                None => reply.body_mut().belongs_to(heads),
                Some(body) => take_rest(&site, body, HeadAgain::new(heads)),
            }
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
