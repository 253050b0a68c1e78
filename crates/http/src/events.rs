//! Notifications as server-sent events.

use crate::body::{Body, HttpReply};
use crate::caller::Caller;
use crate::headers::{LAST_EVENT, text};
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::target::RequestTarget;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use motet_ports::Port;
use motet_service::{AnyClient, AnyNotification, Options, Subscribe, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::timeout;

/// So often something is sent, if only a comment: who has gone is noticed.
pub(crate) const BEAT: Duration = Duration::from_secs(15);

/// So many events are written ahead of the connection; the others wait in the port of the
/// subscription.
pub(crate) const AHEAD: usize = 16;

/// Subscribe.
pub(crate) async fn stream(
    site: &ServerShared,
    service: &AnyClient,
    target: &RequestTarget,
    headers: &HeaderMap,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    let mut options = Options::default();
    options.principal = Some(Arc::clone(&caller.role));
    let how = how(target, headers)?;
    for word in &how.operations {
        told_of(service, word)?;
    }
    // Who has no number yet, and gets none with the state, resumes behind this one.
    let begins = how.since.is_none() && !how.sync;
    let version = begins.then(|| service.state_version());
    let (id, port) = service.subscribe_with(how, options).await?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    if let Some(version) = version {
        // There is room: nothing else was sent.
        drop(sender.try_send(Bytes::from(format!("id: {version}\n\n"))));
    }
    let (service, stop) = (service.clone(), site.stop.clone());
    tokio::spawn(async move {
        pump(&port, &sender, stop, |one| one.made(write)).await;
        // It may have ended by itself.
        drop(service.call("unsubscribe", id).await);
    });
    Ok(streamed(receiver))
}

/// An answer of the events that come until all their senders have gone.
pub(crate) fn streamed(events: mpsc::Receiver<Bytes>) -> HttpReply {
    let mut response = Response::new(Body::events(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Refuses a word of which the service never tells: it would be waited for without end.
pub(crate) fn told_of(service: &AnyClient, word: &str) -> Result<(), Refusal> {
    let told = service.tells_of(word);
    // The place is there, and the query is wrong.
    told.map_err(|fault| Refusal::new(StatusCode::BAD_REQUEST, fault.code(), fault.reason()))
}

/// What is subscribed to.
pub(crate) fn how(target: &RequestTarget, headers: &HeaderMap) -> Result<Subscribe, Refusal> {
    let mut how = Subscribe::all();
    for (name, value) in &target.parameters {
        match name.as_str() {
            "type" => how = how.operation(value),
            "sync" => match value.as_str() {
                "" | "1" | "true" => how = how.sync(),
                "0" | "false" => {}
                other => {
                    let reason = format!("sync is {other:?}; write 1, or leave it out");
                    return Err(Refusal::bad(reason));
                }
            },
            "since" => how = how.since(number("since", value)?),
            "count" => how = how.count(number("count", value)?),
            other => {
                let reason = format!(
                    "{other:?} says nothing of a subscription; use type, sync, since or count"
                );
                return Err(Refusal::bad(reason));
            }
        }
    }
    // What a browser has seen last is newer than what its page asked for at first.
    if let Some(last) = text(headers, &LAST_EVENT)? {
        how = how.since(number("Last-Event-ID", last)?);
    }
    Ok(how)
}

fn number(name: &str, value: &str) -> Result<u64, Refusal> {
    value
        .parse()
        .map_err(|_| Refusal::bad(format!("{name} is {value:?}; write a version, such as 17")))
}

/// Sends what comes as `write` has it, until nobody reads, the subscription has ended, or the
/// server stops. What is there when the server stops is sent still: it may be that the service has
/// ended.
pub(crate) async fn pump(
    port: &Port<Arc<AnyNotification>>,
    sender: &mpsc::Sender<Bytes>,
    mut stop: watch::Receiver<bool>,
    write: impl Fn(&AnyNotification) -> Bytes,
) {
    loop {
        let next = tokio::select! {
            next = timeout(BEAT, port.recv()) => next.ok(),
            () = sender.closed() => return,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        if !tell(next, sender, &write).await {
            return;
        }
    }
    for _ in 0..port.item_count() {
        let next = port.test();
        if next.is_none() || !tell(next, sender, &write).await {
            return;
        }
    }
}

/// Sends one event, or a comment if there is none; whether another may follow. Waits for room as
/// long as the connection is there.
async fn tell(
    next: Option<Arc<AnyNotification>>,
    sender: &mpsc::Sender<Bytes>,
    write: &impl Fn(&AnyNotification) -> Bytes,
) -> bool {
    let is_last = next.as_ref().is_some_and(|next| next.event == "gone");
    if next.is_some() {
        // Answers come before thousands of events.
        yield_now().await;
    }
    let Ok(room) = sender.reserve().await else {
        return false;
    };
    // It is written when it is sent: nothing of another sender comes between.
    room.send(match next {
        Some(notification) => write(&notification),
        None => Bytes::from_static(b": nothing has happened\n\n"),
    });
    !is_last
}

/// One event. Its number is the version.
fn write(notification: &AnyNotification) -> Bytes {
    event_with(notification, serde_json::json!({}), || {
        notification.version.to_string()
    })
}

/// One event, with more data than a notification has. A line break in JSON is written `\n`, so the
/// data are one line. An event that is no change of the state has no number: that of the last
/// change stays.
pub(crate) fn event_with(
    notification: &AnyNotification,
    mut data: Value,
    number: impl FnOnce() -> String,
) -> Bytes {
    let AnyNotification {
        version,
        event,
        body,
        reinstated,
        ..
    } = notification;
    data["version"] = serde_json::json!(version);
    data["body"] = serde_json::json!(body);
    if *reinstated {
        data["reinstated"] = true.into();
    }
    let id = match event.as_str() {
        "lost" | "gone" => String::new(),
        _ => format!("id: {}\n", number()),
    };
    Bytes::from(format!("{id}event: {event}\ndata: {data}\n\n"))
}
