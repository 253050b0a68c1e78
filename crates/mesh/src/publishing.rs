//! What a topic holds: its numbers, what it retains, and a queue for each subscriber.

mod any_topic;
mod away;
mod durable;
mod sending;
mod state;
mod topic_log;

use self::state::{Flow, LeavingFlow, Payload, State};
pub(crate) use self::topic_log::TopicLog;
use crate::flow::{FlowTarget, Hub};
use crate::frame::encode_value;
use crate::log::LogWriter;
use crate::outgoing::Outgoing;
use crate::start_from::LogPlace;
use crate::{Class, Gap, Key, PeerName, PublishError, PublishRefusal, Qos, SubscriberInfo};
use motet_ports::{Overflow, Port, ReplyPort};
use motet_sync::Mutex;
use serde::Serialize;
use std::sync::{Arc, Weak};

/// Why a subscriber that has come back misses samples.
const WHILE_BROKEN: &str = "published while the link was broken";

/// What became of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The number of the sample.
    pub number: u64,
    /// How many subscribers get it, without those that [observe](crate::SubscribeConfig::observes).
    pub subscribers: usize,
    /// How many older samples were dropped to make room for it, over all subscribers.
    pub dropped: usize,
}

/// Samples that a subscriber will not get, or may not have got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The node of the subscriber.
    pub subscriber: PeerName,
    /// The numbers that it has not accepted. What a log has dropped is told again where the link
    /// breaks before the subscriber knows.
    pub gap: Gap,
    /// Why.
    pub why: String,
}

pub(crate) struct Publishing<T: Send + Sync + 'static> {
    id: u32,
    key: Key,
    qos: Qos,
    core: Weak<dyn Hub>,
    me: PeerName,
    write: fn(&T, &mut Vec<u8>) -> Result<(), String>,
    losses: Port<Lost>,
    state: Mutex<State<T>>,
    /// Of a durable topic.
    log: Option<TopicLog>,
}

impl<T: Send + Sync + 'static> Publishing<T> {
    pub(crate) fn new(
        hub: &Arc<dyn Hub>,
        id: u32,
        (key, qos): (Key, Qos),
        log: Option<LogWriter>,
    ) -> Self
    where
        T: Serialize,
    {
        Publishing {
            id,
            key,
            qos,
            core: Arc::downgrade(hub),
            me: hub.name().clone(),
            write: |value, room| encode_value(value, room).map_err(|why| why.to_string()),
            losses: Port::bounded(1024, Overflow::DropOldest),
            state: Mutex::new(State::new()),
            log: log.map(|log| TopicLog::new(log, Arc::downgrade(hub), id)),
        }
    }

    /// Publishes a value, and sends what may be sent.
    pub(crate) fn publish(
        &self,
        value: T,
        room: Option<ReplyPort<()>>,
    ) -> Result<Published, PublishError<T>> {
        let mut state = self.state.lock();
        let refused = |value, reason| Err(PublishError { value, reason });
        if state.ended || self.core.strong_count() == 0 {
            return refused(value, PublishRefusal::Left);
        }
        let retains = self.qos.retain > 0;
        // It has room, and nothing is written for it.
        if !retains && let Some((to, number, end)) = state.only_one_here() {
            drop(state);
            self.send_here(to, number, value, end);
            return Ok(Published {
                number,
                subscribers: 1,
                dropped: 0,
            });
        }
        let full = state.flows.iter().find(|(_, flow)| !flow.out.has_room());
        if let Some((full, _)) = full {
            let subscriber = match full {
                FlowTarget::Here(_) => self.me.clone(),
                FlowTarget::There(peer, _) => peer.clone(),
            };
            state.wait(room);
            return refused(value, PublishRefusal::Full { subscriber });
        }
        let is_written = match self.write_if_needed(&mut state, &value) {
            Ok(is_written) => is_written,
            Err(why) => return refused(value, PublishRefusal::NotWritable(why)),
        };
        let number = state.next;
        state.next += 1;
        let subscribers = state.subscriber_count();
        let published = |dropped| {
            Ok(Published {
                number,
                subscribers,
                dropped,
            })
        };
        if !retains {
            if state.flows.is_empty() {
                return published(0);
            }
            if is_written && let Some((peer, subscription, link)) = state.only_one_there(number) {
                self.send_there(state, (peer, subscription), link, number);
                return published(0);
            }
        }
        let is_read = retains || !state.flows.keys().all(FlowTarget::is_there);
        let bytes = is_written.then(|| state.written());
        let (payload, unread) = Payload::now(value, is_read, bytes);
        let mut gone = Vec::new();
        let dropped = state.push(number, payload, self.qos.retain as usize, &mut gone);
        self.send_from(state);
        // Outside of the lock: destructors of values may use the topic.
        drop((unread, gone));
        published(dropped)
    }

    /// Writes a value if its bytes are for somebody. `false`: it is not written. That is no reason
    /// to refuse it where only those would get them who look on.
    fn write_if_needed(&self, state: &mut State<T>, value: &T) -> Result<bool, String> {
        let mut flows = state.flows.iter();
        let is_wanted =
            self.qos.retain > 0 || flows.any(|(to, flow)| to.is_there() && !flow.observes);
        if !is_wanted && !state.flows.keys().any(FlowTarget::is_there) {
            return Ok(false);
        }
        match state.write(self.write, value) {
            Err(why) if is_wanted => Err(why),
            written => Ok(written.is_ok()),
        }
    }

    pub(crate) fn subscribers(&self) -> Vec<SubscriberInfo> {
        let state = self.state.lock();
        let info = |(to, flow): (&FlowTarget, &Flow<T>)| {
            let (waiting, in_flight, dropped) = flow.out.counts();
            let node = match to {
                FlowTarget::Here(_) => self.me.clone(),
                FlowTarget::There(peer, _) => peer.clone(),
            };
            SubscriberInfo {
                node,
                waiting: waiting + self.log.as_ref().map_or(0, |log| log.waiting(to)),
                in_flight,
                dropped,
                credit: flow.out.credit(),
            }
        };
        let subscribers = state.flows.iter().filter(|(_, flow)| !flow.observes);
        subscribers.map(info).collect()
    }

    /// Number of publications, and of subscribers.
    pub(crate) fn counts(&self) -> (u64, usize) {
        let state = self.state.lock();
        let last = self.log.as_ref().map(TopicLog::last);
        (last.unwrap_or(state.next - 1), state.subscriber_count())
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn losses(&self) -> &Port<Lost> {
        &self.losses
    }

    /// How samples go to a subscription with this place. One that looks on holds nobody back, as
    /// none does of a log.
    fn qos_of(&self, place: LogPlace) -> Qos {
        match self.qos.class {
            Class::Reliable | Class::Acknowledged if place == LogPlace::Observe => Qos {
                class: Class::Latest,
                ..self.qos
            },
            _ => self.qos,
        }
    }

    /// A new flow, with what is retained, which one that looks on does not get.
    fn flow(&self, state: &State<T>, place: LogPlace) -> Flow<T> {
        let observes = place == LogPlace::Observe;
        let mut out = Outgoing::new(&self.qos_of(place));
        for (number, payload) in state.retained.iter().filter(|_| !observes) {
            out.push_retained(*number, payload.clone());
        }
        Flow {
            observes,
            end: None,
            out,
            missed: None,
            link: 0,
            listed: false,
        }
    }

    /// What is in a log is not lost.
    fn tell_lost(&self, subscriber: PeerName, gap: Option<Gap>, why: &str) {
        if let Some(gap) = gap.filter(|_| self.log.is_none()) {
            let why = why.to_owned();
            // A port that drops its oldest refuses nothing.
            let _ = self.losses.post(Lost {
                subscriber,
                gap,
                why,
            });
        }
    }

    /// A flow was taken away while a sample was brought to it, and all up to a number have been
    /// accepted: the others are lost.
    fn tell_left(&self, leaving: Option<LeavingFlow<T>>, upto: Option<u64>) {
        if let Some(LeavingFlow { mut flow, why }) = leaving {
            flow.out.accepted(upto.unwrap_or(0), 0, drop);
            if !flow.observes {
                self.tell_lost(self.me.clone(), flow.out.lost(), &why);
            }
        }
    }

    /// Takes flows away, tells what is lost with them, and lets those go on who waited for them.
    fn remove(&self, which: impl Fn(&FlowTarget, &Flow<T>) -> bool, why: &str) {
        self.remove_and(which, why, |_, _| {});
    }

    /// As [`Publishing::remove`], with what is to be noted of those flows before more is published.
    fn remove_and(
        &self,
        which: impl Fn(&FlowTarget, &Flow<T>) -> bool,
        why: &str,
        note: impl FnOnce(&mut State<T>, &[(FlowTarget, Flow<T>)]),
    ) {
        let mut state = self.state.lock();
        let gone = state.flows.extract_if(.., |to, flow| which(to, flow));
        let mut gone: Vec<_> = gone.collect();
        state.observers -= gone.iter().filter(|(_, flow)| flow.observes).count();
        note(&mut state, &gone);
        if let Some(log) = &self.log {
            gone.iter().for_each(|(to, _)| log.end(to));
        }
        let waiters = if gone.is_empty() {
            Vec::new()
        } else {
            std::mem::take(&mut state.waiters)
        };
        if let Some(at) = gone.iter().position(|(to, flow)| flow.is_sent_to(to)) {
            let ((_, flow), why) = (gone.remove(at), why.to_owned());
            state.leaving = Some(LeavingFlow { flow, why });
        }
        drop(state);
        for (to, mut flow) in gone {
            if flow.observes {
                continue;
            }
            let node = match &to {
                FlowTarget::Here(_) => self.me.clone(),
                FlowTarget::There(peer, _) => peer.clone(),
            };
            self.tell_lost(node.clone(), flow.missed.take(), WHILE_BROKEN);
            self.tell_lost(node, flow.out.lost(), why);
        }
        wake(waiters);
        self.send();
    }
}

/// Those who wait for room try again.
fn wake(waiters: Vec<ReplyPort<()>>) {
    for waiter in waiters {
        // An error: nobody waits any more.
        let _ = waiter.post(());
    }
}
