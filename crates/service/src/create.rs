//! How a service is made: its place, its partners, its state, its start.
//!
//! - `create/builder.rs`: what is said of it; `create/partners.rs`: how it finds the others that it
//!   needs.

mod builder;
mod partners;

pub use builder::Create;

use crate::lifecycle::Lifecycle;
use crate::rights::Rights;
use crate::served::{Served, ServicePlan, refuse_all};
use crate::service::{
    Abandon, Any, Common, ContractOf, Figures, Making, NodeShared, OwnThreads, ServiceKind,
    ServiceSlot, SlotOf, operations,
};
use crate::spec::Spec;
use crate::supervise::Supervision;
use crate::{Contract, Fault, FaultCode, OperationInfo, Partner, Service};
use motet_sync::Mutex;
use motet_sync::atomic::AtomicU64;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// The type `S`.
pub(crate) struct KindOf<S>(PhantomData<fn() -> S>);

impl<S> KindOf<S> {
    pub(crate) fn new() -> Self {
        KindOf(PhantomData)
    }
}

impl<S: Service> ServiceKind for KindOf<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn uri(&self) -> &'static str {
        ContractOf::<S>::URI
    }

    fn operations(&self) -> Vec<OperationInfo> {
        operations::<ContractOf<S>>()
    }

    fn partners(&self) -> Vec<Partner> {
        S::partners()
    }

    fn create(&self, shared: &Arc<NodeShared>, spec: Spec) -> Making {
        let shared = Arc::clone(shared);
        Box::pin(async move { Ok(create::<S>(&shared, spec).await? as Any) })
    }
}

/// Gives the place back when the service does not come to serve.
struct Placed<'a, C: Contract> {
    shared: &'a Arc<NodeShared>,
    slot: &'a Arc<ServiceSlot<C>>,
    serves: bool,
}

impl<C: Contract> Drop for Placed<'_, C> {
    fn drop(&mut self) {
        if !self.serves {
            self.shared.remove(&self.slot.common.path);
            *self.slot.common.life.lock() = Lifecycle::Dropped;
            refuse_all(self.slot);
        }
    }
}

/// Makes a service. When this answers it serves, or nothing of it is left.
pub(crate) async fn create<S: Service>(
    shared: &Arc<NodeShared>,
    spec: Spec,
) -> Result<Arc<SlotOf<S>>, Fault> {
    let (slot, threads) = loop {
        match place::<S>(shared, &spec) {
            // Another has taken the number meanwhile.
            Err(fault) if S::MANY && fault.code() == FaultCode::DuplicateEntry => {}
            placed => break placed?,
        }
    };
    let mut placed = Placed {
        shared,
        slot: &slot,
        serves: false,
    };
    let common = &slot.common;
    let at = |fault: Fault| fault.of_service(&common.path);
    let partners = partners::find(shared, common, &S::partners(), &spec)
        .await
        .map_err(at)?;
    let paths = partners
        .iter()
        .map(|(name, partner)| (name.clone(), partner.common().path.to_string()));
    *common.partners.lock() = paths.collect();
    let persist = match (spec.persist, &shared.writer) {
        (None, _) => None,
        (Some(when), Some(writer)) => Some((when, Arc::clone(writer))),
        (Some(_), None) => {
            let reason = "its state is to last, and the node has no store: give it one";
            return Err(at(Fault::new(FaultCode::InsufficientResources, reason)));
        }
    };
    let start_within = spec.start_within();
    let plan = ServicePlan {
        initial: spec.state,
        partners,
        persist,
        supervision: Mutex::new(Supervision::new(spec.supervise)),
        start_within,
    };
    let served = Arc::new(Served::<S>::new(Arc::clone(&slot), plan, threads));
    common.set_life(Lifecycle::Starting {
        waits_for: Vec::new(),
    });
    let service = served.build().await.map_err(at)?;
    served.serve(service).map_err(at)?;
    placed.serves = true;
    drop(placed);
    if !shared.set_served(common, Arc::clone(&served) as _) {
        served.abandon();
        return Err(at(Fault::new(FaultCode::Gone, "the node has ended")));
    }
    common.set_running();
    Ok(slot)
}

/// The place of a service, and what keeps the threads of its own.
type Place<S> = (Arc<SlotOf<S>>, Option<Arc<OwnThreads>>);

/// Makes the slot and takes its place.
fn place<S: Service>(shared: &Arc<NodeShared>, spec: &Spec) -> Result<Place<S>, Fault> {
    let wanted = spec.at.clone().unwrap_or_else(|| format!("/{}", S::NAME));
    let is_path =
        wanted.starts_with('/') && wanted.len() > 1 && !wanted.contains(char::is_whitespace);
    if !is_path {
        let reason = format!("{wanted:?} is no path: it begins with / and has no spaces");
        return Err(Fault::new(FaultCode::MessageNotSupported, reason));
    }
    let mut path = wanted.clone();
    let mut number = 1;
    while S::MANY && shared.is_taken(&path) {
        number += 1;
        path = format!("{wanted}/{number}");
    }
    // Before it gets threads, which takes long.
    shared.check_free(&path)?;
    let rights = Rights::parse(&spec.allow).map_err(|fault| fault.of_service(&path))?;
    let id = shared.ids.next();
    let (queue, threads) = match spec.threads {
        _ if path.starts_with("/sys/") => (Arc::clone(&shared.own), None),
        Some(threads) => {
            let own = shared.own_threads(id, &path, threads);
            own.map_err(|fault| fault.of_service(&path))?
        }
        None => (Arc::clone(&shared.queue), None),
    };
    let common = Common {
        id,
        path: path.as_str().into(),
        kind: S::NAME,
        uri: ContractOf::<S>::URI,
        listed: S::LISTED,
        shared: Arc::clone(shared),
        queue,
        threads: threads.as_ref().map(Arc::downgrade),
        life: Mutex::new(Lifecycle::Created),
        telling: Mutex::default(),
        version: AtomicU64::new(0),
        partners: Mutex::new(BTreeMap::new()),
        rights,
        network: spec.network,
        figures: Figures::default(),
        cycle: Mutex::new(None),
    };
    let slot = Arc::new(ServiceSlot::new(Arc::new(common), spec));
    shared.place(&path, Arc::clone(&slot) as Any)?;
    Ok((slot, threads))
}
