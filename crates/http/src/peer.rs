//! The other side: calls of services of another node.

use crate::access::{Access, Encryption, cannot};
use crate::lines::{Lines, encode, service_path};
use crate::retry::until_answered;
use crate::watch::{RemoteNotification, Watch, watch};
use hyper::Uri;
use hyper::header::HeaderValue;
use motet_service::{Answering, Client, ContractClient, Fault, FaultCode, Options, Remote, Value};
use motet_sync::Mutex;
use motet_sync::atomic::AtomicBool;
use motet_sync::thread::spawn_named;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Another node, by its address: what gives clients of its services. Cheap to clone.
///
/// A call is sent by a thread of the peer's own and may be awaited anywhere. Get, Lookup and calls
/// with a key are tried again, while their time lasts, when the service has no room or a connection
/// fails. A node that was never reached is told at once. Any other call is sent once: when its
/// connection fails, nobody knows whether it was carried out, and the fault says so.
#[derive(Clone)]
pub struct Peer(Arc<Door>);

/// The way to the thread.
struct Door {
    url: String,
    asked: mpsc::Sender<Ask>,
}

/// What the thread is asked for.
enum Ask {
    Call(Asked),
    /// Events of a service, from its state on if that is wanted.
    Watch {
        path: String,
        query: String,
        events: mpsc::Sender<Result<RemoteNotification, Fault>>,
        lost: Arc<Mutex<Option<String>>>,
    },
}

/// A call that is going to be sent.
struct Asked {
    path: String,
    operation: String,
    body: Value,
    options: Options,
    answer: oneshot::Sender<Result<Value, Fault>>,
}

/// A service of it.
struct RemoteService {
    peer: Peer,
    path: String,
}

/// So many calls may wait for the thread.
const DEPTH: usize = 1024;
/// So many notifications are read ahead of who takes them.
const AHEAD: usize = 64;

impl Peer {
    /// The node at `url`, such as `http://127.0.0.1:50000`. It is connected to by the first call.
    ///
    /// # Errors
    /// A fault when that is no such address, or the system gives no thread.
    pub fn at(url: &str) -> Result<Peer, Fault> {
        Peer::with(url, &Access::default())
    }

    /// The node at `url` that asks who calls, such as `https://robot.example:50000`.
    ///
    /// # Errors
    /// As [`Peer::at`]; and when what `access` has does not fit: a token goes to `https` only,
    /// which needs the certificate of an authority.
    pub fn with(url: &str, access: &Access) -> Result<Peer, Fault> {
        let wrong = || {
            let reason = format!("{url:?} is no address of a node; write http://127.0.0.1:50000");
            Fault::new(FaultCode::UnknownService, reason)
        };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let scheme = uri.scheme_str().ok_or_else(wrong)?;
        let is_plain = matches!(scheme, "http" | "https") && matches!(uri.path(), "" | "/");
        let name = uri.host().filter(|_| is_plain).ok_or_else(wrong)?;
        let is_encrypted = scheme == "https";
        let port = if is_encrypted { 443 } else { 80 };
        let place = uri.authority().map_or(name, |it| it.as_str());
        let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
        let port = match place == name {
            true => port,
            false => uri.port_u16().ok_or_else(wrong)?,
        };
        let host = format!("{name}:{port}");
        let encryption = is_encrypted.then(|| Encryption::new(name, access));
        if access.certificate.is_some() && !is_encrypted {
            return Err(cannot(
                "a certificate is for https; call the node by https, or without a certificate",
            ));
        }
        let lines = Arc::new(Lines {
            host: host.clone(),
            token: token(access, is_encrypted)?,
            encryption: encryption.transpose()?,
            idle: Mutex::default(),
            reached: AtomicBool::new(false),
        });
        let no_thread = |why| {
            Fault::new(
                FaultCode::InsufficientResources,
                format!("no thread for {url}: {why}"),
            )
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(no_thread)?;
        let (asked, mut asks) = mpsc::channel::<Ask>(DEPTH);
        let body = move || {
            runtime.block_on(async {
                // Ends with the last handle of the peer; its calls are refused then.
                while let Some(ask) = asks.recv().await {
                    tokio::spawn(carried(Arc::clone(&lines), ask));
                }
            });
        };
        drop(spawn_named("motet-http-peer", body).map_err(no_thread)?);
        let url = format!("{scheme}://{host}");
        Ok(Peer(Arc::new(Door { url, asked })))
    }

    /// The typed client of the service at `path` there: the same type as in the process.
    #[must_use]
    pub fn client<K: ContractClient>(&self, path: &str) -> K {
        let place = RemoteService {
            peer: self.clone(),
            path: path.to_owned(),
        };
        K::from(Client::elsewhere(Arc::new(place)))
    }

    /// Calls an operation by its name; a uniform one by the name of its verb. The answer is a fault
    /// when the path does not begin with a slash.
    pub fn call(&self, path: &str, operation: &str, body: Value, options: Options) -> Answering {
        self.send(path, operation, body, options.told_on())
    }

    fn send(&self, path: &str, operation: &str, body: Value, options: Options) -> Answering {
        let path = match service_path(path) {
            Ok(path) => path,
            Err(fault) => return Box::pin(async move { Err(fault) }),
        };
        let (answer, answered) = oneshot::channel();
        let ask = Ask::Call(Asked {
            path: path.to_owned(),
            operation: operation.to_owned(),
            body,
            options,
            answer,
        });
        let (sent, path) = (self.0.asked.try_send(ask), path.to_owned());
        // The thread lasts as long as somebody waits for an answer.
        let peer = self.clone();
        Box::pin(async move {
            if sent.is_err() {
                return Err(overloaded(&path));
            }
            let answer = answered.await;
            drop(peer);
            answer.unwrap_or_else(|_| Err(Fault::new(FaultCode::NoAnswer, "the peer has ended")))
        })
    }

    /// Subscribes to the service at `path`: what it tells, of the operation named `only` or of all
    /// that have this verb if there is one, and first its state if `sync`. When the connection
    /// fails it is made again and goes on behind the last version that came.
    ///
    /// # Errors
    /// A fault when the path does not begin with a slash, or too many calls wait already. That
    /// there is no such service, or that it never tells of `only`, is told by [`Watch::next`].
    pub fn watch(&self, path: &str, only: Option<&str>, sync: bool) -> Result<Watch, Fault> {
        let path = service_path(path)?;
        let only = only.map(|only| format!("type={}", encode(only)));
        let sync = sync.then(|| "sync=1".to_owned());
        let words: Vec<String> = only.into_iter().chain(sync).collect();
        let (told, events) = mpsc::channel(AHEAD);
        let lost = Arc::default();
        let ask = Ask::Watch {
            path: path.to_owned(),
            query: words.join("&"),
            events: told,
            lost: Arc::clone(&lost),
        };
        self.0.asked.try_send(ask).map_err(|_| overloaded(path))?;
        let peer = Arc::clone(&self.0);
        Ok(Watch {
            events,
            lost,
            _peer: peer,
        })
    }
}

/// The header that tells the token, which nobody may read on the way.
fn token(access: &Access, is_encrypted: bool) -> Result<Option<HeaderValue>, Fault> {
    let Some(token) = &access.token else {
        return Ok(None);
    };
    if !is_encrypted {
        return Err(cannot(
            "a token would be sent in the clear; call the node by https, or without a token",
        ));
    }
    let header = HeaderValue::try_from(format!("Bearer {}", token.trim()));
    let mut header = header.map_err(|_| cannot("the token is no text of one line"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

fn overloaded(path: &str) -> Fault {
    let reason = format!("{DEPTH} calls wait for the connection already; try again");
    let fault = Fault::new(FaultCode::QueuingLimitExceeded, reason);
    fault
        .of_service(path)
        .retry_after(Duration::from_millis(10))
}

impl Remote for RemoteService {
    fn path(&self) -> &str {
        &self.path
    }

    fn call(&self, operation: &str, body: Value, options: Options) -> Answering {
        // Who waits is told already.
        self.peer.send(&self.path, operation, body, options)
    }
}

/// Does what is asked for, unless nobody wants it any more.
async fn carried(lines: Arc<Lines>, ask: Ask) {
    match ask {
        Ask::Call(mut ask) => {
            let (path, operation) = (&ask.path, &ask.operation);
            let carried = until_answered(&lines, path, operation, &ask.body, &ask.options);
            tokio::select! {
                carried = carried => drop(ask.answer.send(carried)),
                () = ask.answer.closed() => {}
            }
        }
        Ask::Watch {
            path,
            query,
            events,
            lost,
        } => {
            tokio::select! {
                () = watch(&lines, &path, &query, &events, &lost) => {}
                () = events.closed() => {}
            }
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peer").field(&self.0.url).finish()
    }
}
