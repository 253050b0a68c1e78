//! `/sys/log`.

use crate::report::{Level, LogEntry};
use crate::{Cx, Service, State, contract, data};
use std::collections::VecDeque;

/// The last entries: 1,024.
#[data]
#[derive(Default)]
pub struct Log {
    /// Oldest first.
    pub entries: VecDeque<LogEntry>,
}

/// Which entries are wanted.
#[data]
#[derive(Default)]
#[serde(default)]
pub struct LogFilter {
    /// Those that matter as much, or more.
    pub level: Level,
    /// Those of this category.
    pub category: Option<String>,
    /// Those of the service at this path.
    pub service: Option<String>,
}

/// The node's log. Notifications have the level, the category and the path as keys.
#[contract(uri = "motet:log/1", state = Log, replace = false)]
pub trait Logs {
    /// Adds an entry.
    #[insert]
    fn write(&mut self, entry: LogEntry, cx: &Cx);

    /// The entries that are wanted, oldest first.
    #[query]
    fn read(&self, filter: LogFilter) -> Vec<LogEntry>;
}

#[derive(Service)]
#[service(contract = Logs, name = "log")]
pub(crate) struct LogService {
    #[state]
    log: State<Log>,
}

/// How many entries are kept.
const KEPT: usize = 1024;

impl Logs for LogService {
    fn write(&mut self, entry: LogEntry, cx: &Cx) {
        let level = format!("{:?}", entry.level).to_lowercase();
        cx.notify_keys([level, entry.category.clone(), entry.service.clone()]);
        let entries = &mut self.log.entries;
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    fn read(&self, filter: LogFilter) -> Vec<LogEntry> {
        let wanted = |entry: &&LogEntry| {
            entry.level >= filter.level
                && filter
                    .category
                    .as_ref()
                    .is_none_or(|wanted| *wanted == entry.category)
                && filter
                    .service
                    .as_ref()
                    .is_none_or(|wanted| *wanted == entry.service)
        };
        self.log.entries.iter().filter(wanted).cloned().collect()
    }
}
