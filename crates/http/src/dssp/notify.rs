//! Notifications of DSSP: each is an envelope that is POSTed to whoever has subscribed.
//!
//! They go to addresses that the configuration names, and to no others: else a message could have
//! the server send requests to wherever the server alone may.

use super::envelope::{envelope, kind, of_contract};
use super::state;
use super::xml::XmlElement;
use crate::site::ServerShared;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use motet_ports::Port;
use motet_service::{AnyClient, AnyNotification, Fault, FaultCode, Options, Subscribe, Value};
use std::error::Error;
use std::iter;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a subscriber may take for one.
const LIMIT: Duration = Duration::from_secs(10);

/// After so long without one it is looked whether the subscription is still there.
const LOOK: Duration = Duration::from_secs(60);

/// When the server stops so many are still told.
const WAITING: usize = 1024;

/// Whoever is told by envelopes.
struct DsspSubscriber {
    /// As he has written it.
    url: String,
    /// `host:port`, as the configuration has it.
    host: String,
    /// The path there, and the query.
    place: String,
    soap: &'static str,
}

/// Subscribes whom the body names: the number of the subscription.
pub(super) async fn subscribe(
    site: &ServerShared,
    service: &AnyClient,
    (soap, body): (&'static str, &XmlElement),
    options: Options,
) -> Result<Value, Fault> {
    let subscriber = DsspSubscriber::of(site, soap, body)?;
    let mut how = Subscribe::all();
    let filter = body.child("TypeFilter");
    for wanted in filter.into_iter().flat_map(|it| &it.children) {
        let word = wanted.text.trim();
        service.tells_of(word)?;
        how = how.operation(word);
    }
    // One that has started anew, and subscribes again, is told once.
    let name = format!("dssp {} {:?}", subscriber.url, how.operations);
    how = how.named(&name);
    let place = site.dssp.enter(&format!("{} {name}", service.path()))?;
    let newer = place.newer();
    let (id, port) = service.subscribe_with(how, options).await?;
    place.has_newer();
    let (service, mut stop, own) = (service.clone(), site.stop.clone(), id.clone());
    tokio::spawn(async move {
        subscriber
            .tell_all(&service, &own, &port, (newer, stop.clone()))
            .await;
        // It may have ended by itself. The first look makes the call: a server that stops, and
        // waits for this place, does not wait for a worker that answers.
        tokio::select! {
            biased;
            _ = service.call("unsubscribe", own) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        drop(place);
    });
    Ok(id)
}

/// The verb of an event that no contract names.
fn uniform(event: &str) -> &'static str {
    match event {
        "create" => "Create",
        "update" => "Update",
        "replace" => "Replace",
        "drop" | "gone" => "Drop",
        _ => "Notify",
    }
}

impl DsspSubscriber {
    /// Whom a body names, if he may be told.
    fn of(site: &ServerShared, soap: &'static str, body: &XmlElement) -> Result<Self, Fault> {
        let url = body.child("Subscriber").map_or("", |it| it.text.trim());
        let unfit = || {
            let reason = format!(
                "the element Subscriber is {url:?}; write where envelopes are taken, such as \
                 http://127.0.0.1:8080/told"
            );
            Fault::new(FaultCode::MessageNotSupported, reason)
        };
        let uri: Uri = url.parse().map_err(|_| unfit())?;
        let host = uri.authority().ok_or_else(unfit)?.as_str();
        if uri.scheme_str() != Some("http") {
            return Err(unfit());
        }
        let mut known = site.dssp.addresses.iter();
        let known = known.find(|known| known.eq_ignore_ascii_case(host));
        let host = known.ok_or_else(|| {
            let reason = format!(
                "this server tells nobody at {host}; name the address in its configuration, or \
                 subscribe by /-/events"
            );
            Fault::new(FaultCode::PermissionDenied, reason)
        })?;
        Ok(DsspSubscriber {
            host: host.clone(),
            place: uri
                .path_and_query()
                .map_or("/", |it| it.as_str())
                .to_owned(),
            url: url.to_owned(),
            soap,
        })
    }

    /// Tells what comes, until the subscription has ended, the subscriber does not take one, or the
    /// server stops: then what waits is told, such as the end of the service.
    async fn tell_all(
        &self,
        service: &AnyClient,
        id: &Value,
        port: &Port<Arc<AnyNotification>>,
        (mut newer, mut stop): (watch::Receiver<()>, watch::Receiver<bool>),
    ) {
        loop {
            let next = tokio::select! {
                next = timeout(LOOK, port.recv()) => next.ok(),
                _ = newer.changed() => None,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let Some(next) = next else {
                let all = service.lookup().subscriptions;
                match all.iter().any(|own| *id == own.id) {
                    true => continue,
                    false => return,
                }
            };
            if !self.is_told(service, &next).await {
                return;
            }
        }
        let waiting: Vec<_> = iter::from_fn(|| port.test()).take(WAITING).collect();
        for next in waiting {
            if !self.is_told(service, &next).await {
                return;
            }
        }
    }

    /// Tells it; whether another is to be told.
    async fn is_told(&self, service: &AnyClient, next: &AnyNotification) -> bool {
        let sent = timeout(LIMIT, self.send(self.written(service, next))).await;
        matches!(sent, Ok(Ok(status)) if status.is_success()) && next.event != "gone"
    }

    /// A notification as the operation that it tells of.
    fn written(&self, service: &AnyClient, notification: &AnyNotification) -> String {
        let event = notification.event.as_str();
        let verb = match service.operation(event) {
            Some(own) => format!("{:?}", own.verb),
            None => uniform(event).to_owned(),
        };
        let mut body = String::new();
        state::write(event, &notification.body, &mut body);
        let body = of_contract(body, service.contract());
        let version = format!("<d:Version>{}</d:Version>", notification.version);
        envelope(
            self.soap,
            &self.url,
            &version,
            &format!("{verb}Request"),
            &body,
        )
    }

    /// POSTs an envelope: the status of the answer. No redirection is followed.
    async fn send(&self, envelope: String) -> Result<StatusCode, Box<dyn Error + Send + Sync>> {
        let stream = TcpStream::connect(&self.host).await?;
        drop(stream.set_nodelay(true));
        let (mut sender, connection) =
            http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
        // It ends with the answer.
        tokio::spawn(async move {
            drop(connection.await);
        });
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.place.as_str())
            .header(HOST, &self.host)
            .header(CONNECTION, "close")
            .header(CONTENT_TYPE, kind(self.soap))
            .body(Full::new(Bytes::from(envelope)))?;
        Ok(sender.send_request(request).await?.status())
    }
}
