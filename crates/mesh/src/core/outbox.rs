//! Frames that wait leave in their order.

use super::{Core, NodeState};
use crate::flow::Hub;
use crate::frame::Frame;
use crate::here_or_queued::{is_sending, while_sending};
use crate::peers::PeerChange;
use crate::{CarrierError, FramePriority, Frames, PeerName};
use motet_sync::{FirstPanic, MutexGuard, Parker};
use std::time::Duration;

/// So long who drops the last handle waits for another thread that sends.
const LEAVER_WAITS: Duration = Duration::from_millis(200);

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
        let state = self.state.lock();
        if !state.sending {
            self.send_outbox(state);
        }
    }

    /// This thread sends, as long as something lies in the outbox.
    fn send_outbox<'a>(&'a self, mut state: MutexGuard<'a, NodeState>) {
        state.sending = true;
        let mut panics = FirstPanic::default();
        while let Some(told) = state.outbox.pop_front() {
            drop(state);
            let done = panics.catch(|| self.send_now(&told));
            state = self.state.lock();
            // The next change goes on: a predicate may have published. Of a node that is gone none
            // follows.
            if done.is_none() && !state.gone {
                break;
            }
        }
        panics.catch(|| self.stops_sending(state));
        panics.resume();
    }

    /// This thread sends no more of the outbox. If the node is gone, the carrier hears so now:
    /// behind all frames, whichever thread has sent them.
    fn stops_sending(&self, mut state: MutexGuard<'_, NodeState>) {
        state.sending = false;
        let is_gone = std::mem::take(&mut state.gone);
        let leaver = state.leaver.take();
        drop(state);
        if let Some(leaver) = leaver {
            leaver.unpark();
        }
        if is_gone && let Some(carrier) = &self.carrier {
            carrier.node_is_gone();
        }
    }

    /// The last handle of the node is dropped, and it has said its last. The process may end then:
    /// this waits a while for another thread that sends.
    pub(crate) fn is_gone(&self) {
        self.is_gone_within(LEAVER_WAITS);
    }

    fn is_gone_within(&self, limit: Duration) {
        let mut state = self.without_sender(limit);
        state.gone = true;
        if !state.sending {
            self.send_outbox(state);
        }
    }

    /// The state once no thread sends, or when the time is over. In a replay, and on a thread that
    /// sends itself, nobody waits.
    fn without_sender(&self, limit: Duration) -> MutexGuard<'_, NodeState> {
        let (clock, parker) = (self.clock(), Parker::new());
        let may_wait = !clock.is_virtual() && !is_sending();
        let until = clock.now() + limit;
        loop {
            let left = until.saturating_duration_since(clock.now());
            let mut state = self.state.lock();
            if !state.sending || !may_wait || left.is_zero() {
                return state;
            }
            state.leaver = Some(parker.unparker());
            drop(state);
            // Whoever sends wakes it, or the time is over.
            let _ = parker.park_timeout(left);
        }
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
        // Whoever hears of it may drop the node.
        while_sending(|| self.is_sent(peer, &sent))
    }

    pub(super) fn is_sent(&self, peer: &PeerName, sent: &Result<(), CarrierError>) -> bool {
        if let Err(CarrierError::Refused(why)) = sent {
            self.tell_change(PeerChange::Refused(peer.clone(), why.clone()));
        }
        sent.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Carrier, CarrierEvent, MeshRights};
    use motet_dispatch::Inline;
    use motet_ports::Port;
    use motet_sync::{Mutex, thread};
    use motet_testkit::{Log, patience, within};
    use std::sync::{Arc, Weak};

    /// A carrier that has sent a frame of this node when somebody waits for that, or has left.
    #[derive(Default)]
    struct WaitedForCarrier {
        core: Mutex<Weak<Core>>,
        seen: Log<&'static str>,
    }

    impl Carrier for WaitedForCarrier {
        fn name(&self) -> PeerName {
            PeerName::new("here")
        }

        fn send(&self, _: &PeerName, _: Vec<u8>, _: FramePriority) -> Result<(), CarrierError> {
            Ok(())
        }

        fn send_all(
            &self,
            _: &PeerName,
            _: u64,
            _: &Frames,
            _: FramePriority,
        ) -> Result<(), CarrierError> {
            self.seen.push("begins");
            let core = self.core.lock().upgrade();
            let is_early = |core: &Arc<Core>| core.state.lock().leaver.is_none();
            while core.as_ref().is_some_and(is_early) && !self.seen.entries().contains(&"left") {
                thread::yield_now();
            }
            self.seen.push("sent");
            Ok(())
        }

        fn events(&self) -> Port<CarrierEvent> {
            Port::new()
        }

        fn node_is_gone(&self) {
            self.seen.push("gone");
        }
    }

    #[test]
    fn sem_g606_who_drops_the_last_handle_waits_for_another_thread_that_sends() {
        within(patience(), || {
            let waited_for = Arc::new(WaitedForCarrier::default());
            let carrier: Arc<dyn Carrier> = Arc::clone(&waited_for) as _;
            let core = Core::new(
                carrier.name(),
                1,
                Some(carrier),
                Arc::new(Inline::new("here")),
            );
            let (there, seen) = (PeerName::new("there"), waited_for.seen.clone());
            core.on_event(CarrierEvent::Up(there, 1, MeshRights::all()));
            drop(seen.take());
            *waited_for.core.lock() = Arc::downgrade(&core);
            let tells = |core: &Core| {
                let frame = Frame::Unsubscribe { subscription: 7 };
                core.change(|state| state.tell_all(&frame));
            };
            let other = Arc::clone(&core);
            let sends = thread::spawn(move || tells(&other));
            seen.wait_for(1);
            // The other thread sends that, too.
            tells(&core);
            core.is_gone_within(patience());
            seen.push("left");
            sends.join().expect("it has sent");
            let all = ["begins", "sent", "begins", "sent", "gone", "left"];
            assert_eq!(seen.take(), all);
        });
    }
}
