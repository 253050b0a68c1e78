//! Flows of a topic that begin, go on, break and end.

use super::{Flow, Publishing, State, TopicLog, WHILE_BROKEN, wake};
use crate::flow::{AnyTopic, FlowTarget};
use crate::frame::Frame;
use crate::start_from::{LogId, LogPlace};
use crate::subscribed::{FlowEnd, Subscribed};
use crate::{Class, Key, MeshError, PeerName, TopicInfo};
use std::any::{Any, type_name};
use std::sync::Arc;
use std::time::Duration;

impl<T: Send + Sync + 'static> AnyTopic for Publishing<T> {
    fn id(&self) -> u32 {
        self.id
    }

    fn key(&self) -> &Key {
        &self.key
    }

    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn attach(&self, subscription: &Arc<dyn Any + Send + Sync>, id: u32) -> Result<(), MeshError> {
        let Ok(typed) = Arc::clone(subscription).downcast::<Subscribed<T>>() else {
            let (key, wanted) = (self.key.to_string(), "another type");
            return Err(MeshError::Mismatch {
                key,
                published: type_name::<T>(),
                wanted,
            });
        };
        if let Some(log) = &self.log {
            self.attach_to_log(log, typed, id);
            return Ok(());
        }
        let mut state = self.state.lock();
        let place = typed.start();
        let mut flow = self.flow(&state, place);
        let first = flow.out.first().unwrap_or(state.next);
        let opened = (&self.key, self.qos_of(place).class);
        let Some((end, upto, _)) = FlowEnd::open(typed, self.id, opened, (first, None)) else {
            // That is so only of a topic with a log.
            return Ok(());
        };
        let mut gone = Vec::new();
        flow.out
            .accepted(upto, end.window(), |payload| gone.extend(payload.value));
        flow.end = Some(end);
        let to = FlowTarget::Here(id);
        flow.list(&to, &mut state.ready);
        state.insert(to, flow);
        drop(state);
        self.send();
        // Outside of the lock: destructors of values may use the topic.
        drop(gone);
        Ok(())
    }

    fn open(
        &self,
        peer: &PeerName,
        link: u64,
        subscription: u32,
        (wanted, place): (&str, LogPlace),
    ) -> Frame {
        let key = self.key.to_string();
        if wanted != type_name::<T>() {
            let why = format!("the topic has samples of type {}", type_name::<T>());
            return Frame::Mismatch {
                subscription,
                key,
                why,
            };
        }
        let to = FlowTarget::There(peer.clone(), subscription);
        if let Some(log) = &self.log {
            return self.open_from_log(log, to, (link, subscription), place);
        }
        let mut state = self.state.lock();
        if !state.flows.contains_key(&to) {
            let mut flow = self.flow(&state, place);
            let first = flow.out.first().unwrap_or(state.next);
            flow.missed = state.away.comes_back(&to, first);
            state.insert(to.clone(), flow);
        }
        let first = state.flows.get_mut(&to).and_then(|flow| {
            flow.link = link;
            flow.out.first()
        });
        let first = first.unwrap_or(state.next);
        Frame::Open {
            topic: self.id,
            subscription,
            key,
            qos: self.qos_of(place),
            first,
            log: None,
        }
    }

    fn accepted(&self, target: &FlowTarget, upto: u64, window: usize) {
        if let Some(log) = &self.log {
            return self.accepted_of_log(log, target, (upto, window));
        }
        let mut state = self.state.lock();
        let State { flows, ready, .. } = &mut *state;
        let Some(flow) = flows.get_mut(target) else {
            return;
        };
        let mut gone = Vec::new();
        flow.out
            .accepted(upto, window, |payload| gone.extend(payload.value));
        flow.list(target, ready);
        let missed = flow.missed.take();
        let waiters = std::mem::take(&mut state.waiters);
        drop(state);
        if let FlowTarget::There(peer, _) = target {
            self.tell_lost(peer.clone(), missed, WHILE_BROKEN);
        }
        // First what waits in the queue: that makes the room.
        self.send();
        wake(waiters);
        // Outside of the lock: destructors of values may use the topic.
        drop(gone);
    }

    fn detach(&self, target: &FlowTarget, why: &str) {
        self.remove(|to, _| to == target, why);
    }

    fn broken(&self, peer: &PeerName) -> bool {
        if matches!(self.qos.class, Class::Reliable | Class::Durable) {
            let note = |state: &mut State<T>, gone: &[(FlowTarget, Flow<T>)]| {
                // A log has what comes meanwhile.
                if self.log.is_none() {
                    let next = state.next;
                    let subscribers = gone.iter().filter(|(_, flow)| !flow.observes);
                    subscribers.for_each(|(to, _)| state.away.goes(to, next));
                }
            };
            self.remove_and(|to, _| to.is_at(peer), "the link is broken", note);
            return false;
        }
        let observes = |to: &FlowTarget, flow: &Flow<T>| to.is_at(peer) && flow.observes;
        self.remove(observes, "the link is broken");
        let (mut is_broken, mut gone) = (false, Vec::new());
        let mut state = self.state.lock();
        for (_, flow) in state.flows.iter_mut().filter(|(to, _)| to.is_at(peer)) {
            flow.out.broken(|payload| gone.extend(payload.value));
            is_broken = true;
        }
        drop(state);
        // Outside of the lock: destructors of values may use the topic.
        drop(gone);
        is_broken
    }

    fn keep(&self) -> Duration {
        self.qos.keep
    }

    fn forget(&self, peer: &PeerName, why: &str) {
        self.state.lock().away.forget(peer);
        self.remove(|to, _| to.is_at(peer), why);
    }

    fn has_earlier(&self, peer: &PeerName, link: u64) -> bool {
        let state = self.state.lock();
        let mut flows = state.flows.iter();
        flows.any(|(to, flow)| to.is_at(peer) && flow.link != link)
    }

    fn forget_earlier(&self, peer: &PeerName, link: u64, why: &str) {
        self.remove(|to, flow| to.is_at(peer) && flow.link != link, why);
    }

    fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.ended && self.is_all_accepted(&state)
    }

    fn info(&self) -> TopicInfo {
        TopicInfo {
            key: self.key.clone(),
            class: self.qos.class,
            published: self.counts().0,
            log: self.log.as_ref().map(TopicLog::info),
            subscribers: self.subscribers(),
        }
    }

    fn end(&self) {
        self.state.lock().ended = true;
        self.send();
    }

    fn go_on(&self) {
        match &self.log {
            Some(log) => self.go_on_with_log(log),
            None => self.send(),
        }
    }

    fn close(&self) {
        self.state.lock().ended = true;
        self.remove(|_, _| true, "the node has left");
        self.close_log();
    }

    fn log(&self) -> Option<LogId> {
        self.log.as_ref().map(TopicLog::id)
    }

    fn close_log(&self) {
        if let Some(log) = &self.log {
            log.close();
        }
    }

    fn targets(&self) -> Vec<FlowTarget> {
        let state = self.state.lock();
        state.flows.keys().cloned().collect()
    }
}
