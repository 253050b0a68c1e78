//! Frames that wait leave in their order.

use super::{Core, NodeState};
use crate::frame::Frame;
use crate::here_or_queued::while_sending;
use crate::peers::PeerChange;
use crate::unwinding::on_panic;
use crate::{CarrierError, FramePriority, Frames, PeerName};
use motet_sync::MutexGuard;

/// A frame for a link. A later one of the peer does not get it: the peer may be another by then, or
/// have fewer rights.
pub(super) struct Outbound {
    peer: PeerName,
    link: u64,
    frame: Frame,
    pub(super) priority: FramePriority,
}

impl Outbound {
    /// By the priority that such frames mostly have.
    pub(super) fn new((peer, link): (&PeerName, u64), frame: Frame) -> Self {
        Outbound {
            peer: peer.clone(),
            link,
            priority: frame.priority(),
            frame,
        }
    }
}

impl Core {
    /// Sends what lies in the outbox. One thread at a time does, so frames leave in their order.
    pub(super) fn flush(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.sending, true) {
            return;
        }
        while let Some(told) = state.outbox.pop_front() {
            drop(state);
            // The next change goes on if this panics: a predicate may have published.
            let panicked = on_panic(|| self.stops_sending(self.state.lock()));
            self.send_now(&told);
            panicked.did_not();
            state = self.state.lock();
        }
        self.stops_sending(state);
    }

    /// This thread sends no more of the outbox. If the node is gone, the carrier hears so now:
    /// behind all frames, whichever thread has sent them.
    fn stops_sending(&self, mut state: MutexGuard<'_, NodeState>) {
        state.sending = false;
        let is_gone = std::mem::take(&mut state.gone);
        drop(state);
        if is_gone && let Some(carrier) = &self.carrier {
            carrier.node_is_gone();
        }
    }

    /// The last handle of the node is dropped, and it has said its last.
    pub(crate) fn is_gone(&self) {
        self.change(|state| state.gone = true);
    }

    /// `false`: it is not on its way.
    fn send_now(&self, told: &Outbound) -> bool {
        let Some(carrier) = &self.carrier else {
            return false;
        };
        let (peer, mut frames) = (&told.peer, Frames::default());
        let sent = match told.frame.put_behind(&mut frames) {
            Ok(()) => while_sending(|| carrier.send_all(peer, told.link, &frames, told.priority)),
            Err(why) => Err(CarrierError::Refused(why.to_string())),
        };
        self.is_sent(peer, &sent)
    }

    pub(super) fn is_sent(&self, peer: &PeerName, sent: &Result<(), CarrierError>) -> bool {
        if let Err(CarrierError::Refused(why)) = sent {
            self.tell_change(PeerChange::Refused(peer.clone(), why.clone()));
        }
        sent.is_ok()
    }
}
