//! Takes connections, as many as there may be, and turns others away.

use crate::Limits;
use crate::connection::serve;
use crate::problem::Refusal;
use crate::site::ServerShared;
use motet_sync::Mutex;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
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

    /// The next connection, and from where it comes; there is none after the end.
    async fn accept(&self) -> io::Result<(TcpStream, IpAddr)> {
        poll_fn(|cx| match &*self.0.lock() {
            Some(listener) => listener
                .poll_accept(cx)
                .map_ok(|(stream, at)| (stream, at.ip())),
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
                Ok((stream, from)) => self.take(stream, from, Arc::clone(site)),
                // No descriptor is free: those who are here must end before.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn take(&self, stream: TcpStream, from: IpAddr, site: Arc<ServerShared>) {
        let share = site.limits.per_address;
        let local = stream.local_addr().ok();
        let as_from = counted_as(from, local.map(|local| local.ip()));
        let Some(counted) = site.connections.enter(as_from, share) else {
            let reason = format!(
                "{share} connections come from {from} already; use one for several requests"
            );
            return self.refuse(stream, site, Some(Refusal::busy(reason)));
        };
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(place) => {
                tokio::spawn(async move {
                    serve(stream, site).await;
                    drop((counted, place));
                });
            }
            Err(_) => {
                drop(counted);
                site.connections.refuse();
                // An answer that is not encrypted would be none.
                if site.keys.is_none() {
                    self.refuse(stream, site, None);
                }
            }
        }
    }

    /// Turns a connection away, if there are not too many of these.
    fn refuse(&self, stream: TcpStream, site: Arc<ServerShared>, why: Option<Refusal>) {
        if let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                // Who neither asks nor reads keeps nobody else from his answer for long.
                drop(timeout(AWAY, turn_away(stream, &site, why)).await);
                drop(place);
            });
        }
    }

    /// Waits until there is no connection, so long at most.
    pub(crate) async fn until_empty(&self, most: Duration) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        drop(timeout(most, self.free.acquire_many(all)).await);
    }
}

/// Answers a request by 503, encrypted where the server has keys.
async fn turn_away(stream: TcpStream, site: &ServerShared, why: Option<Refusal>) {
    let Some(keys) = &site.keys else {
        return answer_503(stream, &site.limits, why).await;
    };
    if let Ok((stream, _)) = keys.accept(stream, site.mutual).await {
        answer_503(stream, &site.limits, why).await;
    }
}

/// Answers a request by 503. Takes what the other side still sends, as much as a body may have, so
/// that it reads the answer: a connection that is closed before loses it.
async fn answer_503(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    limits: &Limits,
    why: Option<Refusal>,
) {
    // Whoever has not asked yet may take an answer for a fault. Who does not ask in time is told
    // all the same.
    drop(
        timeout(
            TO_ASK.min(limits.head_time),
            take_head(&mut stream, limits.head),
        )
        .await,
    );
    let (kind, body) = match why {
        None => ("", String::new()),
        Some(why) => ("content-type: application/problem+json\r\n", why.told()),
    };
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n{kind}content-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    if stream.write_all(answer.as_bytes()).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    let (mut rest, mut nowhere) = (stream.take(limits.body as u64), tokio::io::sink());
    drop(tokio::io::copy(&mut rest, &mut nowhere).await);
}

/// Takes a head of so many bytes at most, and what comes with its end.
async fn take_head(stream: &mut (impl AsyncRead + Unpin), most: usize) {
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

/// As whose a connection counts, which came to this address: a program of this machine may come
/// from any address of it.
fn counted_as(from: IpAddr, to: Option<IpAddr>) -> IpAddr {
    match to.is_some_and(|to| to.to_canonical() == from.to_canonical()) {
        true => Ipv4Addr::LOCALHOST.into(),
        false => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::ConnectionCounts;
    use crate::keys::Keys;
    use crate::site::InFlight;
    use motet_dispatch::Dispatcher;
    use motet_service::Node;
    use tokio::sync::watch;

    /// A server that lets so many connections of one other machine be open, and what stops it.
    fn site(share: usize, keys: Option<Keys>) -> (Arc<ServerShared>, impl Sized) {
        let dispatcher = Dispatcher::new(1);
        let node = Node::builder("own").start(&dispatcher).unwrap();
        let (stop, stopped) = watch::channel(false);
        let limits = Limits {
            per_address: share,
            head_time: Duration::from_secs(3600),
            ..Limits::default()
        };
        let site = ServerShared {
            node,
            hosts: Vec::new(),
            keys,
            mutual: false,
            connections: Arc::new(ConnectionCounts::default()),
            in_flight: Arc::new(InFlight::new(limits.in_flight)),
            #[cfg(feature = "dssp")]
            dssp: crate::told::DsspPlaces::new(Vec::new()),
            limits,
            wakes: Arc::default(),
            own_calls: None,
            anonymous: "anonymous".into(),
            stop: stopped,
        };
        (Arc::new(site), (stop, dispatcher))
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(future)
    }

    async fn ask(mut stream: TcpStream) -> String {
        let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[test]
    fn sem_g599_an_address_that_has_its_share_is_told_so() {
        let (site, _stop) = site(1, None);
        let room = ConnectionRoom::new(8);
        let [one, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|ip| ip.parse().unwrap());
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let at = listener.local_addr().unwrap();
            // As if it came from there.
            let open = async |from: IpAddr| {
                let here = TcpStream::connect(at).await.unwrap();
                let (there, _) = listener.accept().await.unwrap();
                room.take(there, from, Arc::clone(&site));
                here
            };
            let first = open(one).await;
            let refused = ask(open(one).await).await;
            assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
            assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
            assert!(refused.contains("1 connections come from 192.0.2.1 already"));
            assert!(ask(open(other).await).await.starts_with("HTTP/1.1 200 "));
            let own = "127.0.0.1".parse().unwrap();
            let [near, nearer] = [open(own).await, open(own).await];
            for stream in [near, nearer, first] {
                assert!(ask(stream).await.starts_with("HTTP/1.1 200 "));
            }
            assert_eq!(site.connections.refused(), [0, 1]);
            while site.connections.open() > 0 {
                tokio::task::yield_now().await;
            }
            assert!(ask(open(one).await).await.starts_with("HTTP/1.1 200 "));
        });
    }

    #[test]
    fn sem_g599_a_program_of_this_machine_is_known_by_the_address_it_came_to() {
        let [one, other, mapped] =
            ["192.0.2.1", "192.0.2.2", "::ffff:192.0.2.1"].map(|ip| ip.parse::<IpAddr>().unwrap());
        assert!(counted_as(one, Some(mapped)).is_loopback());
        assert_eq!(counted_as(one, Some(other)), one);
        assert_eq!(counted_as(one, None), one);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn sem_g599_who_is_refused_by_his_address_is_told_encrypted() {
        use crate::{Access, Peer};
        use motet_service::{FaultCode, Options, Value};
        let folder = format!("motet-address-share-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        drop(std::fs::remove_dir_all(&folder));
        Keys::make(&folder, &[], 10).unwrap();
        let (site, _stop) = site(0, Some(Keys::read(&folder).unwrap()));
        let room = ConnectionRoom::new(8);
        let fault = run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("https://{}", listener.local_addr().unwrap());
            let access = Access::new(None, Some(folder.join("ca.pem")));
            let peer = Peer::with(&url, &access).unwrap();
            let call = peer.call("/till", "deposit", Value::Null, Options::default());
            let taken = async {
                let (there, _) = listener.accept().await.unwrap();
                room.take(there, "192.0.2.1".parse().unwrap(), Arc::clone(&site));
            };
            let (answer, ()) = tokio::join!(call, taken);
            answer.unwrap_err()
        });
        drop(std::fs::remove_dir_all(&folder));
        assert_eq!(fault.code(), FaultCode::QueuingLimitExceeded, "{fault}");
        assert!(fault.reason().contains("come from 192.0.2.1"), "{fault}");
        assert!(fault.retry_in().is_some());
    }
}
