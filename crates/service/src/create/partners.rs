//! How a service finds the others that it needs.

use crate::lifecycle::Lifecycle;
use crate::service::{Any, Common, NodeShared, ServiceKind};
use crate::spec::Spec;
use crate::{Fault, FaultCode, Partner, Policy};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The partners that are there, by their names.
pub(super) async fn find(
    shared: &Arc<NodeShared>,
    common: &Arc<Common>,
    wanted: &[Partner],
    spec: &Spec,
) -> Result<BTreeMap<String, Any>, Fault> {
    if let Some(stray) = spec
        .partners
        .keys()
        .find(|name| wanted.iter().all(|w| w.name != **name))
    {
        let known: Vec<&str> = wanted.iter().map(|partner| partner.name).collect();
        let reason = format!("{} has no partner {stray:?}; it has {known:?}", common.kind);
        return Err(Fault::new(FaultCode::MessageNotSupported, reason));
    }
    let clock = shared.deadlines.clock();
    let until = clock.in_future(spec.partners_within());
    let mut found = BTreeMap::new();
    for partner in wanted {
        let listed = spec.partners.get(partner.name);
        if let Some(service) = find_one(shared, common, partner, listed, until).await? {
            found.insert(partner.name.to_owned(), service);
        }
    }
    Ok(found)
}

async fn find_one(
    shared: &Arc<NodeShared>,
    common: &Arc<Common>,
    partner: &Partner,
    listed: Option<&String>,
    until: Instant,
) -> Result<Option<Any>, Fault> {
    let waited = match (listed, partner.policy) {
        (Some(path), _) => wait(shared, common, partner, Some(path), until).await,
        (None, Policy::UsePartnerListEntry) => Err(Fault::new(
            FaultCode::UnknownService,
            format!(
                "the partner {:?} is in no partner list; name its path",
                partner.name
            ),
        )),
        (None, Policy::UseExisting) => {
            let none = candidates(&shared.services(), common, partner, None).is_empty();
            // Nobody is to come: one that can be done without is not waited for.
            match partner.optional && none {
                true => return Ok(None),
                false => wait(shared, common, partner, None, until).await,
            }
        }
        (None, Policy::UseExistingOrCreate) => {
            let none = candidates(&shared.services(), common, partner, None).is_empty();
            match none {
                true => match create(shared, partner, false).await {
                    // Another has been quicker.
                    Err(fault) if fault.code() == FaultCode::DuplicateEntry => {
                        wait(shared, common, partner, None, until).await
                    }
                    created => created,
                },
                false => wait(shared, common, partner, None, until).await,
            }
        }
        (None, Policy::CreateAlways) => create(shared, partner, true).await,
    };
    match waited {
        Ok(service) => Ok(Some(service)),
        Err(_) if partner.optional && !shared.ends() => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The first registered type that has this contract.
fn kind_of<'a>(shared: &'a NodeShared, contract: &str) -> Option<&'a Arc<dyn ServiceKind>> {
    shared.kinds.values().find(|kind| kind.uri() == contract)
}

/// Whether a service of this type has others of its own made, and these others, without an end.
/// `way`: the types on the way to it.
fn is_endless(shared: &NodeShared, kind: &dyn ServiceKind, way: &mut Vec<&'static str>) -> bool {
    if way.contains(&kind.name()) {
        return true;
    }
    way.push(kind.name());
    let partners = kind.partners().into_iter();
    let mut own = partners.filter(|partner| partner.policy == Policy::CreateAlways);
    let found = own.any(|partner| {
        kind_of(shared, partner.contract).is_some_and(|kind| is_endless(shared, &**kind, way))
    });
    way.pop();
    found
}

/// Makes a partner: of the first registered type that has its contract.
async fn create(shared: &Arc<NodeShared>, partner: &Partner, own: bool) -> Result<Any, Fault> {
    let Some(kind) = kind_of(shared, partner.contract) else {
        let reason = format!("no registered type has the contract {}", partner.contract);
        return Err(Fault::new(FaultCode::UnknownService, reason));
    };
    let spec = Spec::of_kind(kind.name());
    if own {
        if is_endless(shared, &**kind, &mut Vec::new()) {
            let reason = format!(
                "a service of type {} would have services of its own made without an end; name the \
                 path of the partner {:?}",
                kind.name(),
                partner.name
            );
            return Err(Fault::failed(reason));
        }
        return create_own(shared, &**kind, spec).await;
    }
    kind.create(shared, spec).await
}

/// Makes a service at a path that no other has.
async fn create_own(
    shared: &Arc<NodeShared>,
    kind: &dyn ServiceKind,
    mut spec: Spec,
) -> Result<Any, Fault> {
    loop {
        let mut path = format!("/{}", kind.name());
        let mut number = 1;
        while shared.is_taken(&path) {
            number += 1;
            path = format!("/{}/{number}", kind.name());
        }
        spec.at = Some(path.clone());
        match kind.create(shared, spec.clone()).await {
            // Another has taken it meanwhile.
            Err(fault) if fault.code() == FaultCode::DuplicateEntry && shared.is_taken(&path) => {}
            made => return made,
        }
    }
}

/// Services that are the partner, or will be.
fn candidates(
    services: &[Any],
    common: &Common,
    partner: &Partner,
    listed: Option<&String>,
) -> Vec<Any> {
    let fits = |service: &&Any| {
        let other = service.common();
        let ended = matches!(
            *other.life.lock(),
            Lifecycle::Dropped | Lifecycle::Draining | Lifecycle::Failed { .. }
        );
        !ended
            && other.id != common.id
            && match listed {
                Some(path) => *other.path == **path,
                None => other.uri == partner.contract,
            }
    };
    services.iter().filter(fits).cloned().collect()
}

/// Waits until the partner runs.
async fn wait(
    shared: &Arc<NodeShared>,
    common: &Arc<Common>,
    partner: &Partner,
    listed: Option<&String>,
    until: Instant,
) -> Result<Any, Fault> {
    let what = listed.map_or(partner.contract, String::as_str);
    *common.life.lock() = Lifecycle::Starting {
        waits_for: vec![what.to_owned()],
    };
    let look = |services: &[Any]| {
        let candidates = candidates(services, common, partner, listed);
        let running = candidates
            .iter()
            .find(|service| *service.common().life.lock() == Lifecycle::Running);
        if let Some(running) = running {
            return Some(fitting(running, partner));
        }
        tell_cycle(services, common);
        let cycle = common.cycle.lock().clone()?;
        let reason = format!("services wait for each other: {cycle}; make one partner optional");
        Some(Err(Fault::failed(reason)))
    };
    shared.wake();
    let found = shared.deadlines.before(until, shared.until(look)).await;
    found.unwrap_or_else(|_| {
        let reason = format!(
            "the partner {:?}, {what}, did not come in time; start it, or allow more time",
            partner.name
        );
        Err(Fault::new(FaultCode::UnknownService, reason))
    })
}

fn fitting(service: &Any, partner: &Partner) -> Result<Any, Fault> {
    let common = service.common();
    if common.uri == partner.contract {
        return Ok(Arc::clone(service));
    }
    let reason = format!(
        "the partner {:?} is {}, which has the contract {}, not {}",
        partner.name, common.path, common.uri, partner.contract
    );
    Err(Fault::new(FaultCode::MessageNotSupported, reason))
}

/// Tells the services that wait for each other, if `common` is one of them.
fn tell_cycle(services: &[Any], common: &Common) {
    let mut way = vec![common.path.to_string()];
    if follow(services, common, common.id, &mut way) {
        let cycle = way.join(" -> ");
        for service in services.iter().map(|service| service.common()) {
            if way.iter().any(|path| **path == *service.path) {
                *service.cycle.lock() = Some(cycle.clone());
            }
        }
    }
}

fn follow(services: &[Any], from: &Common, begin: u64, way: &mut Vec<String>) -> bool {
    let Lifecycle::Starting { waits_for } = from.life.lock().clone() else {
        return false;
    };
    for what in waits_for {
        let is_meant = |other: &Common| *other.path == *what || other.uri == what;
        let meant = || {
            services
                .iter()
                .map(|service| service.common())
                .filter(|other| is_meant(other))
        };
        // One that runs will do.
        if meant().any(|other| *other.life.lock() == Lifecycle::Running) {
            continue;
        }
        for other in meant() {
            if other.id == begin {
                way.push(other.path.to_string());
                return true;
            }
            if way.iter().all(|path| **path != *other.path) {
                way.push(other.path.to_string());
                if follow(services, other, begin, way) {
                    return true;
                }
                way.pop();
            }
        }
    }
    false
}
