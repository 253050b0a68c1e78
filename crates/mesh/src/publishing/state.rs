//! What a topic has of its subscribers: a flow to each.

use super::away::AwayFlows;
use crate::flow::FlowTarget;
use crate::frame::MAX_PAYLOAD;
use crate::outgoing::{Entry, Outgoing};
use crate::subscribed::FlowEnd;
use crate::under::written_names;
use crate::{Frames, Gap, PeerName};
use motet_dispatch::Causalities;
use motet_ports::ReplyPort;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub(super) struct Flow<T: Send + Sync + 'static> {
    /// For subscriptions of this node. Who brings a sample there has it.
    pub(super) end: Option<FlowEnd<T>>,
    pub(super) out: Outgoing<Payload<T>>,
    /// What was published while its link was broken. It is told when the subscriber has answered.
    pub(super) missed: Option<Gap>,
    /// The number of the link by which samples go to a peer.
    pub(super) link: u64,
    /// It is in the list of those that may send.
    pub(super) listed: bool,
    /// Its subscription looks on: it holds nobody back, and is not counted.
    pub(super) observes: bool,
}

/// A flow to a subscription of this node that was taken away while a sample was brought to it. Who
/// brings that knows whether it was accepted, and tells what is lost.
pub(super) struct LeavingFlow<T: Send + Sync + 'static> {
    pub(super) flow: Flow<T>,
    pub(super) why: String,
}

/// A value, and the causalities that it was published under. Both may drop what users gave.
pub(super) type ValueUnder<T> = (Arc<T>, Causalities);

/// A value and its bytes, each if somebody needs it.
pub(super) struct Payload<T> {
    pub(super) value: Option<ValueUnder<T>>,
    pub(super) bytes: Option<Arc<[u8]>>,
    /// Of the causalities, for peers.
    pub(super) names: Option<Arc<[u8]>>,
}

impl<T> Payload<T> {
    /// A value that is published now. It comes back if nobody of this node gets it.
    pub(super) fn now(value: T, is_read: bool, bytes: Option<Arc<[u8]>>) -> (Self, Option<T>) {
        let names = bytes.as_ref().and_then(|_| written_names());
        let (value, unread) = match is_read {
            true => (Some((Arc::new(value), Causalities::active())), None),
            false => (None, Some(value)),
        };
        let payload = Payload {
            value,
            bytes,
            names,
        };
        (payload, unread)
    }

    /// For those who come later. That a sample comes again is no work of its publisher's.
    fn retained(&self) -> Self {
        let value = self.value.as_ref();
        Payload {
            value: value.map(|(value, _)| (Arc::clone(value), Causalities::none())),
            bytes: self.bytes.clone(),
            names: None,
        }
    }
}

impl<T> Clone for Payload<T> {
    fn clone(&self) -> Self {
        Payload {
            value: self.value.clone(),
            bytes: self.bytes.clone(),
            names: self.names.clone(),
        }
    }
}

/// How many samples go to a peer before another flow has its turn.
const TURN: usize = 16;

/// A turn is over when it has so many bytes: its frames lie in one buffer.
const TURN_BYTES: usize = ROOM / 2;

impl<T: Send + Sync + 'static> Flow<T> {
    /// Whether a sample is being brought to the subscription, which is of this node.
    pub(super) fn is_sent_to(&self, to: &FlowTarget) -> bool {
        !to.is_there() && self.end.is_none()
    }

    /// Puts the flow into the list of those that may send, if it may and is not there.
    pub(super) fn list(&mut self, to: &FlowTarget, ready: &mut VecDeque<FlowTarget>) {
        if self.out.may_send() && !std::mem::replace(&mut self.listed, true) {
            ready.push_back(to.clone());
        }
    }

    /// The next samples of a flow that has left the list: to a subscription of this node one. There
    /// are no entries before.
    pub(super) fn take(&mut self, entries: &mut Vec<Entry<Payload<T>>>) {
        self.listed = false;
        let is_there = self.end.is_none();
        let most = if is_there { TURN } else { 1 };
        let mut length = 0;
        while entries.len() < most
            && length < TURN_BYTES
            && let Some(entry) = self.out.next(is_there)
        {
            let bytes = entry.payload.bytes.as_ref();
            length += bytes.map_or(0, |bytes| bytes.len());
            entries.push(entry);
        }
    }
}

pub(super) struct State<T: Send + Sync + 'static> {
    /// The number of the next sample.
    pub(super) next: u64,
    pub(super) flows: BTreeMap<FlowTarget, Flow<T>>,
    /// How many of them look on.
    pub(super) observers: usize,
    /// Flows that may send, each once: they take turns.
    pub(super) ready: VecDeque<FlowTarget>,
    pub(super) retained: VecDeque<(u64, Payload<T>)>,
    /// Where values are written.
    pub(super) room: Vec<u8>,
    /// Where frames are written.
    pub(super) frames: Frames,
    /// Those who wait for room.
    pub(super) waiters: Vec<ReplyPort<()>>,
    /// Some thread sends what can be sent: it looks again before it ends.
    pub(super) sending: bool,
    /// The flow that is being sent to, if it was taken away meanwhile.
    pub(super) leaving: Option<LeavingFlow<T>>,
    /// Of a topic that keeps nothing over a broken link.
    pub(super) away: AwayFlows,
    /// Nobody publishes any more.
    pub(super) ended: bool,
}

/// The longest room for values, and for frames, that is kept.
pub(super) const ROOM: usize = 64 << 10;

impl<T: Send + Sync + 'static> State<T> {
    /// Nobody subscribes, and nothing was published.
    pub(super) fn new() -> Self {
        State {
            next: 1,
            flows: BTreeMap::new(),
            observers: 0,
            ready: VecDeque::new(),
            retained: VecDeque::new(),
            room: Vec::new(),
            frames: Frames::default(),
            waiters: Vec::new(),
            sending: false,
            leaving: None,
            away: AwayFlows::default(),
            ended: false,
        }
    }

    /// How many subscribe. Who looks on does not.
    pub(super) fn subscriber_count(&self) -> usize {
        self.flows.len() - self.observers
    }

    /// A flow begins, in the place of one to the same subscription.
    pub(super) fn insert(&mut self, to: FlowTarget, flow: Flow<T>) {
        self.observers += usize::from(flow.observes);
        let before = self.flows.insert(to, flow);
        self.observers -= usize::from(before.is_some_and(|before| before.observes));
    }

    /// Writes a value into the room.
    pub(super) fn write(
        &mut self,
        write: fn(&T, &mut Vec<u8>) -> Result<(), String>,
        value: &T,
    ) -> Result<(), String> {
        write(value, &mut self.room)?;
        match self.room.len() {
            0..=MAX_PAYLOAD => Ok(()),
            length => {
                self.keep_room(Vec::new());
                Err(format!(
                    "{length} bytes are too many: at most {MAX_PAYLOAD}"
                ))
            }
        }
    }

    /// The bytes of the value that was written last.
    pub(super) fn written(&mut self) -> Arc<[u8]> {
        let room = std::mem::take(&mut self.room);
        let bytes = room.as_slice().into();
        self.keep_room(room);
        bytes
    }

    /// Room for other values, unless it is long.
    pub(super) fn keep_room(&mut self, room: Vec<u8>) {
        self.room = if room.capacity() > ROOM {
            Vec::new()
        } else {
            room
        };
    }

    /// Somebody waits for room. Of those who wait no more few are kept.
    pub(super) fn wait(&mut self, room: Option<ReplyPort<()>>) {
        if self.waiters.len().is_power_of_two() {
            self.waiters.retain(ReplyPort::is_wanted);
        }
        self.waiters.extend(room);
    }

    /// The only subscriber, if it is of this node and the next sample may go to it at once, and the
    /// number of that sample. The caller sends then.
    pub(super) fn only_one_here(&mut self) -> Option<(u32, u64, FlowEnd<T>)> {
        if self.sending || self.flows.len() != 1 || !self.ready.is_empty() {
            return None;
        }
        let (to, flow) = self.flows.iter_mut().next()?;
        let FlowTarget::Here(to) = *to else {
            return None;
        };
        if flow.observes || !flow.out.is_idle() {
            return None;
        }
        let end = flow.end.take()?;
        let number = self.next;
        flow.out.sends(number);
        self.next += 1;
        self.sending = true;
        Some((to, number, end))
    }

    /// The only subscriber, if it is of another node and the sample with this number may go to it
    /// at once, and not again: its peer, its number, and the link. The caller sends then.
    pub(super) fn only_one_there(&mut self, number: u64) -> Option<(PeerName, u32, u64)> {
        if self.sending || self.flows.len() != 1 || !self.ready.is_empty() {
            return None;
        }
        let (to, flow) = self.flows.iter_mut().next()?;
        let FlowTarget::There(peer, subscription) = to else {
            return None;
        };
        if !flow.out.sends_once() {
            return None;
        }
        flow.out.sends(number);
        self.sending = true;
        Some((peer.clone(), *subscription, flow.link))
    }

    /// Puts a sample into all queues, and among those that are retained. How many older samples
    /// made room for it in queues. `gone` gets the values of these, and of those that are retained
    /// no longer.
    pub(super) fn push(
        &mut self,
        number: u64,
        payload: Payload<T>,
        retain: usize,
        gone: &mut Vec<ValueUnder<T>>,
    ) -> usize {
        let State {
            flows,
            ready,
            retained,
            ..
        } = self;
        let (mut dropped, mut payload) = (0, Some(payload));
        if retain > 0 {
            if retained.len() == retain
                && let Some((_, oldest)) = retained.pop_front()
            {
                gone.extend(oldest.value);
            }
            retained.extend(payload.iter().map(|payload| (number, payload.retained())));
        }
        let is_unwritten = payload
            .as_ref()
            .is_some_and(|payload| payload.bytes.is_none());
        let mut others = flows.len();
        for (to, flow) in flows {
            others -= 1;
            // It could not be written: that is a gap.
            if is_unwritten && flow.observes && to.is_there() {
                continue;
            }
            // The last one gets it itself.
            let payload = match others {
                0 => payload.take(),
                _ => payload.clone(),
            };
            let Some(payload) = payload else { break };
            if let Some(oldest) = flow.out.push(number, payload) {
                dropped += usize::from(!flow.observes);
                gone.extend(oldest.payload.value);
            }
            flow.list(to, ready);
        }
        gone.extend(payload.and_then(|payload| payload.value));
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Qos;
    use motet_ports::reply;

    #[test]
    fn a_turn_of_long_samples_is_no_longer_than_one_of_many_short_ones() {
        for (length, count) in [(1, 16), (TURN_BYTES / 2, 2), (MAX_PAYLOAD, 1)] {
            let mut out = Outgoing::new(&Qos::reliable(64));
            out.accepted(0, 64, |_| {});
            let bytes: Arc<[u8]> = vec![0_u8; length].into();
            for number in 1..=20 {
                let payload = Payload {
                    value: None,
                    bytes: Some(Arc::clone(&bytes)),
                    names: None,
                };
                assert!(out.push(number, payload).is_none());
            }
            let mut flow = Flow::<u32> {
                end: None,
                out,
                missed: None,
                link: 0,
                listed: true,
                observes: false,
            };
            let mut entries = Vec::new();
            flow.take(&mut entries);
            let numbers = entries.iter().map(|entry| entry.number);
            assert!(numbers.eq(1..=count), "of {length} bytes");
        }
    }

    #[test]
    fn who_waits_for_room_no_more_takes_no_memory() {
        let mut state = State::<u32>::new();
        let mut waits = Vec::new();
        for n in 0..1000 {
            let (room, has_room) = reply();
            state.wait(Some(room));
            if n % 100 == 0 {
                waits.push(has_room);
            }
        }
        assert!(
            state.waiters.len() <= 2 * waits.len(),
            "{}",
            state.waiters.len()
        );
        let wanted = state.waiters.iter().filter(|waiter| waiter.is_wanted());
        assert_eq!(wanted.count(), waits.len());
    }
}
