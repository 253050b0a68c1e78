//! The receipts of synchronous sends to other processes that have not come back.

use crate::envelope::Receipt;
use motet_sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Receipts(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    last: u64,
    receipts: HashMap<u64, Arc<Receipt>>,
}

impl Receipts {
    /// Keeps a receipt; the number under which it is asked for, from 1.
    pub(super) fn keep(&self, receipt: &Arc<Receipt>) -> u64 {
        let mut kept = self.0.lock();
        kept.last += 1;
        let number = kept.last;
        kept.receipts.insert(number, Arc::clone(receipt));
        number
    }

    pub(super) fn take(&self, number: u64) -> Option<Arc<Receipt>> {
        self.0.lock().receipts.remove(&number)
    }
}
