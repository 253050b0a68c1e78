//! The other side: calls of services of another node.

use crate::access::{Access, Encryption, cannot};
use crate::lines::{Failed, LARGEST, Lines, encode, fault_of, send, whole};
use crate::watch::{RemoteNotification, Watch, watch};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH};
use hyper::{Method, StatusCode, Uri};
use motet_service::{Answering, Client, ContractClient, Fault, FaultCode, Options, Remote, Value};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread::spawn_named;
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

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

/// A call that does not say how long it may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Before a call is sent again, at least, whatever its fault says.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// A call without an end ends then: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
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

    /// Calls an operation by its name; a uniform one by the name of its verb.
    pub fn call(&self, path: &str, operation: &str, body: Value, options: Options) -> Answering {
        self.send(path, operation, body, options.told_on())
    }

    fn send(&self, path: &str, operation: &str, body: Value, options: Options) -> Answering {
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

    /// Subscribes to the service at `path`: what it tells, of the operation named `only` if there
    /// is one, and first its state if `sync`. When the connection fails it is made again and goes
    /// on behind the last version that came.
    ///
    /// # Errors
    /// A fault when too many calls wait already. That there is no such service is told by
    /// [`Watch::next`].
    pub fn watch(&self, path: &str, only: Option<&str>, sync: bool) -> Result<Watch, Fault> {
        let only = only.map(|only| format!("type={}", encode(only)));
        let sync = sync.then(|| "sync=1".to_owned());
        let words: Vec<String> = only.into_iter().chain(sync).collect();
        let (told, events) = mpsc::channel(AHEAD);
        let ask = Ask::Watch {
            path: path.to_owned(),
            query: words.join("&"),
            events: told,
        };
        self.0.asked.try_send(ask).map_err(|_| overloaded(path))?;
        let peer = Arc::clone(&self.0);
        Ok(Watch {
            events,
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
            let carried = carry(&lines, path, operation, &ask.body, &ask.options);
            tokio::select! {
                carried = carried => drop(ask.answer.send(carried)),
                () = ask.answer.closed() => {}
            }
        }
        Ask::Watch {
            path,
            query,
            events,
        } => {
            tokio::select! {
                () = watch(&lines, &path, &query, &events) => {}
                () = events.closed() => {}
            }
        }
    }
}

/// Sends a call, again and again if it may be, until it is answered or its time is over.
async fn carry(
    lines: &Lines,
    path: &str,
    operation: &str,
    body: &Value,
    options: &Options,
) -> Result<Value, Fault> {
    let until = Instant::now() + options.within.unwrap_or(LIMIT).min(LONGEST);
    let is_repeatable = matches!(operation, "get" | "lookup") || options.key.is_some();
    let mut pause = FIRST_PAUSE;
    let over = || {
        let reason = format!("no answer from {} in the time of the call", lines.host);
        Fault::new(FaultCode::ResponseTimeout, reason).of_service(path)
    };
    loop {
        let sent = timeout_at(until, once(lines, path, operation, body, options, until)).await;
        let fault = match sent.map_err(|_| over())? {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(fault)) if fault.retry_in().is_none() => return Err(fault),
            Ok(Err(fault)) => fault,
            Err(Failed::Before(why)) => {
                let reason = format!(
                    "cannot reach {}: {why}; see whether the node runs there",
                    lines.host
                );
                Fault::new(FaultCode::Unavailable, reason).of_service(path)
            }
            Err(Failed::Refused(why)) => {
                let reason = format!("no connection with {}: {why}", lines.host);
                return Err(cannot(reason).of_service(path));
            }
            Err(Failed::After(why)) => {
                let reason = format!(
                    "the connection to {} failed: {why}; {operation} may have been carried out: \
                     call with a key to repeat safely",
                    lines.host
                );
                Fault::new(FaultCode::NoAnswer, reason).of_service(path)
            }
        };
        pause = fault
            .retry_in()
            .unwrap_or(pause * 2)
            .clamp(FIRST_PAUSE, Duration::from_secs(1));
        // Nothing says that there is such a node.
        let is_unknown = !lines.reached.load(Ordering::Relaxed);
        if is_unknown || !is_repeatable || Instant::now() + pause >= until {
            return Err(fault);
        }
        sleep(pause).await;
    }
}

/// One try.
async fn once(
    lines: &Lines,
    path: &str,
    operation: &str,
    body: &Value,
    options: &Options,
    until: Instant,
) -> Result<Result<Value, Fault>, Failed> {
    let is_get = operation == "get";
    let (method, place) = match operation {
        "get" => (Method::GET, encode(path)),
        "lookup" => (Method::GET, format!("{}/-/lookup", encode(path))),
        name => (Method::POST, format!("{}/-/{}", encode(path), encode(name))),
    };
    let left = until.saturating_duration_since(Instant::now()).as_millis();
    let mut request = lines
        .request(&method, place)
        .header("motet-timeout", left.to_string());
    if let Some(key) = &options.key {
        request = request.header("idempotency-key", &**key);
    }
    if let Some(version) = options.if_version {
        request = request.header(IF_MATCH, format!("\"v{version}\""));
    }
    if options.capture {
        request = request.header("motet-capture", "1");
    }
    if let Some(chain) = &options.chain {
        request = request.header("motet-chain", &**chain);
    }
    let bytes = match method {
        Method::GET => Bytes::new(),
        _ => {
            request = request.header(CONTENT_TYPE, "application/json");
            Bytes::from(body.to_string())
        }
    };
    let request = request.body(Full::new(bytes));
    let request =
        request.map_err(|why| Failed::Before(format!("the call is no request: {why}")))?;
    let (response, line) = send(lines, request).await?;
    let (head, body) = response.into_parts();
    let tag = head.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    let version = tag.and_then(version_of);
    let bytes = match whole(body, LARGEST).await? {
        Ok(bytes) => bytes,
        Err(fault) => return Ok(Err(fault.of_service(path))),
    };
    lines.give_back(line);
    let answer: Value = match serde_json::from_slice(&bytes) {
        Ok(answer) => answer,
        Err(_) if head.status == StatusCode::SERVICE_UNAVAILABLE => Value::Null,
        Err(why) => {
            let why = format!("its answer, {}, is no JSON: {why}", head.status);
            return Err(Failed::After(why));
        }
    };
    Ok(match (head.status.is_success(), version) {
        (true, Some(version)) if is_get => Ok(json!({"version": version, "state": answer})),
        (true, None) if is_get => Err(no_version(&lines.host).of_service(path)),
        (true, _) => Ok(answer),
        (false, _) => Err(fault_of(&answer, &head)),
    })
}

/// The version that an ETag tells. A proxy that compresses an answer makes the tag a weak one.
fn version_of(tag: &str) -> Option<u64> {
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    tag.strip_prefix("\"v")?.strip_suffix('"')?.parse().ok()
}

/// Of a state without its version: changes that ask for that would ask for another one.
fn no_version(host: &str) -> Fault {
    let reason = format!(
        "{host} answers Get without the ETag of a version: it is no node of motet, or whoever stands \
         between takes the header out"
    );
    Fault::new(FaultCode::UnknownService, reason)
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peer").field(&self.0.url).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_of_a_tag_that_was_made_weak_too() {
        for (tag, version) in [
            ("\"v17\"", Some(17)),
            ("W/\"v17\"", Some(17)),
            ("\"17\"", None),
            ("", None),
        ] {
            assert_eq!(version_of(tag), version, "{tag}");
        }
    }
}
