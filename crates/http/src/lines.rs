//! Connections to another node.

use crate::access::{Encryption, refusal};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, RETRY_AFTER};
use hyper::http::request::Builder;
use hyper::http::response::Parts;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use motet_service::{Fault, FaultCode, Value};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::error::Error;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The connections, as its thread has them.
pub(crate) struct Lines {
    /// `host:port`.
    pub(crate) host: String,
    /// The header `Authorization`.
    pub(crate) token: Option<HeaderValue>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) idle: Mutex<Vec<PooledConnection>>,
    /// Whether there was a connection once.
    pub(crate) reached: AtomicBool,
}

/// A connection.
pub(crate) struct PooledConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Why it has ended.
    ended: Arc<OnceLock<hyper::Error>>,
}

/// Why a try has failed.
pub(crate) enum Failed {
    /// It was not sent.
    Before(String),
    /// It may have been carried out.
    After(String),
    /// It was not carried out, and will not be: one side does not take the certificate of the
    /// other.
    Refused(String),
}

/// So many connections are kept when nobody uses them.
const IDLE: usize = 64;

/// Sends a request over a connection that is open, or a new one.
pub(crate) async fn send(
    lines: &Lines,
    mut request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, PooledConnection), Failed> {
    loop {
        let kept = lines.idle.lock().pop();
        let is_kept = kept.is_some();
        let mut line = match kept {
            Some(line) => line,
            None => lines.connect().await?,
        };
        if line.sender.ready().await.is_err() {
            match (is_kept, line.ended.get().and_then(|why| refusal(why))) {
                (true, _) => continue,
                (false, Some(why)) => return Err(Failed::Refused(why)),
                (false, None) => {
                    return Err(Failed::Before("it closed the connection".to_owned()));
                }
            }
        }
        match line.sender.try_send_request(request).await {
            Ok(response) => return Ok((response, line)),
            Err(mut failed) => {
                let message = failed.take_message();
                let why = failed.into_error();
                let refused =
                    refusal(&why).or_else(|| line.ended.get().and_then(|why| refusal(why)));
                match (message, refused) {
                    // The other side had closed a connection that was kept: nothing was sent.
                    (Some(again), _) if is_kept => request = again,
                    (_, Some(why)) => return Err(Failed::Refused(why)),
                    (Some(_), None) => return Err(Failed::Before(why.to_string())),
                    (None, None) => return Err(Failed::After(why.to_string())),
                }
            }
        }
    }
}

impl Lines {
    async fn connect(&self) -> Result<PooledConnection, Failed> {
        let before = |why: io::Error| match refusal(&why) {
            Some(why) => Failed::Refused(why),
            None => Failed::Before(why.to_string()),
        };
        let stream = TcpStream::connect(&self.host).await.map_err(before)?;
        drop(stream.set_nodelay(true));
        // Relaxed: it decides only whether a call is tried again.
        self.reached.store(true, Ordering::Relaxed);
        match &self.encryption {
            None => shake(stream).await,
            Some(encryption) => shake(encryption.connect(stream).await.map_err(before)?).await,
        }
    }

    /// The head of a request for this place.
    pub(crate) fn request(&self, method: &Method, place: String) -> Builder {
        let request = Request::builder()
            .method(method)
            .uri(place)
            .header(HOST, &self.host);
        match &self.token {
            None => request,
            Some(token) => request.header(AUTHORIZATION, token),
        }
    }

    pub(crate) fn give_back(&self, line: PooledConnection) {
        let mut idle = self.idle.lock();
        if !line.sender.is_closed() && idle.len() < IDLE {
            idle.push(line);
        }
    }
}

/// Begins HTTP on a connection.
async fn shake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<PooledConnection, Failed> {
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|why| Failed::Before(why.to_string()))?;
    let ended = Arc::new(OnceLock::new());
    let told = Arc::clone(&ended);
    tokio::spawn(async move {
        if let Err(why) = connection.await {
            // It ends once.
            drop(told.set(why));
        }
    });
    Ok(PooledConnection { sender, ended })
}

/// The fault that an answer tells, of a node or of whoever stands between. Who has no room for a
/// connection says so without a body.
pub(crate) fn fault_of(answer: &Value, head: &Parts) -> Fault {
    let own = answer.get("fault").cloned().map(serde_json::from_value);
    if let Some(Ok(fault)) = own {
        return fault;
    }
    let status = head.status;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let wait = head.headers.get(RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.to_str().ok()?.parse::<u32>().ok());
        let wait = Duration::from_secs(wait.unwrap_or(1).into());
        let reason = format!("the answer is {status}: there is no room now; try again");
        return Fault::new(FaultCode::QueuingLimitExceeded, reason).retry_after(wait);
    }
    Fault::failed(format!(
        "the answer is {status}, and tells no fault: {answer}"
    ))
}

/// So many bytes an answer may have, or an event: 256 MiB. Whoever sends more, or does not end,
/// would else take all memory.
pub(crate) const LARGEST: usize = 256 << 20;

/// The whole body of an answer, which has no more than `most` bytes; a fault of a larger one, which
/// is not asked for again.
pub(crate) async fn whole<B>(body: B, most: usize) -> Result<Result<Bytes, Fault>, Failed>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    match Limited::new(body, most).collect().await {
        Ok(whole) => Ok(Ok(whole.to_bytes())),
        Err(why) if why.is::<LengthLimitError>() => {
            let reason = format!("the answer has more than {most} bytes; ask for a part of it");
            Ok(Err(Fault::new(FaultCode::InsufficientResources, reason)))
        }
        Err(why) => Err(Failed::After(why.to_string())),
    }
}

/// The path of a service, without a slash behind it.
pub(crate) fn service_path(path: &str) -> Result<&str, Fault> {
    let wrong = |reason: String| Err(Fault::new(FaultCode::UnknownService, reason));
    if !path.starts_with('/') {
        return wrong(format!(
            "the path is {path:?}: it begins with a slash, as {:?}",
            format!("/{path}")
        ));
    }
    match path.trim_end_matches('/') {
        "" => wrong("the path is \"/\": that is the node, not one of its services".to_owned()),
        path => Ok(path),
    }
}

/// A path as it stands in a request.
pub(crate) fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(byte as char);
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_with_a_slash_and_is_that_of_a_service() {
        for (path, place) in [("/a", "/a"), ("/a/b//", "/a/b"), ("/ ", "/ ")] {
            assert_eq!(service_path(path), Ok(place));
        }
        for wrong in ["", "a", "a/b", "http://localhost/a", "/", "//"] {
            let fault = service_path(wrong).unwrap_err();
            assert!(
                fault.reason().contains(&format!("{wrong:?}")) || wrong == "//",
                "{fault}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_too_large_is_a_fault_and_is_not_asked_for_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let body = || Full::new(Bytes::from_static(b"12345"));
        let (fits, large) = runtime.unwrap().block_on(async {
            let fits = whole(body(), 5).await;
            (fits, whole(body(), 4).await)
        });
        assert!(fits.is_ok_and(|fits| fits.is_ok_and(|bytes| bytes.len() == 5)));
        let Ok(Err(fault)) = large else {
            panic!("it is a fault");
        };
        assert_eq!(fault.code(), FaultCode::InsufficientResources, "{fault}");
        assert_eq!(fault.retry_in(), None);
    }
}
