//! How a service is made: its place, its partners, its state, its start.
//!
//! - `create/builder.rs`: what is said of it; `create/partners.rs`: how it finds the others that it
//!   needs.

mod builder;
mod partners;

pub use builder::Create;

use crate::depth::Depth;
use crate::keys::KeyedAnswers;
use crate::latency::Latencies;
use crate::lifecycle::Lifecycle;
use crate::rights::Rights;
use crate::served::Served;
use crate::service::{
    Any, Common, ContractOf, Figures, HandlerLengths, Making, NewSlot, NodeShared, OwnThreads,
    ServiceKind, ServicePlan, Serving, SlotOf, UNIFORM, operations,
};
use crate::spec::Spec;
use crate::supervise::Supervision;
use crate::{Contract, Fault, FaultCode, OperationInfo, Partner, Service};
use motet_sync::Mutex;
use motet_sync::atomic::AtomicU64;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

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

    fn is_many(&self) -> bool {
        S::MANY
    }

    fn is_listed(&self) -> bool {
        S::LISTED
    }

    fn operations(&self) -> Vec<OperationInfo> {
        operations(ContractOf::<S>::OPERATIONS)
    }

    fn partners(&self) -> Vec<Partner> {
        S::partners()
    }

    fn operation_count(&self) -> usize {
        ContractOf::<S>::OPERATIONS.len()
    }

    fn slot(&self, common: Common) -> NewSlot {
        let slot = Arc::new(SlotOf::<S>::new(Arc::new(common)));
        let place = Arc::clone(&slot) as Any;
        let serving: Serving = Box::new(move |plan, threads| Served::<S>::new(slot, plan, threads));
        (place, serving)
    }

    fn create(&self, shared: &Arc<NodeShared>, spec: Spec) -> Making {
        let (kind, shared) = (Box::new(KindOf::<S>::new()), Arc::clone(shared));
        making(kind, shared, spec)
    }
}

/// Gives the place back when the service does not come to serve.
struct Placed<'a> {
    shared: &'a Arc<NodeShared>,
    slot: &'a Any,
    serves: bool,
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        if !self.serves {
            let common = self.slot.common();
            self.shared.remove(&common.path);
            *common.life.lock() = Lifecycle::Dropped;
            Arc::clone(self.slot).refuse_all();
        }
    }
}

/// Makes a service of the type `S`. When this answers it serves, or nothing of it is left.
pub(crate) async fn create<S: Service>(
    shared: &Arc<NodeShared>,
    spec: Spec,
) -> Result<Arc<SlotOf<S>>, Fault> {
    let made = KindOf::<S>::new().create(shared, spec).await?;
    let slot = made.as_any().downcast();
    Ok(slot.unwrap_or_else(|_| unreachable!("a kind makes services of its type")))
}

/// As [`create`], whatever the type is.
fn making(kind: Box<dyn ServiceKind>, shared: Arc<NodeShared>, spec: Spec) -> Making {
    Box::pin(async move { create_any(&*kind, &shared, spec).await })
}

async fn create_any(
    kind: &dyn ServiceKind,
    shared: &Arc<NodeShared>,
    spec: Spec,
) -> Result<Any, Fault> {
    let ((slot, serving), threads) = loop {
        match place(kind, shared, &spec) {
            // Another has taken the number meanwhile.
            Err(fault) if kind.is_many() && fault.code() == FaultCode::DuplicateEntry => {}
            placed => break placed?,
        }
    };
    let mut placed = Placed {
        shared,
        slot: &slot,
        serves: false,
    };
    let common = slot.common();
    let at = |fault: Fault| fault.of_service(&common.path);
    let partners = partners::find(shared, common, &kind.partners(), &spec)
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
    let served = serving(plan, threads);
    common.set_life(Lifecycle::Starting {
        waits_for: Vec::new(),
    });
    Arc::clone(&served).begin().await.map_err(at)?;
    placed.serves = true;
    drop(placed);
    if !shared.set_served(common, Arc::clone(&served)) {
        served.abandon();
        return Err(at(Fault::new(FaultCode::Gone, "the node has ended")));
    }
    common.set_running();
    Ok(slot)
}

/// Refuses a path that no client and no address could name.
fn check_path(path: &str) -> Result<(), Fault> {
    let is_apart = |sign: char| sign.is_whitespace() || sign.is_control();
    let segments = || path.split('/').skip(1);
    let why = if !path.starts_with('/') {
        "it begins with /"
    } else if path.contains(is_apart) {
        "it has no spaces"
    } else if path.contains(['%', '?', '#', '\\']) {
        "it has none of %, ?, # and \\, which mean something else in an address"
    } else if segments().any(str::is_empty) {
        "it has something behind each /"
    } else if segments().any(|segment| matches!(segment, "." | ".." | "-")) {
        "no part of it is ., .. or -, which mean something else in an address"
    } else {
        return Ok(());
    };
    let reason = format!("{path:?} is no path of a service: {why}");
    Err(Fault::new(FaultCode::MessageNotSupported, reason))
}

/// A slot at its place, and what keeps the threads of its own.
type PlacedSlot = (NewSlot, Option<Arc<OwnThreads>>);

/// Makes the slot and takes its place.
fn place(
    kind: &dyn ServiceKind,
    shared: &Arc<NodeShared>,
    spec: &Spec,
) -> Result<PlacedSlot, Fault> {
    let wanted = spec
        .at
        .clone()
        .unwrap_or_else(|| format!("/{}", kind.name()));
    check_path(&wanted)?;
    let mut path = wanted.clone();
    let mut number = 1;
    while kind.is_many() && shared.is_taken(&path) {
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
    let operations = kind.operation_count();
    let common = Common {
        id,
        path: path.as_str().into(),
        kind: kind.name(),
        uri: kind.uri(),
        listed: kind.is_listed(),
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
        // A service with room for nothing would answer nobody.
        reads: Arc::new(Depth::new(spec.depth.max(1))),
        changes: Arc::new(Depth::new(spec.depth.max(1))),
        keys: Mutex::new(KeyedAnswers::new(spec.key_bytes)),
        is_stored: spec.persist.is_some(),
        lengths: HandlerLengths::new(operations),
        latencies: Latencies::new(operations + UNIFORM.len()),
        further: OnceLock::new(),
    };
    let new = kind.slot(common);
    shared.place(&path, Arc::clone(&new.0))?;
    Ok((new, threads))
}
