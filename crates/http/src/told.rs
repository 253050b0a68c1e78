//! Who is told by envelopes of DSSP: where, and how many.

use motet_service::{Fault, FaultCode};
use motet_sync::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// So many are told at a time.
const MOST: u32 = 64;

/// Who may be told by envelopes of DSSP, and who is.
#[derive(Clone)]
pub(crate) struct DsspPlaces {
    /// Each `host:port`.
    pub(crate) addresses: Arc<[String]>,
    free: Arc<Semaphore>,
    /// By the names of their subscriptions.
    taken: Arc<Mutex<BTreeMap<String, Weak<DsspPlace>>>>,
}

/// The place of a subscriber. One that subscribes again, under the same name, has the same.
pub(crate) struct DsspPlace {
    newer: watch::Sender<()>,
    _free: OwnedSemaphorePermit,
}

impl DsspPlaces {
    pub(crate) fn new(addresses: Vec<String>) -> Self {
        DsspPlaces {
            addresses: addresses.into(),
            free: Arc::new(Semaphore::new(MOST as usize)),
            taken: Arc::default(),
        }
    }

    /// The place for a subscription of this name.
    ///
    /// # Errors
    /// As many are told as may.
    pub(crate) fn enter(&self, name: &str) -> Result<Arc<DsspPlace>, Fault> {
        let mut taken = self.taken.lock();
        if let Some(place) = taken.get(name).and_then(Weak::upgrade) {
            return Ok(place);
        }
        let free = Arc::clone(&self.free).try_acquire_owned().map_err(|_| {
            let reason = "as many are told by DSSP as may; subscribe by /-/events";
            let fault = Fault::new(FaultCode::QueuingLimitExceeded, reason);
            fault.retry_after(Duration::from_secs(60))
        })?;
        let place = Arc::new(DsspPlace {
            newer: watch::Sender::new(()),
            _free: free,
        });
        taken.retain(|_, place| place.strong_count() > 0);
        taken.insert(name.to_owned(), Arc::downgrade(&place));
        Ok(place)
    }

    /// Waits until nobody has a place, so long at most.
    pub(crate) async fn until_empty(&self, most: Duration) {
        drop(timeout(most, self.free.acquire_many(MOST)).await);
    }
}

impl DsspPlace {
    /// What changes when a newer subscription has this place.
    pub(crate) fn newer(&self) -> watch::Receiver<()> {
        self.newer.subscribe()
    }

    /// Has all look that have this place whether their subscriptions are still there. One that is
    /// alone need not.
    pub(crate) fn has_newer(self: &Arc<Self>) {
        if Arc::strong_count(self) > 1 {
            self.newer.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_subscribes_again_takes_no_second_place() {
        let places = DsspPlaces::new(Vec::new());
        let names: Vec<String> = (0..MOST).map(|name| name.to_string()).collect();
        let mut all: Vec<_> = names.iter().map(|name| places.enter(name)).collect();
        assert!(all.iter().all(Result::is_ok));
        let full = places.enter("another").err().unwrap();
        assert_eq!(full.code(), FaultCode::QueuingLimitExceeded);
        let again = places.enter("7").unwrap();
        let newer = again.newer();
        again.has_newer();
        assert!(newer.has_changed().unwrap());
        // It is free when both have gone.
        drop(all.remove(7));
        assert!(places.enter("another").is_err());
        drop(again);
        assert!(places.enter("another").is_ok());
    }
}
