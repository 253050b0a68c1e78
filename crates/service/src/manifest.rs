//! Manifests: services and their partners, written down.

use crate::report::Level;
use crate::service::NodeShared;
use crate::spec::Spec;
use crate::{Fault, FaultCode, Persist, ServiceInfo, Supervise, texts};
use motet_dispatch::spawn;
use motet_ports::reply;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What became of a record of a manifest.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Loaded {
    /// The name of the record, or its path, or its type.
    pub name: String,
    /// The service, if it serves.
    pub service: Option<ServiceInfo>,
    /// Why not.
    pub fault: Option<Fault>,
}

/// A manifest: `[[service]]` in TOML, `{"service": [...]}` in JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Manifest {
    service: Vec<Record>,
}

/// A service of a manifest.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Record {
    /// The name of its type.
    r#type: String,
    /// What links call it; else its path.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    at: Option<String>,
    #[serde(default)]
    state: Option<Initial>,
    #[serde(default)]
    partners: BTreeMap<String, Link>,
    #[serde(default, deserialize_with = "persist")]
    persist: Option<Persist>,
    #[serde(default)]
    supervise: Supervise,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default = "yes")]
    network: bool,
    #[serde(default)]
    threads: Option<usize>,
    #[serde(default)]
    depth: Option<usize>,
    #[serde(default)]
    key_bytes: Option<usize>,
    #[serde(default)]
    partners_within_ms: Option<u64>,
}

/// The state to begin with: written here, or in a file of JSON, which is sought in the folder of
/// the manifest.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum Initial {
    File {
        file: String,
        #[serde(default = "yes")]
        required: bool,
    },
    Value {
        value: Value,
    },
}

/// What is written of one. Read as an untagged one, a value would lie in memory twice.
#[derive(Deserialize)]
#[serde(expecting = "the first state is { value = ... }, or { file = \"...\" }, a file of JSON")]
struct WrittenInitial {
    #[serde(default)]
    file: Option<String>,
    #[serde(default = "yes")]
    required: bool,
    #[serde(default, deserialize_with = "some")]
    value: Option<Value>,
}

impl<'de> Deserialize<'de> for Initial {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = WrittenInitial::deserialize(from)?;
        match (written.file, written.value) {
            (Some(file), _) => Ok(Initial::File {
                file,
                required: written.required,
            }),
            (None, Some(value)) => Ok(Initial::Value { value }),
            (None, None) => {
                let reason = "the first state is { value = ... }, or { file = \"...\" }, a file of \
                              JSON";
                Err(D::Error::custom(reason))
            }
        }
    }
}

/// A value that is there, also null.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A partner: a path, or the name of another record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a partner is a path, or { link = \"...\" } with the name of a record"
)]
enum Link {
    Path(String),
    Record { link: String },
}

fn yes() -> bool {
    true
}

/// When the state is stored: of anything else it is told what may stand there.
fn persist<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Persist>, D::Error> {
    let word = Value::deserialize(from)?;
    Option::<Persist>::deserialize(&word).map_err(|_| {
        let reason = format!(
            "persist is {word}: write \"each\", \"on-save\" or {{ interval_ms = 1000 }}, or leave \
             it out"
        );
        D::Error::custom(reason)
    })
}

impl Manifest {
    /// Reads a manifest: JSON, if it begins with a brace.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        texts::read(text).map_err(|why| {
            let reason = format!("this is no manifest: {why}");
            Fault::new(FaultCode::MessageNotSupported, reason)
        })
    }
}

impl Record {
    fn label(&self) -> String {
        let own = self.name.clone().or_else(|| self.at.clone());
        own.unwrap_or_else(|| format!("/{}", self.r#type))
    }

    fn path(&self) -> String {
        self.at
            .clone()
            .unwrap_or_else(|| format!("/{}", self.r#type))
    }

    /// What is to be created; files are sought in `folder`.
    fn spec(&self, all: &[(Record, &Path)], folder: &Path) -> Result<Spec, Fault> {
        let mut spec = Spec {
            at: Some(self.path()),
            persist: self.persist,
            supervise: self.supervise.clone(),
            allow: self.allow.clone(),
            network: self.network,
            threads: self.threads,
            ..Spec::of_kind(&self.r#type)
        };
        spec.depth = self.depth.unwrap_or(spec.depth);
        spec.key_bytes = self.key_bytes.unwrap_or(spec.key_bytes);
        spec.partners_within_ms = self.partners_within_ms.unwrap_or(spec.partners_within_ms);
        if let Some(state) = &self.state {
            spec.state = state.read(folder)?;
        }
        for (name, link) in &self.partners {
            let path = match link {
                Link::Path(path) => path.clone(),
                Link::Record { link } => {
                    let record = all.iter().find(|(record, _)| record.label() == *link);
                    let (record, _) = record.ok_or_else(|| {
                        let reason = format!(
                            "the partner {name:?} links to {link:?}, which no record is called"
                        );
                        Fault::new(FaultCode::UnknownEntry, reason)
                    })?;
                    record.path()
                }
            };
            spec.partners.insert(name.clone(), path);
        }
        Ok(spec)
    }
}

impl Initial {
    fn read(&self, folder: &Path) -> Result<Option<Value>, Fault> {
        let (file, required) = match self {
            Initial::Value { value } => return Ok(Some(value.clone())),
            Initial::File { file, required } => (folder.join(file), *required),
        };
        let text = std::fs::read_to_string(&file);
        let file = file.display();
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
                return Ok(None);
            }
            Err(error) => {
                let reason = format!("the initial state cannot be read from {file}: {error}");
                return Err(Fault::failed(reason));
            }
        };
        let state = serde_json::from_str(&text);
        state.map(Some).map_err(|error| {
            let reason = format!(
                "the initial state in {file} is damaged at line {}, column {}: {error}",
                error.line(),
                error.column()
            );
            Fault::failed(reason)
        })
    }
}

/// Loads manifests, each with the folder of its files, as one composition. One record that fails
/// does not keep the others.
pub(crate) async fn load(
    shared: &Arc<NodeShared>,
    texts: &[(String, PathBuf)],
) -> Result<Vec<Loaded>, Fault> {
    let mut records = Vec::new();
    for (text, folder) in texts {
        let read = Manifest::read(text)?.service.into_iter();
        records.extend(read.map(|record| (record, folder.as_path())));
    }
    let specs = records
        .iter()
        .map(|(record, folder)| record.spec(&records, folder));
    let mut specs: Vec<Result<Spec, Fault>> = specs.collect();
    refuse_cycles(&mut specs);
    let mut begun = Vec::new();
    for ((record, _), spec) in records.iter().zip(specs) {
        let (to, made) = reply();
        let node = Arc::clone(shared);
        // All at once: partners wait for each other.
        let making = async move {
            let made = match spec {
                Ok(spec) => node.create_kind(spec).await,
                Err(fault) => Err(fault),
            };
            drop(to.post(made.map(|service| service.info())));
        };
        if spawn(&shared.own, making).is_err() {
            return Err(Fault::new(
                FaultCode::InsufficientResources,
                "the node takes no task",
            ));
        }
        begun.push((record.label(), made));
    }
    let mut loaded = Vec::new();
    for (name, made) in begun {
        let made = made
            .await
            .unwrap_or_else(|_| Err(Fault::failed("the creation was given up")));
        if let Err(fault) = &made {
            shared.log(Level::Error, "manifest", &name, &fault.to_string());
        }
        let (service, fault) = match made {
            Ok(service) => (Some(service), None),
            Err(fault) => (None, Some(fault)),
        };
        loaded.push(Loaded {
            name,
            service,
            fault,
        });
    }
    Ok(loaded)
}

/// Records that need each other are named before anything waits.
fn refuse_cycles(specs: &mut [Result<Spec, Fault>]) {
    let mut next: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spec in specs.iter().flatten() {
        let path = spec.at.clone().unwrap_or_default();
        next.insert(path, spec.partners.values().cloned().collect());
    }
    for spec in specs {
        let Ok(Some(path)) = spec.as_ref().map(|spec| spec.at.clone()) else {
            continue;
        };
        if let Some(way) = way_back(&next, &path) {
            let reason = format!(
                "records need each other: {}; make one partner optional and leave it out",
                way.join(" -> ")
            );
            *spec = Err(Fault::failed(reason));
        }
    }
}

/// The records from `begin` to itself, if it needs itself.
fn way_back(next: &BTreeMap<String, Vec<String>>, begin: &str) -> Option<Vec<String>> {
    // Whoever was seen once is not followed again: the work grows with the links, not with the
    // ways.
    let (mut before, mut open) = (BTreeMap::new(), vec![begin]);
    while let Some(from) = open.pop() {
        for to in next.get(from).into_iter().flatten() {
            if to == begin {
                let mut way = vec![begin.to_owned()];
                let mut at = from;
                while at != begin {
                    way.push(at.to_owned());
                    at = before[at];
                }
                way.push(begin.to_owned());
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(to.as_str()) {
                before.insert(to.as_str(), from);
                open.push(to);
            }
        }
    }
    None
}
