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
use std::collections::{BTreeMap, BTreeSet};
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

/// What a first state must be.
const ONE_INITIAL: &str =
    "the first state is one of { value = ... } and { file = \"...\" }, a file of JSON";

/// What is said of a first state that is written here and is `required`.
const REQUIRED_VALUE: &str =
    "required says whether a file must be there, and { value = ... } has none; leave required out";

/// What is written of one. Read as an untagged one, a value would lie in memory twice.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "the first state is { value = ... }, or { file = \"...\" }, a file of JSON"
)]
struct WrittenInitial {
    #[serde(default)]
    file: Option<String>,
    #[serde(default, deserialize_with = "some")]
    required: Option<bool>,
    #[serde(default, deserialize_with = "some")]
    value: Option<Value>,
}

impl<'de> Deserialize<'de> for Initial {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = WrittenInitial::deserialize(from)?;
        match (written.file, written.value) {
            (Some(file), None) => Ok(Initial::File {
                file,
                required: written.required.unwrap_or(true),
            }),
            (None, Some(_)) if written.required.is_some() => Err(D::Error::custom(REQUIRED_VALUE)),
            (None, Some(value)) => Ok(Initial::Value { value }),
            (Some(_), Some(_)) | (None, None) => Err(D::Error::custom(ONE_INITIAL)),
        }
    }
}

/// A value that is there, also null.
fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A partner: a path, or the name of another record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a partner is a path, or { link = \"...\" } with the name of a record, and no more"
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
        let instead = "make several texts of it, and files of large values";
        texts::read(text, instead).map_err(|why| {
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

    /// What is to be created; links are the paths of records by what they are called, and files are
    /// sought in `folder`.
    fn spec(&self, links: &BTreeMap<String, String>, folder: &Path) -> Result<Spec, Fault> {
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
                    let path = links.get(link).ok_or_else(|| {
                        let reason = format!(
                            "the partner {name:?} links to {link:?}, which no record is called"
                        );
                        Fault::new(FaultCode::UnknownEntry, reason)
                    })?;
                    path.clone()
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
    let specs = checked(&records);
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

/// What is to be created, or why it cannot be.
fn checked(records: &[(Record, &Path)]) -> Vec<Result<Spec, Fault>> {
    let mut links = BTreeMap::new();
    for (record, _) in records {
        // The first of those that are called alike.
        links.entry(record.label()).or_insert_with(|| record.path());
    }
    let specs = records.iter();
    let specs = specs.map(|(record, folder)| record.spec(&links, folder));
    let mut specs: Vec<Result<Spec, Fault>> = specs.collect();
    refuse_cycles(&mut specs);
    specs
}

/// Records that need each other are named before anything waits.
fn refuse_cycles(specs: &mut [Result<Spec, Fault>]) {
    let mut next: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spec in specs.iter().flatten() {
        let path = spec.at.clone().unwrap_or_default();
        next.insert(path, spec.partners.values().cloned().collect());
    }
    let mut edges: Vec<(&str, &str)> = Vec::new();
    for (from, partners) in &next {
        edges.extend(partners.iter().map(|to| (from.as_str(), to.as_str())));
    }
    // Most records need no other that needs them: a way back is sought for the rest only.
    let lead_on = without_ends(&edges);
    edges.retain(|(from, to)| lead_on.contains(from) && lead_on.contains(to));
    let back: Vec<_> = edges.iter().map(|&(from, to)| (to, from)).collect();
    let rest = without_ends(&back);
    for spec in specs {
        let Ok(Some(path)) = spec.as_ref().map(|spec| spec.at.clone()) else {
            continue;
        };
        if !rest.contains(path.as_str()) {
            continue;
        }
        if let Some(way) = way_back(&next, &path) {
            let reason = format!(
                "records need each other: {}; make one partner optional and leave it out",
                way.join(" -> ")
            );
            *spec = Err(Fault::failed(reason));
        }
    }
}

/// Those from which a way leads on without an end: who leads to nobody is left out, and then who
/// leads to those only.
fn without_ends<'a>(edges: &[(&'a str, &'a str)]) -> BTreeSet<&'a str> {
    let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
    let mut before: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for &(from, to) in edges {
        *ways.entry(from).or_default() += 1;
        ways.entry(to).or_default();
        before.entry(to).or_default().push(from);
    }
    let ends = ways.iter().filter(|(_, count)| **count == 0);
    let mut ends: Vec<&str> = ends.map(|(end, _)| *end).collect();
    while let Some(end) = ends.pop() {
        for &from in before.get(end).into_iter().flatten() {
            let count = ways.entry(from).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                ends.push(from);
            }
        }
    }
    ways.retain(|_, count| *count > 0);
    ways.into_keys().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with these records, each with its name and the names that it links to.
    fn wrong(records: impl Iterator<Item = (String, Vec<String>)>) -> Vec<String> {
        let records = records.map(|(name, links)| {
            let links = links
                .iter()
                .map(|link| (link, serde_json::json!({"link": link})));
            let partners: BTreeMap<_, _> = links.collect();
            serde_json::json!({"type": "t", "name": name, "at": format!("/{name}"),
                "partners": partners})
        });
        let text = serde_json::json!({"service": records.collect::<Vec<_>>()});
        let read = Manifest::read(&text.to_string()).unwrap().service;
        let records: Vec<_> = read.into_iter().map(|one| (one, Path::new(""))).collect();
        let faults = checked(&records).into_iter().filter_map(Result::err);
        faults.map(|fault| fault.reason().to_owned()).collect()
    }

    #[test]
    fn sem_g390_records_that_need_each_other_are_named_and_those_beside_are_not() {
        let links = [
            ("a", "b e"),
            ("b", "c"),
            ("c", "a"),
            ("d", "a"),
            ("e", "f"),
            ("f", "f"),
        ];
        let split = |links: &str| -> Vec<String> { links.split(' ').map(str::to_owned).collect() };
        let links = links.map(|(name, links)| (name.to_owned(), split(links)));
        let wrong = wrong(links.into_iter());
        let ways = ["/a -> /b -> /c -> /a", "/b -> /c", "/c -> /a", "/f -> /f"];
        assert_eq!(wrong.len(), ways.len(), "{wrong:?}");
        for (reason, way) in wrong.iter().zip(ways) {
            assert!(reason.contains(way), "{reason}");
        }
    }

    #[test]
    fn sem_g403_the_work_to_check_a_chain_grows_with_its_links() {
        const RECORDS: usize = 20_000;
        // The last two need each other.
        let link = |n: usize| if n + 1 < RECORDS { n + 1 } else { n - 1 };
        let chain = (0..RECORDS).map(|n| (format!("n{n}"), vec![format!("n{}", link(n))]));
        let wrong = wrong(chain);
        assert_eq!(wrong.len(), 2);
        assert!(
            wrong[0].contains("/n19998 -> /n19999 -> /n19998"),
            "{wrong:?}"
        );
    }
}
