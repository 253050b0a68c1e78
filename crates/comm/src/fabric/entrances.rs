//! The open entrances of a run: where messages come from that no rank sends.

use super::Signed;
use super::local_ranks::{LocalMail, LocalRanks};
use crate::address::{Source, TagMatch};
use crate::envelope::{Context, Envelope, ReceiptSlots};
use crate::report::{Wait, WaitOperation};
use crate::{CallSite, Tag};
use motet_sync::Mutex;
use motet_sync::atomic::{Ordering, fence};
use std::fmt;
use std::sync::Arc;

/// Brings a message to the rank with this place, from any thread.
pub(crate) type Push = fn(&LocalRanks, usize, Envelope);

/// The entrances that are open.
#[derive(Debug, Default)]
pub(crate) struct Entrances(Mutex<Vec<Arc<Door>>>);

/// What a run knows of an entrance.
pub(crate) struct Door {
    /// The place of the rank here.
    pub(crate) place: usize,
    pub(crate) context: Context,
    pub(crate) tag: Tag,
    pub(crate) room: Arc<ReceiptSlots>,
    /// Where it was opened.
    pub(crate) site: CallSite,
    /// Says what comes through it.
    pub(crate) note: Box<dyn Fn() -> String + Send + Sync>,
}

impl Entrances {
    pub(crate) fn add(&self, door: &Arc<Door>) {
        self.0.lock().push(Arc::clone(door));
    }

    /// Nothing comes through it any more.
    pub(crate) fn remove(&self, door: &Arc<Door>) {
        self.take(|other| Arc::ptr_eq(other, door));
    }

    /// Nobody receives what comes to the rank with this place.
    pub(crate) fn rank_has_ended(&self, place: usize) {
        self.take(|door| door.place == place);
    }

    fn take(&self, is_it: impl Fn(&Arc<Door>) -> bool) {
        let taken: Vec<_> = {
            let mut open = self.0.lock();
            open.extract_if(.., |door| is_it(door)).collect()
        };
        // Who waits for a place is woken under no lock.
        taken.iter().for_each(|door| door.room.close());
    }

    pub(super) fn open(&self) -> Vec<Arc<Door>> {
        self.0.lock().clone()
    }
}

impl Door {
    /// Whether a message through it may end this wait of its rank.
    pub(super) fn may_end(&self, wait: &Wait) -> bool {
        let (WaitOperation::Recv { source, tag } | WaitOperation::Probe { source, tag }) =
            wait.operation
        else {
            return false;
        };
        wait.communicator == self.context.communicator
            && matches!(source, Source::Any | Source::Outside)
            && (tag == TagMatch::Any || tag == TagMatch::Only(self.tag))
    }
}

/// As [`Push`], where messages are kept in an `M`.
pub(super) fn push<M: LocalMail>(local: &LocalRanks, place: usize, message: Envelope) {
    let mut signed = Signed::new();
    M::of(local, place).push(|| message, &mut signed);
    fence(Ordering::SeqCst);
    local.slot(place).wake_if_sleeping();
    // It was received at once. Who waits for its place is woken by that.
    signed.iter().for_each(|receipt| {
        receipt.sign();
    });
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Door(place {}, tag {}, opened at {})",
            self.place, self.tag, self.site
        )
    }
}
