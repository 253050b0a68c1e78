//! A store whose failures are told on standard error.

use motet_service::{Fault, Store};
use motet_sync::atomic::{AtomicBool, Ordering};

use crate::stderr::tell;

/// A store that tells when a commit fails, and when one succeeds again.
pub(super) struct ToldStore<S> {
    store: S,
    fails: AtomicBool,
}

impl<S: Store> ToldStore<S> {
    pub(super) fn new(store: S) -> Self {
        let fails = AtomicBool::new(false);
        ToldStore { store, fails }
    }

    /// What is to be told of a commit: nothing, if the one before ended likewise.
    fn remark(&self, done: &Result<(), Fault>) -> Option<String> {
        let fails = done.is_err();
        // Relaxed: it decides only what is told.
        if self.fails.swap(fails, Ordering::Relaxed) == fails {
            return None;
        }
        Some(match done {
            Err(fault) => format!("changes are not stored: {}", fault.reason()),
            Ok(()) => "changes are stored again".to_owned(),
        })
    }
}

impl<S: Store> Store for ToldStore<S> {
    fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        self.store.load(path)
    }

    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        let done = self.store.commit(entries);
        // Without entries it is only asked whether the store is down.
        let remark = match entries {
            [] => None,
            _ => self.remark(&done),
        };
        if let Some(remark) = remark {
            tell(format_args!("{remark}"));
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_service::Memory;

    #[test]
    fn a_failure_is_told_once_and_so_is_its_end() {
        let store = ToldStore::new(Memory::default());
        let full = || Err(Fault::failed("the disk is full"));
        assert_eq!(store.remark(&Ok(())), None);
        let told = store.remark(&full()).unwrap();
        assert!(told.contains("the disk is full"), "{told}");
        assert_eq!(store.remark(&full()), None);
        assert!(store.remark(&Ok(())).unwrap().contains("again"));
        assert_eq!(store.remark(&Ok(())), None);
    }
}
