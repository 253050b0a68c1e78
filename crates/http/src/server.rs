//! The server: a thread with the accept loop and a task for each connection, and its standby.

use crate::accept::{ConnectionRoom, OpenListener};
use crate::answer::is_own;
#[cfg(not(feature = "tls"))]
use crate::keys::Keys;
use crate::site::{InFlight, ServerShared};
use crate::standby::{LOOK, OwnCalls};
#[cfg(feature = "dssp")]
use crate::told::DsspPlaces;
use crate::{Config, StartError};
use motet_service::Node;
use motet_sync::block_on_for;
use motet_sync::thread::{self, JoinHandle, spawn_named};
use socket2::{Domain, Socket, Type};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::mem::{self, ManuallyDrop};
use std::net::{SocketAddr, TcpListener};
use std::process;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};

/// A node that is reachable by HTTP. It ends with this.
///
/// The server has one thread, on which it reads and writes. There it also carries out operations
/// whose handlers are brief; the others run on the node's threads. Should a brief one block, a
/// second thread takes new connections; those that are there wait.
///
/// A process that is forked has none of these threads: dropped there, this leaves all as it is. It
/// has the sockets until it ends or runs another program: the address stays taken until then.
#[must_use = "the server stops when this is dropped"]
pub struct Server {
    /// The process that has started it.
    process: u32,
    address: SocketAddr,
    is_encrypted: bool,
    stop: watch::Sender<bool>,
    stop_time: Duration,
    calls: Arc<OwnCalls>,
    standby: Option<JoinHandle<()>>,
    own: Option<OwnThread>,
}

/// The thread that answers.
struct OwnThread {
    thread: JoinHandle<()>,
    /// There until it has ended.
    listener: Weak<OpenListener>,
    /// Over when it has ended.
    end: oneshot::Receiver<Infallible>,
}

impl Server {
    /// Whether a server answers at this path itself: nobody could call a service there.
    #[must_use]
    pub fn answers_at(path: &str) -> bool {
        is_own(path)
    }

    /// Listens, and answers from now on.
    ///
    /// # Errors
    /// - The address can be reached from other machines and there are no keys, or it is taken.
    /// - A service of the node is where the server answers itself, as at `/metrics`.
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
        // Before the look: who takes one of these paths later is refused.
        node.keep_paths(is_own);
        let services = node.clients();
        if let Some(own) = services.iter().find(|service| is_own(service.path())) {
            return Err(StartError::OwnPath(own.path().to_owned()));
        }
        let is_encrypted = keys.is_some();
        let known = keys.iter().flat_map(|keys| keys.hosts());
        let taken = |why| StartError::Listen(config.listen, why);
        let listener = listen(config.listen, config.limits.connections).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let again = listener.try_clone().map_err(StartError::Thread)?;
        let (stop, stopped) = watch::channel(false);
        let (limits, calls) = (config.limits.countable(), Arc::new(OwnCalls::default()));
        let room = Arc::new(ConnectionRoom::new(limits.connections));
        let stop_time = limits.stop_time;
        let site = ServerShared {
            node: node.clone(),
            hosts: config
                .hosts
                .iter()
                .chain(known)
                .map(|name| name.to_lowercase())
                .collect(),
            keys,
            mutual,
            connections: Arc::default(),
            in_flight: Arc::new(InFlight::new(limits.in_flight)),
            #[cfg(feature = "dssp")]
            dssp: DsspPlaces::new(config.dssp_subscribers),
            limits,
            anonymous: "anonymous".into(),
            wakes: Arc::default(),
            own_calls: Some(Arc::clone(&calls)),
            stop: stopped,
        };
        let standby = StandbyThread {
            listener: again,
            room: Arc::clone(&room),
            calls: Arc::clone(&calls),
            site: Arc::new(site.for_another()),
        };
        let standby = standby.start().map_err(StartError::Thread)?;
        let mut server = Server {
            process: process::id(),
            address,
            is_encrypted,
            stop,
            stop_time,
            calls,
            standby: Some(standby),
            own: None,
        };
        let own = start_own(listener, room, Arc::new(site));
        server.own = Some(own.map_err(StartError::Thread)?);
        Ok(server)
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
    /// limits say. A handler that blocks the server's thread longer than that keeps it, and nobody
    /// waits for it. In a handler that runs on that thread this waits for nothing.
    pub fn stop(self) {
        drop(self);
    }

    /// Drops nothing that the threads use, which are those of another process: what they have
    /// locked when this one was forked is locked here for ever.
    fn leave(&mut self) {
        let stop = mem::replace(&mut self.stop, watch::Sender::new(false));
        let _ = ManuallyDrop::new((stop, self.own.take(), self.standby.take()));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process != process::id() {
            return self.leave();
        }
        let begun = Instant::now();
        self.stop.send_replace(true);
        let own = self.own.take();
        // A handler may block the thread whose it is.
        if let Some(listener) = own.as_ref().and_then(|own| own.listener.upgrade()) {
            listener.close();
        }
        let mut threads = own.iter().map(|own| &own.thread).chain(&self.standby);
        let here = thread::current().id();
        if threads.any(|one| one.thread().id() == here) {
            // They wait for a connection that waits for this.
            return;
        }
        // Their panics were told on standard error.
        if let Some(standby) = self.standby.take() {
            drop(standby.join());
        }
        if let Some(mut own) = own
            && own.has_ended(begun, self.stop_time, &self.calls)
        {
            drop(own.thread.join());
        }
    }
}

impl OwnThread {
    /// Waits until it ends. It does not, for as long as a handler keeps it.
    fn has_ended(&mut self, begun: Instant, stop_time: Duration, calls: &OwnCalls) -> bool {
        let mut before = None;
        while block_on_for(&mut self.end, LOOK).is_none() {
            let call = calls.now();
            if begun.elapsed() > stop_time && call.is_some() && call == before {
                return false;
            }
            before = call;
        }
        true
    }
}

/// Listens with room for as many connections as may come at once: who finds none asks again after
/// a second.
fn listen(at: SocketAddr, most: usize) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    // As std does: else a server that begins again waits until the connections of the last are
    // forgotten.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(i32::try_from(most).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

/// Starts the thread that answers.
fn start_own(
    listener: TcpListener,
    room: Arc<ConnectionRoom>,
    site: Arc<ServerShared>,
) -> io::Result<OwnThread> {
    let runtime = runtime(&site)?;
    let listener = {
        let _entered = runtime.enter();
        Arc::new(OpenListener::new(listener)?)
    };
    let there = Arc::downgrade(&listener);
    let (ended, end) = oneshot::channel();
    let body = move || {
        run_to_end(runtime, async {
            let wakes = Arc::clone(&site.wakes);
            tokio::spawn(async move { wakes.run().await });
            room.accept(&listener, &site, site.stopped()).await;
            listener.close();
            let empty = room.until_empty(site.limits.stop_time);
            tokio::join!(empty, site.until_told());
        });
        drop(ended);
    };
    let thread = spawn_named("motet-http", body)?;
    Ok(OwnThread {
        thread,
        listener: there,
        end,
    })
}

/// What a thread needs to take connections while the server's own is in a handler that blocks.
struct StandbyThread {
    listener: TcpListener,
    room: Arc<ConnectionRoom>,
    calls: Arc<OwnCalls>,
    site: Arc<ServerShared>,
}

impl StandbyThread {
    fn start(self) -> io::Result<JoinHandle<()>> {
        let runtime = runtime(&self.site)?;
        spawn_named("motet-http-2", move || run_to_end(runtime, self.run()))
    }

    async fn run(self) {
        let wakes = Arc::clone(&self.site.wakes);
        tokio::spawn(async move { wakes.run().await });
        loop {
            let call = tokio::select! {
                call = self.calls.blocked() => call,
                () = self.site.stopped() => break,
            };
            let end = async {
                tokio::select! {
                    () = self.calls.has_ended(call) => {}
                    () = self.site.stopped() => {}
                }
            };
            // Here only meanwhile: else each connection would wake this thread, too.
            match self.listener() {
                Ok(listener) => self.room.accept(&listener, &self.site, end).await,
                // No descriptor is free.
                Err(_) => end.await,
            }
        }
        drop(self.listener);
        let empty = self.room.until_empty(self.site.limits.stop_time);
        // Some of those who are told were subscribed here.
        tokio::join!(empty, self.site.until_told());
    }

    fn listener(&self) -> io::Result<OpenListener> {
        OpenListener::new(self.listener.try_clone()?)
    }
}

/// Does the work of a thread. It does not wait until a name has been looked up that a subscriber
/// has: nobody can give that up.
fn run_to_end(runtime: Runtime, work: impl Future<Output = ()>) {
    runtime.block_on(work);
    runtime.shutdown_background();
}

/// What waits for connections and times on a thread, which looks before it sleeps.
fn runtime(site: &ServerShared) -> io::Result<Runtime> {
    let (before, after) = (Arc::clone(&site.wakes), Arc::clone(&site.wakes));
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .on_thread_park(move || before.before_sleep())
        .on_thread_unpark(move || after.after_sleep())
        .build()
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_dispatch::Dispatcher;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// What the server answers when it is asked how it is.
    fn answer(at: SocketAddr) -> io::Result<String> {
        let mut stream = TcpStream::connect(at)?;
        let ask = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(ask.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn a_thread_ends_though_a_name_is_looked_up() {
        motet_testkit::within(Duration::from_secs(60), || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            // As a name that is not found, nobody comes before the thread has ended.
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let at = listener.local_addr().unwrap();
            run_to_end(runtime.unwrap(), async move {
                let (begins, begun) = oneshot::channel();
                drop(tokio::task::spawn_blocking(move || {
                    begins.send(()).unwrap();
                    listener.accept().unwrap();
                }));
                begun.await.unwrap();
            });
            drop(TcpStream::connect(at).unwrap());
        });
    }

    #[test]
    fn a_process_that_was_forked_leaves_the_server_as_it_is() {
        let dispatcher = Dispatcher::new(1);
        let node = Node::builder("own").start(&dispatcher).unwrap();
        let config = Config::at(([127, 0, 0, 1], 0).into());
        let mut server = Server::start(&node, config).unwrap();
        let (at, stop) = (server.address(), server.stop.clone());
        // As after a fork: the threads are those of another process, and no process is 0.
        server.process = 0;
        drop(server);
        let answer = answer(at).unwrap();
        stop.send_replace(true);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}
