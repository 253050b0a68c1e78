//! Notifications of several services as one stream of events: a browser opens few connections.

use crate::body::HttpReply;
use crate::caller::Caller;
use crate::events::{AHEAD, how, pump, streamed, told_of};
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
    let services = services(site, target)?;
    let wanted = wanted(target, &services)?;
    let mut seen = seen(headers, services.len())?;
    if !wanted.sync {
        // Who has no number yet resumes behind this one.
        for (seen, service) in seen.iter_mut().zip(&services) {
            seen.get_or_insert_with(|| service.state_version());
        }
    }
    let (sender, receiver) = mpsc::channel(AHEAD);
    if seen.iter().any(Option::is_some) {
        // There is room: nothing else was sent.
        drop(sender.try_send(Bytes::from(format!("id: {}\n\n", numbers(&seen)))));
    }
    let last = Arc::new(LastVersions(Mutex::new(seen.clone())));
    for (at, service) in services.into_iter().enumerate() {
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

/// The services that the query names, each once.
fn services(site: &ServerShared, target: &RequestTarget) -> Result<Vec<AnyClient>, Refusal> {
    let all = target.parameters.iter().filter(|(name, _)| name == "of");
    let paths = all.flat_map(|(_, paths)| paths.split(','));
    let mut services: Vec<AnyClient> = Vec::new();
    for path in paths {
        let found = site.node.find_front(path);
        let Some((service, "")) = found else {
            let reason =
                format!("there is no service at {path:?}; GET / lists those that there are");
            let status = StatusCode::NOT_FOUND;
            return Err(Refusal::new(status, FaultCode::UnknownService, reason));
        };
        if services.iter().any(|known| known.path() == service.path()) {
            return Err(Refusal::bad(format!("{path} is named twice; name it once")));
        }
        services.push(service);
        if services.len() > MOST {
            let reason = format!("a stream is of {MOST} services at most; use several");
            return Err(Refusal::bad(reason));
        }
    }
    match services.is_empty() {
        true => Err(Refusal::bad("say of which services, as by ?of=/a,/b")),
        false => Ok(services),
    }
}

/// What each of them is to tell.
fn wanted(target: &RequestTarget, services: &[AnyClient]) -> Result<Subscribe, Refusal> {
    let others = target.parameters.iter().filter(|(name, _)| name != "of");
    let target = RequestTarget {
        path: target.path.clone(),
        parameters: others.cloned().collect(),
    };
    let wanted = how(&target, &HeaderMap::new())?;
    if wanted.since.is_some() {
        return Err(Refusal::bad(
            "since is a version of one service; resume a stream of several by Last-Event-ID",
        ));
    }
    for name in &wanted.operations {
        let mut told = services.iter().map(|service| told_of(service, name));
        // One that tells of it is enough.
        if !told.any(|told| told.is_ok()) {
            told_of(&services[0], name)?;
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
        let AnyNotification {
            version,
            event,
            body,
            reinstated,
            ..
        } = notification;
        let mut data = json!({"service": path, "version": version, "body": body});
        if *reinstated {
            data["reinstated"] = true.into();
        }
        // An event that is no change of the state leaves the numbers of the last changes.
        let id = match event.as_str() {
            "lost" | "gone" => String::new(),
            _ => {
                let mut all = self.0.lock();
                all[at] = Some(*version);
                format!("id: {}\n", numbers(&all))
            }
        };
        Bytes::from(format!("{id}event: {event}\ndata: {data}\n\n"))
    }
}
