//! Notifications of a service of another node, as they come.

use crate::access::cannot;
use crate::events::BEAT;
use crate::jitter::Jitter;
use crate::lines::{Failed, LARGEST, Lines, encode, fault_of, send, whole};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::response::Parts;
use hyper::{Method, StatusCode};
use motet_service::{Fault, FaultCode, Value};
use motet_sync::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// A notification of a service of another node.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RemoteNotification {
    /// The version of the state after this.
    pub version: u64,
    /// The operation; `replace`, `lost` or `gone`.
    pub event: String,
    /// Its body: of the operation, the state, how many were lost, or nothing.
    pub body: Value,
    /// Whether some were missed before this.
    pub reinstated: bool,
}

/// A subscription to a service of another node ([`Peer::watch`](crate::Peer::watch)). Dropping it
/// ends it.
#[derive(Debug)]
pub struct Watch {
    pub(crate) events: mpsc::Receiver<Result<RemoteNotification, Fault>>,
    /// Why there is no connection, once there was one.
    pub(crate) lost: Arc<Mutex<Option<String>>>,
    /// The peer, whose thread reads the events.
    pub(crate) _peer: Arc<dyn Any + Send + Sync>,
}

impl Watch {
    /// The next notification; `None` after `gone`, and after a fault.
    ///
    /// # Errors
    /// Why the subscription has ended.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<RemoteNotification, Fault>> {
        self.events.recv().await
    }

    /// Why the connection has failed, while it is made again; `None` while there is one, and before
    /// the first.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.lost.lock().clone()
    }
}

/// What has come of a stream of events, up to the last whole one.
#[derive(Debug, Default)]
pub(crate) struct Events {
    rest: Vec<u8>,
    /// So many bytes of it have no end of an event.
    looked: usize,
    /// The number of the last event that has one.
    pub(crate) last: Option<u64>,
}

impl Events {
    /// Another connection begins: what was broken off on the last one is sent again.
    fn begin(&mut self) {
        self.rest.clear();
        self.looked = 0;
    }

    /// Takes what has come; the events that are whole now.
    pub(crate) fn take(&mut self, came: &Bytes) -> Vec<RemoteNotification> {
        self.rest.extend_from_slice(came);
        let mut told = Vec::new();
        let end = |rest: &[u8]| rest.windows(2).position(|two| two == b"\n\n");
        while let Some(more) = end(&self.rest[self.looked..]) {
            let event: Vec<u8> = self.rest.drain(..self.looked + more + 2).collect();
            self.looked = 0;
            told.extend(self.read(&String::from_utf8_lossy(&event)));
        }
        // A line break at the end may be the first of two.
        self.looked = self.rest.len().saturating_sub(1);
        told
    }

    /// One event; a comment is none.
    fn read(&mut self, text: &str) -> Option<RemoteNotification> {
        let (mut event, mut data) = (None, None);
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => self.last = id.parse().ok().or(self.last),
                Some(("event", name)) => event = Some(name.to_owned()),
                Some(("data", text)) => data = serde_json::from_str::<Value>(text).ok(),
                // A comment begins with its colon, the end is empty, and other lines mean nothing.
                _ => {}
            }
        }
        // What is no object of ours says nothing.
        let mut data = data.filter(Value::is_object)?;
        Some(RemoteNotification {
            version: data["version"].as_u64().unwrap_or_default(),
            event: event?,
            body: data["body"].take(),
            reinstated: data["reinstated"].as_bool().unwrap_or_default(),
        })
    }
}

/// Before a connection that has failed is made again, at least.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// A connection that has lasted so long was a good one.
const LASTING: Duration = Duration::from_secs(1);
/// For so long a connection that has failed is made again and again.
const PATIENCE: Duration = Duration::from_secs(60);
/// A node that says nothing for so long has gone: it sends a comment more often.
const SILENCE: Duration = BEAT.saturating_mul(3);

/// Tells what a service tells, over one connection after the other.
pub(crate) async fn watch(
    lines: &Lines,
    path: &str,
    query: &str,
    to: &mpsc::Sender<Result<RemoteNotification, Fault>>,
    told: &Mutex<Option<String>>,
) {
    let mut came = Events::default();
    let end = |code, reason| async move {
        let fault = Fault::new(code, reason).of_service(path);
        drop(to.send(Err(fault)).await);
    };
    // Since when there is no connection, once there was one.
    let (mut lost, mut pause) = (None, FIRST_PAUSE);
    loop {
        let (mut is_open, begun) = (false, Instant::now());
        let place = (lines, path, query);
        let begins = || {
            is_open = true;
            *told.lock() = None;
        };
        let failed = match stream(place, &mut came, to, lost.is_some(), begins).await {
            Ok(()) => return,
            Err(failed) => failed,
        };
        // One that ends as soon as it is made is none that has come back.
        if is_open && (lost.is_none() || begun.elapsed() >= LASTING) {
            (lost, pause) = (Some(Instant::now()), FIRST_PAUSE);
        }
        match (failed, lost) {
            (Failed::Refused(why), _) => {
                let reason = format!("no connection with {}: {why}", lines.host);
                drop(to.send(Err(cannot(reason).of_service(path))).await);
                return;
            }
            // It was there: it will be again, or say that it is gone.
            (Failed::Before(why) | Failed::After(why), Some(lost)) if lost.elapsed() < PATIENCE => {
                *told.lock() = Some(why);
                pause = (pause * 2).min(Duration::from_secs(2));
                sleep(Jitter::own().between(FIRST_PAUSE, pause)).await;
            }
            (Failed::Before(why) | Failed::After(why), None) => {
                return end(FaultCode::Unavailable, why).await;
            }
            (Failed::Before(why) | Failed::After(why), Some(_)) => {
                let reason = format!("the connection was lost {PATIENCE:?} ago: {why}");
                return end(FaultCode::Unavailable, reason).await;
            }
        }
    }
}

/// Why the node tells nothing. An error: it has no room now, and is asked again.
async fn refused(head: &Parts, body: Incoming, was_open: bool) -> Result<Fault, Failed> {
    let answer = match whole(body, LARGEST).await? {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        Err(fault) => return Ok(fault),
    };
    let fault = fault_of(&answer, head);
    let is_passing = fault.retry_in().is_some();
    match was_open && (is_passing || head.status == StatusCode::SERVICE_UNAVAILABLE) {
        true => Err(Failed::Before(fault.to_string())),
        false => Ok(fault),
    }
}

/// Whether events come behind this head.
fn tells_events(head: &Parts, host: &str) -> Result<(), Fault> {
    let kind = head.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return Ok(());
    }
    let reason =
        format!("{host} answers with the type {kind:?}, not with events: it is no node of motet");
    Err(Fault::new(FaultCode::UnknownService, reason))
}

/// Tells what comes over one connection, until it fails; `Ok` when there is no more to tell.
/// `begins` is called when the node tells events. `was_open`: there was one before, and a node that
/// has no room now is asked again.
async fn stream(
    (lines, path, query): (&Lines, &str, &str),
    came: &mut Events,
    to: &mpsc::Sender<Result<RemoteNotification, Fault>>,
    was_open: bool,
    begins: impl FnOnce(),
) -> Result<(), Failed> {
    let place = format!("{}/-/events?{query}", encode(path));
    let mut request = lines.request(&Method::GET, place);
    if let Some(last) = came.last {
        request = request.header("last-event-id", last.to_string());
    }
    let request = request.body(Full::new(Bytes::new()));
    let request =
        request.map_err(|why| Failed::Before(format!("the call is no request: {why}")))?;
    let silent = || {
        Failed::After(format!(
            "{} has said nothing for {SILENCE:?}; see whether a node runs there",
            lines.host
        ))
    };
    let sent = timeout(SILENCE, send(lines, request)).await;
    let (response, _line) = sent.map_err(|_| silent())?.map_err(|failed| match failed {
        Failed::Before(why) => Failed::Before(format!(
            "cannot reach {}: {why}; see whether the node runs there",
            lines.host
        )),
        other => other,
    })?;
    let (head, mut body) = response.into_parts();
    if !head.status.is_success() {
        let refused = timeout(SILENCE, refused(&head, body, was_open)).await;
        let fault = refused.map_err(|_| silent())??;
        drop(to.send(Err(fault)).await);
        return Ok(());
    }
    if let Err(fault) = tells_events(&head, &lines.host) {
        drop(to.send(Err(fault.of_service(path))).await);
        return Ok(());
    }
    begins();
    came.begin();
    while let Some(frame) = timeout(SILENCE, body.frame()).await.map_err(|_| silent())? {
        let frame = frame.map_err(|why| Failed::After(why.to_string()))?;
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        for told in came.take(bytes) {
            let is_last = told.event == "gone";
            if to.send(Ok(told)).await.is_err() || is_last {
                return Ok(());
            }
        }
        if came.rest.len() > LARGEST {
            let reason = format!("{} sends an event without an end", lines.host);
            let fault = Fault::new(FaultCode::InsufficientResources, reason);
            drop(to.send(Err(fault.of_service(path))).await);
            return Ok(());
        }
    }
    Err(Failed::After("the stream has ended".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_event_of_a_node_says_nothing() {
        let mut events = Events::default();
        let came = Bytes::from_static(b"event: deposit\ndata: 7\n\nevent: gone\ndata: {}\n\n");
        let told = events.take(&came);
        assert_eq!((told.len(), told[0].event.as_str()), (1, "gone"));
    }

    #[test]
    fn what_was_broken_off_does_not_spoil_what_comes_over_the_next_connection() {
        let mut events = Events::default();
        assert!(events.take(&Bytes::from_static(b"id: 7")).is_empty());
        events.begin();
        let came = Bytes::from_static(b"event: gone\ndata: {\"version\":7}\n\n");
        let told = events.take(&came);
        assert_eq!((told.len(), told[0].event.as_str()), (1, "gone"));
        assert_eq!(events.last, None);
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = b": nothing has happened\n\nid: 7\nevent: deposit\ndata: {\"version\":7,\"body\":40}\n\n\
                     event: gone\ndata: {\"version\":7,\"body\":null}\n\n";
        for cut in 1..text.len() {
            let mut events = Events::default();
            let told: Vec<RemoteNotification> = text
                .chunks(cut)
                .flat_map(|piece| events.take(&Bytes::copy_from_slice(piece)))
                .collect();
            let names: Vec<&str> = told.iter().map(|told| told.event.as_str()).collect();
            assert_eq!(names, ["deposit", "gone"], "{cut}");
            assert_eq!((told[0].version, &told[0].body), (7, &Value::from(40)));
            assert_eq!(events.last, Some(7));
        }
    }
}
