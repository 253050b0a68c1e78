//! `/sys/constructor`, `/sys/contracts`, `/sys/manifests`.

use crate::json;
use crate::manifest::{Loaded, Manifest};
use crate::spec::Spec;
use crate::{Cx, Fault, OperationInfo, Service, ServiceInfo, State, Value, contract, data};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The state of a service that has none.
#[data]
#[derive(Default)]
pub struct Nothing {}

/// A type of services.
#[data]
pub struct KindInfo {
    /// The name of its contract.
    pub contract: String,
    /// What it can do.
    pub operations: Vec<OperationInfo>,
}

/// The types that are registered.
#[data]
#[derive(Default)]
pub struct Catalogue {
    /// By name.
    pub kinds: BTreeMap<String, KindInfo>,
}

/// Makes services.
#[contract(uri = "motet:constructor/1", state = Nothing, replace = false)]
pub trait Constructors {
    /// Makes a service; answers when it serves.
    #[create]
    async fn create(cx: Cx, spec: Spec) -> Result<ServiceInfo, Fault>;
}

/// Which types of services there could be.
#[contract(uri = "motet:contracts/1", state = Catalogue, replace = false)]
pub trait Catalogues {
    /// The names of the types that have this contract.
    #[query]
    fn having(&self, contract: String) -> Vec<String>;
}

/// Loads manifests.
#[contract(uri = "motet:manifests/1", state = Nothing, replace = false)]
pub trait Manifests {
    /// Loads texts, which are one composition. The paths of files in them are sought where the
    /// node's process works.
    #[submit]
    async fn load(cx: Cx, texts: Vec<String>) -> Result<Vec<Loaded>, Fault>;

    /// The JSON Schema of a manifest.
    #[query]
    fn schema(&self) -> Value;
}

#[derive(Service)]
#[service(contract = Constructors, name = "constructor")]
pub(crate) struct ConstructorService {
    #[state]
    nothing: State<Nothing>,
}

#[derive(Service)]
#[service(contract = Catalogues, name = "contracts", start = begin)]
pub(crate) struct CatalogueService {
    #[state]
    catalogue: State<Catalogue>,
}

#[derive(Service)]
#[service(contract = Manifests, name = "manifests")]
pub(crate) struct ManifestService {
    #[state]
    nothing: State<Nothing>,
}

impl Constructors for ConstructorService {
    async fn create(cx: Cx, spec: Spec) -> Result<ServiceInfo, Fault> {
        let service = cx.common().shared.create_kind(spec).await?;
        Ok(service.info())
    }
}

impl CatalogueService {
    async fn begin(&mut self, cx: &Cx) -> Result<(), Fault> {
        for (name, kind) in &cx.common().shared.kinds {
            let info = KindInfo {
                contract: kind.uri().to_owned(),
                operations: kind.operations(),
            };
            self.catalogue.kinds.insert((*name).to_owned(), info);
        }
        Ok(())
    }
}

impl Catalogues for CatalogueService {
    fn having(&self, contract: String) -> Vec<String> {
        let kinds = self.catalogue.kinds.iter();
        kinds
            .filter(|(_, kind)| kind.contract == contract)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

impl Manifests for ManifestService {
    async fn load(cx: Cx, texts: Vec<String>) -> Result<Vec<Loaded>, Fault> {
        let texts = texts.into_iter().map(|text| (text, PathBuf::new()));
        let texts: Vec<_> = texts.collect();
        crate::manifest::load(&cx.common().shared, &texts).await
    }

    fn schema(&self) -> Value {
        json::schema::<Manifest>()
    }
}
