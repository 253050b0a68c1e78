//! Under which keys ports of this process are exported: a step that takes items of a port itself
//! takes them in the same order as those who name it by its key.

use motet_sync::{Mutex, Serial};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Ports by their numbers, each with its keys; the last number tells exports apart.
static NAMES: LazyLock<Mutex<BTreeSet<(u64, String, u64)>>> = LazyLock::new(Mutex::default);

/// A key of a port, as long as it is exported under that.
pub(super) struct ExportedName(u64, String, u64);

impl ExportedName {
    pub(super) fn new(port: u64, key: &str) -> Self {
        static NUMBERS: Serial = Serial::new();
        let number = NUMBERS.next();
        NAMES.lock().insert((port, key.to_owned(), number));
        ExportedName(port, key.to_owned(), number)
    }
}

impl Drop for ExportedName {
    fn drop(&mut self) {
        let name = (self.0, std::mem::take(&mut self.1), self.2);
        NAMES.lock().remove(&name);
    }
}

/// The first key under which a port is exported.
pub(crate) fn exported_as(port: u64) -> Option<String> {
    let names = NAMES.lock();
    let first = names.range((port, String::new(), 0)..).next();
    first
        .filter(|(of, ..)| *of == port)
        .map(|(_, key, _)| key.clone())
}
