//! A store that lasts as long as the process.

use crate::{Fault, Store};
use motet_sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A store in memory. Clones are the same store: for tests of what a restart finds.
///
/// ```
/// use motet_service::{Memory, Store};
///
/// let store = Memory::default();
/// store.commit(&[("/till".to_owned(), b"{}".to_vec())]).unwrap();
/// assert_eq!(store.clone().load("/till").unwrap(), Some(b"{}".to_vec()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Store for Memory {
    fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.0.lock().get(path).cloned())
    }

    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        self.0.lock().extend(entries.iter().cloned());
        Ok(())
    }
}
