//! Frames that wait leave in their order.

use super::Core;
use crate::frame::FrameError;
use crate::here_or_queued::while_sending;
use crate::peers::PeerChange;
use crate::unwinding::on_panic;
use crate::{CarrierError, FramePriority, PeerName};

impl Core {
    /// Sends what lies in the outbox. One thread at a time does, so frames leave in their order.
    pub(super) fn flush(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.sending, true) {
            return;
        }
        while let Some((peer, frame, priority)) = state.outbox.pop_front() {
            drop(state);
            // The next change goes on if this panics: a predicate may have published.
            let panicked = on_panic(|| self.state.lock().sending = false);
            self.send_now(&peer, frame.to_bytes(), priority);
            panicked.did_not();
            state = self.state.lock();
        }
        state.sending = false;
    }

    /// `false`: it is not on its way.
    fn send_now(
        &self,
        peer: &PeerName,
        bytes: Result<Vec<u8>, FrameError>,
        priority: FramePriority,
    ) -> bool {
        let Some(carrier) = &self.carrier else {
            return false;
        };
        let sent = match bytes {
            Ok(bytes) => while_sending(|| carrier.send(peer, bytes, priority)),
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
