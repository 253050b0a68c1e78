//! Servers of this process: a node's, and one of axum that does the same and no more.

use crate::said::Said;
use motet_dispatch::Dispatcher;
use motet_http::{Config, Server};
use motet_ports::wait_blocking;
use motet_service::{Create, Node, Service, State, contract, data};
use motet_sync::{Mutex, thread};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use tokio::sync::oneshot;

/// A number.
#[data]
#[derive(Default)]
struct Count {
    n: u64,
}

#[contract(uri = "motet:bench-http-counter/1", state = Count)]
trait Counts {
    /// Adds to it.
    #[update]
    fn add(&mut self, n: u64) -> u64;
}

#[derive(Service)]
#[service(contract = Counts)]
struct Counter {
    #[state]
    count: State<Count>,
}

impl Counts for Counter {
    fn add(&mut self, n: u64) -> u64 {
        self.count.n += n;
        self.count.n
    }
}

/// A node that is served.
pub(super) struct Served {
    server: Option<Server>,
    node: Node,
    at: SocketAddr,
    _dispatcher: Dispatcher,
}

impl Served {
    pub(super) fn start() -> Result<Served, String> {
        let dispatcher = Dispatcher::new(1);
        let builder = Node::builder("bench").register::<Counter>();
        let node = builder.start(&dispatcher).said()?;
        let create = node.create(Create::<Counter>::of().at("/counter"));
        let created = wait_blocking(create).said()?;
        created.said()?;
        let mut config = Config::at((Ipv4Addr::LOCALHOST, 0).into());
        // As the server of axum, which has no limit: each connection may have a request under way.
        config.limits.in_flight = config.limits.connections;
        let server = Server::start(&node, config).said()?;
        Ok(Served {
            at: server.address(),
            server: Some(server),
            node,
            _dispatcher: dispatcher,
        })
    }

    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        // This thread runs no task.
        let _ = wait_blocking(self.node.shutdown());
    }
}

/// The same with nothing but axum.
pub(super) struct Axum {
    at: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Axum {
    pub(super) fn start() -> Result<Axum, String> {
        let (tell, told) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let served = runtime.and_then(|runtime| runtime.block_on(serve(&tell, ended)));
            // Whoever started it has heard of the address, or hears of this.
            drop(served.map_err(|why| tell.send(Err(why.to_string()))));
        };
        let thread = thread::spawn(body);
        let at = told.recv().said()??;
        Ok(Axum {
            at,
            end: Some(end),
            thread: Some(thread),
        })
    }

    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }
}

type AddressSender = mpsc::Sender<Result<SocketAddr, String>>;

async fn serve(tell: &AddressSender, ended: oneshot::Receiver<()>) -> std::io::Result<()> {
    use axum::routing::{get, post};
    let count = Arc::new(Mutex::new(0u64));
    let changed = Arc::clone(&count);
    let read = async move || axum::Json(serde_json::json!({"n": *count.lock()}));
    let change = async move |axum::Json(n): axum::Json<u64>| {
        let mut count = changed.lock();
        *count += n;
        axum::Json(*count)
    };
    let app = axum::Router::new()
        .route("/counter", get(read))
        .route("/counter/-/add", post(change));
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    drop(tell.send(Ok(listener.local_addr()?)));
    let serving = axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |stream| {
            drop(stream.set_nodelay(true));
        }),
        app,
    );
    // Whatever is still open goes with the runtime.
    tokio::select! {
        served = serving => served,
        _ = ended => Ok(()),
    }
}

impl Drop for Axum {
    fn drop(&mut self) {
        let _ = self.end.take().map(|end| end.send(()));
        drop(self.thread.take().map(|thread| thread.join()));
    }
}
