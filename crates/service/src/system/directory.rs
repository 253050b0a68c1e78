//! `/sys/directory`.

use crate::report::Record;
use crate::{Cx, Fault, Service, State, contract, data};
use std::collections::BTreeMap;

/// The services of a node.
#[data]
#[derive(Default)]
pub struct Directory {
    /// By path.
    pub services: BTreeMap<String, Record>,
}

/// Which services are wanted.
#[data]
#[derive(Default)]
#[serde(default)]
pub struct Filter {
    /// Those with this contract.
    pub contract: Option<String>,
    /// Those of this type.
    pub kind: Option<String>,
}

/// Which services there are. Notifications have the contract as key.
#[contract(uri = "motet:directory/1", state = Directory, replace = false)]
pub trait Directories {
    /// A service is there, or something has become of it.
    #[upsert]
    fn record(&mut self, record: Record, cx: &Cx);

    /// A service has ended.
    #[delete]
    fn remove(&mut self, path: String, cx: &Cx) -> Result<(), Fault>;

    /// The services that are wanted, by path.
    #[query]
    fn find(&self, filter: Filter) -> Vec<Record>;
}

#[derive(Service)]
#[service(contract = Directories, name = "directory")]
pub(crate) struct DirectoryService {
    #[state]
    directory: State<Directory>,
}

impl Directories for DirectoryService {
    fn record(&mut self, record: Record, cx: &Cx) {
        cx.notify_keys([record.contract.clone()]);
        self.directory.services.insert(record.path.clone(), record);
    }

    fn remove(&mut self, path: String, cx: &Cx) -> Result<(), Fault> {
        match self.directory.services.get(&path) {
            None => Err(Fault::unknown_entry(format!(
                "there is no service at {path}"
            ))),
            Some(record) => {
                cx.notify_keys([record.contract.clone()]);
                self.directory.services.remove(&path);
                Ok(())
            }
        }
    }

    fn find(&self, filter: Filter) -> Vec<Record> {
        let wanted = |record: &&Record| {
            filter
                .contract
                .as_ref()
                .is_none_or(|wanted| *wanted == record.contract)
                && filter
                    .kind
                    .as_ref()
                    .is_none_or(|wanted| *wanted == record.kind)
        };
        self.directory
            .services
            .values()
            .filter(wanted)
            .cloned()
            .collect()
    }
}
