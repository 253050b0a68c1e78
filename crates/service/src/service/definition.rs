//! What a service is to its node.

use super::any_service::AnyService;
use super::client::Client;
use super::slot::ServiceSlot;
use crate::{Contract, ContractClient, Cx, Fault, FaultCode, Serves, State};
use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// A type of services, with one contract. The derive of the same name implements it:
///
/// | attribute | says |
/// |---|---|
/// | `#[service(contract = Drive)]` | which contract it implements |
/// | `name = "sim-drive"` | its name in manifests; else that of the type |
/// | `start = begin`, `stop = end` | methods: `async fn begin(&mut self, cx: &Cx) -> Result<(), Fault>`, `async fn end(self, cx: &Cx)` |
/// | `many` | a second one gets a path of its own; else it is a fault |
/// | `unlisted` | the directory does not show it |
/// | `#[state]` on a field | the state, a [`State`] |
/// | `#[partner(policy = UseExisting)]` on a field | a typed client of another service, bound before the start; an `Option` of one may stay `None` |
///
/// Fields without attribute begin as their `Default`.
pub trait Service: Sized + Send + Sync + 'static {
    /// Its contract.
    type Contract: Serves<Self>;
    /// Its name in manifests.
    const NAME: &'static str;
    /// Whether there may be several.
    const MANY: bool;
    /// Whether the directory shows it.
    const LISTED: bool;

    /// The other services that it needs.
    fn partners() -> Vec<Partner>;

    /// Makes it of its state and its partners.
    ///
    /// # Errors
    /// A fault when a partner is not there.
    fn build(parts: Parts<Self::Contract>) -> Result<Self, Fault>;

    /// Its state.
    fn state(&self) -> &State<<Self::Contract as Contract>::State>;

    /// Its state, to be changed.
    fn state_mut(&mut self) -> &mut State<<Self::Contract as Contract>::State>;

    /// Runs before anything is served.
    fn start(&mut self, cx: &Cx) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Runs last.
    fn stop(self, cx: &Cx) -> impl Future<Output = ()> + Send;
}

/// Another service that a service needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partner {
    /// What the service calls it.
    pub name: &'static str,
    /// The contract that it must have.
    pub contract: &'static str,
    /// Where it comes from.
    pub policy: Policy,
    /// Whether the service can do without.
    pub optional: bool,
}

/// Where a partner comes from, unless the partner list of the creation names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// From the partner list.
    UsePartnerListEntry,
    /// A service that is there, or comes in time; of several the first by path.
    UseExisting,
    /// As before; if there is none, it is created.
    UseExistingOrCreate,
    /// One of its own.
    CreateAlways,
}

impl Partner {
    /// A partner that is called with a `K`.
    #[must_use]
    pub fn of<K: ContractClient>(name: &'static str, policy: Policy, optional: bool) -> Self {
        Partner {
            name,
            contract: K::Contract::URI,
            policy,
            optional,
        }
    }
}

/// What a service is made of.
pub struct Parts<C: Contract> {
    state: Option<State<C::State>>,
    partners: BTreeMap<String, Arc<dyn AnyService>>,
}

impl<C: Contract> Parts<C> {
    pub(crate) fn new(
        state: State<C::State>,
        partners: BTreeMap<String, Arc<dyn AnyService>>,
    ) -> Self {
        let state = Some(state);
        Parts { state, partners }
    }

    /// The state to begin with; the default when it has been taken.
    #[must_use]
    pub fn take_state(&mut self) -> State<C::State> {
        self.state.take().unwrap_or_default()
    }

    /// A partner.
    ///
    /// # Errors
    /// A fault when it is not there or has another contract.
    pub fn partner<K: ContractClient>(&self, name: &str) -> Result<K, Fault> {
        self.partner_if_there(name)?.ok_or_else(|| {
            let reason = format!("the partner {name:?} is not there");
            Fault::new(FaultCode::UnknownService, reason)
        })
    }

    /// A partner, if it is there.
    ///
    /// # Errors
    /// A fault when it has another contract.
    pub fn partner_if_there<K: ContractClient>(&self, name: &str) -> Result<Option<K>, Fault> {
        let found = self
            .partners
            .get(name)
            .map(|partner| typed::<K>(Arc::clone(partner)));
        found.transpose()
    }
}

/// The typed client of a service.
pub(crate) fn typed<K: ContractClient>(service: Arc<dyn AnyService>) -> Result<K, Fault> {
    let (path, uri) = (service.common().path.to_string(), service.common().uri);
    let slot = service.as_any().downcast::<ServiceSlot<K::Contract>>();
    let slot = slot.map_err(|_| {
        let reason = format!(
            "the service has the contract {uri}, {} calls {}; use the client of its contract",
            type_name::<K>(),
            K::Contract::URI
        );
        Fault::new(FaultCode::MessageNotSupported, reason).of_service(&path)
    })?;
    Ok(K::from(Client::here(slot)))
}

impl<C: Contract> fmt::Debug for Parts<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("partners", &self.partners.keys())
            .finish_non_exhaustive()
    }
}
