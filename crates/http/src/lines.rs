//! Connections to another node.

use crate::access::Encryption;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use motet_service::{Fault, Value};
use motet_sync::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// The connections, as its thread has them.
pub(crate) struct Lines {
    /// `host:port`.
    pub(crate) host: String,
    /// The header `Authorization`.
    pub(crate) token: Option<HeaderValue>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

/// Why a try has failed.
pub(crate) enum Failed {
    /// It was not sent.
    Before(String),
    /// It may have been carried out.
    After(String),
}

/// So many connections are kept when nobody uses them.
const IDLE: usize = 64;

/// Sends a request over a connection that is open, or a new one.
pub(crate) async fn send(
    lines: &Lines,
    mut request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, SendRequest<Full<Bytes>>), Failed> {
    loop {
        let kept = lines.idle.lock().pop();
        let is_kept = kept.is_some();
        let mut line = match kept {
            Some(line) => line,
            None => lines.connect().await.map_err(Failed::Before)?,
        };
        if line.ready().await.is_err() {
            match is_kept {
                true => continue,
                false => return Err(Failed::Before("it closed the connection".to_owned())),
            }
        }
        match line.try_send_request(request).await {
            Ok(response) => return Ok((response, line)),
            Err(mut failed) => match failed.take_message() {
                // The other side had closed a connection that was kept: nothing was sent.
                Some(again) if is_kept => request = again,
                Some(_) => return Err(Failed::Before(failed.into_error().to_string())),
                None => return Err(Failed::After(failed.into_error().to_string())),
            },
        }
    }
}

impl Lines {
    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = TcpStream::connect(&self.host).await;
        let stream = stream.map_err(|why| why.to_string())?;
        drop(stream.set_nodelay(true));
        match &self.encryption {
            None => shake(stream).await,
            Some(encryption) => shake(encryption.connect(stream).await?).await,
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

    pub(crate) fn give_back(&self, line: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle.lock();
        if !line.is_closed() && idle.len() < IDLE {
            idle.push(line);
        }
    }
}

/// Begins HTTP on a connection.
async fn shake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Full<Bytes>>, String> {
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (line, connection) = shaken.map_err(|why| why.to_string())?;
    // Its failures are those of its requests.
    tokio::spawn(async move { drop(connection.await) });
    Ok(line)
}

/// The fault that an answer tells, of a node or of whoever stands between.
pub(crate) fn fault_of(answer: &Value, status: hyper::StatusCode) -> Fault {
    let own = answer.get("fault").cloned().map(serde_json::from_value);
    if let Some(Ok(fault)) = own {
        return fault;
    }
    Fault::failed(format!(
        "the answer is {status}, and tells no fault: {answer}"
    ))
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
