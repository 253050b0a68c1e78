//! Notifications of several services as one stream of events: a browser opens few connections.

use crate::body::HttpReply;
use crate::caller::Caller;
use crate::events::{AHEAD, event_with, how, pump, streamed, told_of};
use crate::headers::{LAST_EVENT, text};
use crate::problem::Refusal;
use crate::site::ServerShared;
use crate::target::RequestTarget;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use motet_service::{AnyClient, AnyNotification, FaultCode, Options, Subscribe};
use motet_sync::Mutex;
use serde_json::json;
use std::num::ParseIntError;
use std::sync::Arc;
use tokio::sync::mpsc;

/// So many services have one stream at most.
const MOST: usize = 64;

/// The last version of each service that was sent, in the order of the query.
struct LastVersions(Mutex<Vec<Option<u64>>>);

/// Subscribe to all services that the query names.
pub(crate) async fn stream(
    site: &ServerShared,
    target: &RequestTarget,
    headers: &HeaderMap,
    caller: &Caller,
) -> Result<HttpReply, Refusal> {
    let services = services(site, target, headers.contains_key(&LAST_EVENT))?;
    let wanted = wanted(target, &services)?;
    let mut seen = seen(headers, services.len())?;
    if !wanted.sync {
        // Who has no number yet resumes behind this one.
        for (seen, service) in seen.iter_mut().zip(&services) {
            let version = || service.client.as_ref().map(AnyClient::state_version);
            *seen = seen.or_else(version);
        }
    }
    let (sender, receiver) = mpsc::channel(AHEAD);
    let first = begin(&services, &seen);
    if !first.is_empty() {
        // There is room: nothing else was sent.
        drop(sender.try_send(Bytes::from(first)));
    }
    let last = Arc::new(LastVersions(Mutex::new(seen.clone())));
    let there = services.into_iter().map(|service| service.client);
    let there = there.enumerate().filter_map(|(at, it)| Some((at, it?)));
    for (at, service) in there {
        let mut options = Options::default();
        options.principal = Some(Arc::clone(&caller.role));
        let mut how = wanted.clone();
        how.since = seen[at];
        // If it is refused, those before end: nobody reads what they send.
        let (id, port) = service.subscribe_with(how, options).await?;
        let (sender, last, stop) = (sender.clone(), Arc::clone(&last), site.stop.clone());
        tokio::spawn(async move {
            let write = |one: &AnyNotification| last.write(at, service.path(), one);
            pump(&port, &sender, stop, write).await;
            // It may have ended by itself.
            drop(service.call("unsubscribe", id).await);
        });
    }
    Ok(streamed(receiver))
}

/// A service that a query names. Who resumes may name one that has ended meanwhile.
struct NamedService {
    path: String,
    client: Option<AnyClient>,
}

/// The services that the query names, each once.
fn services(
    site: &ServerShared,
    target: &RequestTarget,
    resumes: bool,
) -> Result<Vec<NamedService>, Refusal> {
    let all = target.parameters.iter().filter(|(name, _)| name == "of");
    let paths = all.flat_map(|(_, paths)| paths.split(','));
    let mut services: Vec<NamedService> = Vec::new();
    let mut unknown = None;
    for path in paths {
        let found = site.node.find_front(path);
        let client = found.and_then(|(client, rest)| rest.is_empty().then_some(client));
        if client.is_none() {
            unknown = unknown.or(Some(path));
        }
        let own = client.as_ref().map_or(path, AnyClient::path).to_owned();
        if services.iter().any(|known| known.path == own) {
            return Err(Refusal::bad(format!("{path} is named twice; name it once")));
        }
        services.push(NamedService { path: own, client });
        if services.len() > MOST {
            let reason = format!("a stream is of {MOST} services at most; use several");
            return Err(Refusal::bad(reason));
        }
    }
    let is_any_there = services.iter().any(|service| service.client.is_some());
    match unknown {
        Some(path) if !(resumes && is_any_there) => {
            let reason =
                format!("there is no service at {path:?}; GET / lists those that there are");
            let status = StatusCode::NOT_FOUND;
            Err(Refusal::new(status, FaultCode::UnknownService, reason))
        }
        _ if services.is_empty() => Err(Refusal::bad("say of which services, as by ?of=/a,/b")),
        _ => Ok(services),
    }
}

/// The numbers that are known, and which services have ended while nobody read.
fn begin(services: &[NamedService], seen: &[Option<u64>]) -> String {
    let mut text = String::new();
    if seen.iter().any(Option::is_some) {
        text = format!("id: {}\n\n", numbers(seen));
    }
    for (service, version) in services.iter().zip(seen) {
        if service.client.is_none() {
            let data = json!({"service": service.path, "version": version, "body": null});
            text.push_str(&format!("event: gone\ndata: {data}\n\n"));
        }
    }
    text
}

/// What each of them is to tell.
fn wanted(target: &RequestTarget, services: &[NamedService]) -> Result<Subscribe, Refusal> {
    let others = target.parameters.iter().filter(|(name, _)| name != "of");
    let target = RequestTarget {
        path: target.path.clone(),
        has_slash: target.has_slash,
        parameters: others.cloned().collect(),
    };
    let wanted = how(&target, &HeaderMap::new())?;
    if wanted.since.is_some() {
        return Err(Refusal::bad(
            "since is a version of one service; resume a stream of several by Last-Event-ID",
        ));
    }
    let there = services.iter().map(|service| service.client.as_ref());
    // One that has ended may have told of anything, and its end is told.
    let Some(there) = there.collect::<Option<Vec<_>>>() else {
        return Ok(wanted);
    };
    for word in &wanted.operations {
        // One that tells of it is enough.
        let mut refused = None;
        for service in &there {
            match told_of(service, word) {
                Ok(()) => {
                    refused = None;
                    break;
                }
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        if let Some(why) = refused {
            return Err(why);
        }
    }
    Ok(wanted)
}

/// The versions behind which a stream is to resume.
pub(crate) fn seen(headers: &HeaderMap, count: usize) -> Result<Vec<Option<u64>>, Refusal> {
    let Some(last) = text(headers, &LAST_EVENT)? else {
        return Ok(vec![None; count]);
    };
    let each = last.split(',').map(|one| match one {
        "-" => Ok(None),
        number => number.parse::<u64>().map(Some),
    });
    let each: Result<Vec<Option<u64>>, ParseIntError> = each.collect();
    each.ok().filter(|all| all.len() == count).ok_or_else(|| {
        let reason = format!(
            "Last-Event-ID is {last:?}; write a version of each service, or - for none, such as 17,-"
        );
        Refusal::bad(reason)
    })
}

/// Versions as the number of an event.
fn numbers(all: &[Option<u64>]) -> String {
    let each = all
        .iter()
        .map(|one| one.map_or_else(|| "-".to_owned(), |version| version.to_string()));
    each.collect::<Vec<String>>().join(",")
}

impl LastVersions {
    /// One event of the service at this place of the query. Its number are the versions of all.
    fn write(&self, at: usize, path: &str, notification: &AnyNotification) -> Bytes {
        event_with(notification, json!({"service": path}), || {
            let mut all = self.0.lock();
            all[at] = Some(notification.version);
            numbers(&all)
        })
    }
}
