//! A topic sends what may be sent, one thread at a time.

use super::state::{Payload, ROOM, State, ValueUnder};
use super::{Publishing, wake};
use crate::flow::FlowTarget;
use crate::frame::Data;
use crate::outgoing::Entry;
use crate::subscribed::FlowEnd;
use crate::under::{only_under, written_names};
use crate::unwinding::on_panic;
use crate::{Frames, PeerName};
use motet_sync::MutexGuard;
use std::sync::{Arc, Weak};

/// What became of a sample that was to be sent.
enum Delivered {
    /// The subscriber will tell when it has accepted it.
    Sent,
    /// A subscriber of this node has accepted all up to this number, and takes so many more.
    Accepted(u64, usize),
    /// There is no link.
    No,
}

impl Delivered {
    /// Up to which number all are accepted, if that is known.
    fn upto(&self) -> Option<u64> {
        match self {
            Delivered::Accepted(upto, _) => Some(*upto),
            Delivered::Sent | Delivered::No => None,
        }
    }
}

impl<T: Send + Sync + 'static> Publishing<T> {
    /// Sends a value to the only subscriber, which is of this node. The caller is the one who
    /// sends.
    pub(super) fn send_here(&self, to: u32, number: u64, value: T, end: FlowEnd<T>) {
        let to = FlowTarget::Here(to);
        let panicked = on_panic(|| self.give_back(&to, Some(end.clone())));
        // Nothing was under way.
        let is_accepted = end.comes(number, number, false, Arc::new(value));
        panicked.did_not();
        let upto = is_accepted.then_some(number);
        let mut values = Vec::new();
        let mut state = self.state.lock();
        let State {
            flows,
            ready,
            leaving,
            ..
        } = &mut *state;
        let gone = match flows.get_mut(&to) {
            Some(flow) => {
                if is_accepted {
                    let put = |payload: Payload<T>| values.extend(payload.value);
                    flow.out.accepted(number, end.window(), put);
                    flow.list(&to, ready);
                }
                flow.end = Some(end);
                None
            }
            None => Some((end, leaving.take())),
        };
        let waiters = match is_accepted {
            true => std::mem::take(&mut state.waiters),
            false => Vec::new(),
        };
        state.sending = false;
        if !state.ready.is_empty() || state.ended {
            self.send_from(state);
        } else {
            drop(state);
        }
        if let Some((end, leaving)) = gone {
            self.tell_left(leaving, upto);
            drop(end);
        }
        if !waiters.is_empty() {
            wake(waiters);
        }
        // Outside of the lock: destructors of values may use the topic.
        drop(values);
    }

    /// Sends the value that was written to the only subscriber, which is of another node. The
    /// caller is the one who sends.
    pub(super) fn send_there<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<T>>,
        (peer, subscription): (PeerName, u32),
        link: u64,
        number: u64,
    ) {
        let room = std::mem::take(&mut state.room);
        let mut frames = std::mem::take(&mut state.frames);
        drop(state);
        let names = written_names();
        let data = Data {
            topic: self.id,
            subscription,
            number,
            retained: false,
            payload: &room,
            names: names.as_deref().unwrap_or_default(),
        };
        let to = FlowTarget::There(peer, subscription);
        let panicked = on_panic(|| self.give_back(&to, None));
        let is_sent = self.send_data(&to, link, &mut std::iter::once(data), &mut frames);
        panicked.did_not();
        let mut state = self.state.lock();
        if !is_sent && let Some(flow) = state.flows.get_mut(&to) {
            let payload = Payload {
                value: None,
                bytes: Some(room.as_slice().into()),
                names,
            };
            let entry = Entry {
                number,
                retained: false,
                payload,
            };
            // Its value is not kept.
            flow.out.not_sent(std::iter::once(entry), |_| {});
        }
        state.keep_room(room);
        frames.clear(ROOM);
        (state.sending, state.frames) = (false, frames);
        if !state.ready.is_empty() || state.ended {
            self.send_from(state);
        }
    }

    /// Sends samples to a peer. `false`: there is no such link.
    fn send_data(
        &self,
        to: &FlowTarget,
        link: u64,
        data: &mut dyn Iterator<Item = Data<'_>>,
        frames: &mut Frames,
    ) -> bool {
        let (FlowTarget::There(peer, _), Some(core)) = (to, self.core.upgrade()) else {
            return false;
        };
        core.send_data(peer, link, data, frames)
    }

    /// Sends what may be sent.
    pub(crate) fn send(&self) {
        self.send_from(self.state.lock());
    }

    /// Sends what may be sent. One thread at a time does, so each flow keeps its order.
    pub(super) fn send_from<'a>(&'a self, mut state: MutexGuard<'a, State<T>>) {
        if std::mem::replace(&mut state.sending, true) {
            return;
        }
        // Dropped outside of the lock.
        let (mut waiters, mut gone, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = Vec::<Entry<Payload<T>>>::new();
        let mut frames = std::mem::take(&mut state.frames);
        loop {
            state = self.drop_values(state, &mut values);
            let State { flows, ready, .. } = &mut *state;
            let Some(to) = ready.pop_front() else {
                break;
            };
            // A flow that has gone meanwhile, or that must wait again.
            let Some(flow) = flows.get_mut(&to) else {
                continue;
            };
            flow.take(&mut entries);
            if entries.is_empty() {
                continue;
            }
            flow.list(&to, ready);
            let (link, first) = (flow.link, flow.out.first());
            // Only who sends uses it.
            let end = flow.end.take();
            drop(state);
            let panicked = on_panic(|| self.give_back(&to, end.clone()));
            let here = end.as_ref().zip(first);
            let delivered = self.deliver(&to, link, here, &mut entries, &mut frames);
            panicked.did_not();
            frames.clear(ROOM);
            let mut put = |payload: Payload<T>| values.extend(payload.value);
            if !matches!(delivered, Delivered::No) {
                entries.drain(..).for_each(|entry| put(entry.payload));
            }
            state = self.state.lock();
            let State {
                flows,
                ready,
                leaving,
                ..
            } = &mut *state;
            let Some(flow) = flows.get_mut(&to) else {
                gone.push((leaving.take(), delivered.upto(), end));
                entries.drain(..).for_each(|entry| put(entry.payload));
                continue;
            };
            flow.end = end;
            match delivered {
                Delivered::No => flow.out.not_sent(entries.drain(..), put),
                Delivered::Accepted(upto, window) => {
                    flow.out.accepted(upto, window, put);
                    flow.list(&to, ready);
                    waiters.append(&mut state.waiters);
                }
                Delivered::Sent => {}
            }
        }
        (state.sending, state.frames) = (false, frames);
        let over = state.ended && self.is_all_accepted(&state);
        drop(state);
        for (leaving, upto, _end) in gone {
            self.tell_left(leaving, upto);
        }
        wake(waiters);
        if over {
            self.tell_over();
        }
    }

    /// Nothing is left, as far as is known here: a subscription may have come meanwhile.
    fn tell_over(&self) {
        if let Some(core) = self.core.upgrade() {
            core.topic_is_over(self.id);
        }
    }

    /// Drops values outside of the lock: their destructors may use the topic. The caller is the
    /// one who sends.
    fn drop_values<'a>(
        &'a self,
        state: MutexGuard<'a, State<T>>,
        values: &mut Vec<ValueUnder<T>>,
    ) -> MutexGuard<'a, State<T>> {
        if values.is_empty() {
            return state;
        }
        drop(state);
        let panicked = on_panic(|| self.leave_to_task(self.state.lock()));
        values.clear();
        panicked.did_not();
        self.state.lock()
    }

    /// Who sends has panicked: a task goes on.
    fn give_back(&self, to: &FlowTarget, end: Option<FlowEnd<T>>) {
        let (mut state, mut leaving) = (self.state.lock(), None);
        match state.flows.get_mut(to) {
            Some(flow) => flow.end = end,
            None => leaving = state.leaving.take(),
        }
        self.leave_to_task(state);
        self.tell_left(leaving, None);
    }

    fn leave_to_task(&self, mut state: MutexGuard<'_, State<T>>) {
        state.sending = false;
        drop(state);
        let (core, id) = (Weak::clone(&self.core), self.id);
        if let Some(hub) = self.core.upgrade() {
            hub.spawn(Box::pin(async move {
                if let Some(core) = core.upgrade() {
                    core.go_on(id);
                }
            }));
        }
    }

    fn data<'a>(&self, to: &FlowTarget, entry: &'a Entry<Payload<T>>) -> Data<'a> {
        let (FlowTarget::Here(subscription) | FlowTarget::There(_, subscription)) = to;
        Data {
            topic: self.id,
            subscription: *subscription,
            number: entry.number,
            retained: entry.retained,
            payload: entry.payload.bytes.as_deref().unwrap_or_default(),
            names: entry.payload.names.as_deref().unwrap_or_default(),
        }
    }

    /// Samples to a peer, or one to a subscription of this node, which takes its value and hears
    /// which one is the first that it has not accepted.
    fn deliver(
        &self,
        to: &FlowTarget,
        link: u64,
        here: Option<(&FlowEnd<T>, u64)>,
        entries: &mut [Entry<Payload<T>>],
        frames: &mut Frames,
    ) -> Delivered {
        match (to, here, entries) {
            (FlowTarget::Here(_), Some((end, first)), [entry]) => {
                let Some((value, under)) = entry.payload.value.take() else {
                    end.comes_from_log(self.data(to, entry));
                    return Delivered::Sent;
                };
                let (number, retained) = (entry.number, entry.retained);
                match only_under(under, || end.comes(first, number, retained, value)) {
                    true => Delivered::Accepted(number, end.window()),
                    false => Delivered::Sent,
                }
            }
            (FlowTarget::There(..), _, entries) => {
                let mut data = entries.iter().map(|entry| self.data(to, entry));
                match self.send_data(to, link, &mut data, frames) {
                    true => Delivered::Sent,
                    false => Delivered::No,
                }
            }
            _ => Delivered::Sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{LogConfig, Node, Qos};
    use motet_dispatch::{QueueConfig, Replay};
    use std::fs;
    use std::sync::Arc;

    #[test]
    fn a_topic_that_is_not_over_keeps_its_log() {
        let replay = Replay::new(1);
        let node = Node::alone("a", Arc::new(replay.queue(QueueConfig::named("a"))));
        let directory = std::env::temp_dir().join(format!("motet-over-{}", std::process::id()));
        // An earlier process of this number may have left one.
        let _ = fs::remove_dir_all(&directory);
        let log = LogConfig::in_directory(&directory);
        let topic = node.durable_topic::<u32>("n", Qos::durable(4), &log);
        let topic = topic.unwrap();
        // As who has seen its end, before a subscription came that has not got all.
        topic.shared().tell_over();
        assert_eq!(topic.publish(7).unwrap().number, 1);
        drop(topic);
        assert!(node.topics().is_empty());
        fs::remove_dir_all(&directory).unwrap();
    }
}
